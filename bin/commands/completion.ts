import type { Command } from 'commander';
import { flagValues } from '../../cli/index.ts';

/** A command with what may follow it, as every shell is told. */
interface Place {
  /** The words that lead there, with a space before each; empty for `rasket` itself. */
  path: string;
  commands: { name: string; summary: string }[];
  /** With the values that one may have, where they are known. */
  flags: { flag: string; says: string; values: readonly string[] }[];
}

const SHELLS = { bash, zsh, fish };
export type Shell = keyof typeof SHELLS;

/** The script that completes whatever `--help` names, made from the commands themselves. */
export const completionFor = (shell: Shell, program: Command): string =>
  SHELLS[shell](placesIn(program, '', { values: flagValues(), path: '' }));

interface Known {
  values: ReadonlyMap<string, readonly string[]>;
  /** The path in the names of the commands, whatever other names led there. */
  path: string;
}

function placesIn(command: Command, path: string, { values, path: named }: Known): Place[] {
  const help = command.createHelp();
  const children = help.visibleCommands(command).filter((child) => child.name() !== 'help');
  const place: Place = {
    path,
    commands: children.flatMap((child) => namesOf(child).map((name) => ({ name, summary: child.summary() }))),
    flags: help.visibleOptions(command).flatMap(({ long, description }) => {
      return long ? [{ flag: long, says: description, values: values.get(`${named.trim()} ${long}`) ?? [] }] : [];
    }),
  };
  const below = (child: Command): Place[] =>
    namesOf(child).flatMap((name) => placesIn(child, `${path} ${name}`, { values, path: `${named} ${child.name()}` }));
  return [place, ...children.flatMap(below)];
}

const namesOf = (command: Command): string[] => [command.name(), ...command.aliases()];

const wordsOf = ({ commands, flags }: Place): string =>
  [...commands.map(({ name }) => name), ...flags.map(({ flag }) => flag)].join(' ');

/** Goes from word to word as far as there are commands, and offers what may follow: the values of a flag behind it. */
const walk = (places: readonly Place[], words: string, before: string): string => `  local at= word offered=
  for word in ${words}; do
    case "$at $word" in
      ${places
        .filter(({ path }) => path !== '')
        .map(({ path }) => `'${path}'`)
        .join(' | ')}) at="$at $word" ;;
    esac
  done
  case "$at" in
${places.map((place) => `    '${place.path}') offered='${wordsOf(place)}' ;;`).join('\n')}
  esac
  case "$at ${before}" in
${places.flatMap(valueLines).join('\n')}
  esac`;

const valueLines = ({ path, flags }: Place): string[] =>
  flags
    .filter(({ values }) => values.length > 0)
    .map(({ flag, values }) => `    '${path} ${flag}') offered='${values.join(' ')}' ;;`);

function bash(places: Place[]): string {
  return `# Completion of rasket for bash: source it, or put it into /usr/share/bash-completion/completions/rasket.
_rasket() {
${walk(places, '"${COMP_WORDS[@]:1:COMP_CWORD-1}"', '${COMP_WORDS[COMP_CWORD-1]}')}
  COMPREPLY=($(compgen -W "$offered" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _rasket rasket
`;
}

function zsh(places: Place[]): string {
  return `#compdef rasket
# Completion of rasket for zsh: put it into a folder of $fpath as _rasket, or source it behind compinit.
_rasket() {
${walk(places, '${words[2,CURRENT-1]}', '${words[CURRENT-1]}')}
  compadd -- \${=offered}
  _files
}
compdef _rasket rasket
`;
}

function fish(places: Place[]): string {
  const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const isAt = ({ path }: Place, all: readonly Place[]): string => {
    const depth = path.split(' ').length - 1;
    const deeper = all.find((one) => one.path === path)?.commands.map(({ name }) => name) ?? [];
    const behind = path === '' ? [] : [`__fish_seen_subcommand_from ${path.split(' ').at(-1)}`];
    const before = deeper.length === 0 ? [] : [`not __fish_seen_subcommand_from ${deeper.join(' ')}`];
    const above = depth === 2 ? [`__fish_seen_subcommand_from ${path.split(' ')[1]}`] : [];
    return [...above, ...behind, ...before].join('; and ');
  };
  const lines = places.flatMap((place) => {
    const condition = `-n ${quoted(isAt(place, places))}`;
    return [
      ...place.commands.map(
        ({ name, summary }) => `complete -c rasket -f ${condition} -a ${name} -d ${quoted(summary)}`,
      ),
      ...place.flags.map(({ flag, says, values }) => {
        const given = values.length === 0 ? '' : ` -x -a ${quoted(values.join(' '))}`;
        return `complete -c rasket ${condition} -l ${flag.slice(2)}${given} -d ${quoted(says)}`;
      }),
    ];
  });
  return `# Completion of rasket for fish: put it into ~/.config/fish/completions/rasket.fish.\n${lines.join('\n')}\n`;
}
