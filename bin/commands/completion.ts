import type { Command } from 'commander';
import { flagValues, namedWords, otherWords } from '../../cli/index.ts';

/** A command and what may follow it, in the form that the script of every shell is made from. */
interface Place {
  /** The words that lead there, with a space before each; empty for `rasket` itself. */
  path: string;
  commands: { name: string; summary: string }[];
  /** With the values of each flag, if they are known. */
  flags: { flag: string; says: string; values: readonly string[]; kind: string | undefined; isValued: boolean }[];
  /** The kinds of name that its arguments take, in order, as `rasket names` lists them. */
  args: readonly string[];
  /** Other words for its commands. */
  others: readonly (readonly [word: string, verb: string])[];
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
  const { args, flags } = namedWords(command);
  const place: Place = {
    path,
    args,
    others: otherWords(command),
    commands: children.flatMap((child) => listNames(child).map((name) => ({ name, summary: child.summary() }))),
    flags: help.visibleOptions(command).flatMap(({ long, description, required, optional }) => {
      const known = values.get(`${named.trim()} ${long}`) ?? [];
      const isValued = required || optional;
      return long ? [{ flag: long, says: description, values: known, kind: flags[long], isValued }] : [];
    }),
  };
  const below = (child: Command): Place[] =>
    listNames(child).flatMap((name) =>
      placesIn(child, `${path} ${name}`, { values, path: `${named} ${child.name()}` }),
    );
  return [place, ...children.flatMap(below)];
}

const listNames = (command: Command): string[] => [command.name(), ...command.aliases()];

const joinWords = ({ commands, flags }: Place): string =>
  [...commands.map(({ name }) => name), ...flags.map(({ flag }) => flag)].join(' ');

/**
 * Follows the words as far as they are commands, and offers what may come next: the values after a flag, and in `kind`
 * the kind of name of the next word.
 */
const walk = (
  places: readonly Place[],
  words: string,
  before: string,
): string => `  local at= word offered= kind= arg=0 skip=
  for word in ${words}; do
    if [ -n "$skip" ]; then skip=; continue; fi
    case "$at $word" in
      ${places
        .filter(({ path }) => path !== '')
        .map(({ path }) => `'${path}'`)
        .join(' | ')}) at="$at $word"; continue ;;
${places.flatMap(({ path, others }) => others.map(([word, verb]) => `      '${path} ${word}') at='${path} ${verb}'; continue ;;`)).join('\n')}
    esac
    case "$word" in
      ${valued(places).join(' | ')}) skip=1 ;;
      -*) ;;
      *) arg=$((arg + 1)) ;;
    esac
  done
  case "$at" in
${places.map((place) => `    '${place.path}') offered='${joinWords(place)}' ;;`).join('\n')}
  esac
  case "$at $arg" in
${places.flatMap(({ path, args }) => args.flatMap((kind, at) => (kind === '' ? [] : `    '${path} ${at}') kind=${kind} ;;`))).join('\n')}
  esac
  case "$at ${before}" in
${places.flatMap(valueLines).join('\n')}
    *' --profile') offered= kind=profiles ;;
  esac`;

/** Returns the options that take a value. */
const valued = (places: readonly Place[]): string[] => [
  ...new Set(places.flatMap(({ flags }) => flags.flatMap(({ flag, isValued }) => (isValued ? flag : [])))),
];

const valueLines = ({ path, flags }: Place): string[] =>
  flags.flatMap(({ flag, values, kind }) => {
    if (values.length > 0) return `    '${path} ${flag}') offered='${values.join(' ')}' kind= ;;`;
    return kind === undefined || kind === 'profiles' ? [] : `    '${path} ${flag}') offered= kind=${kind} ;;`;
  });

/**
 * Prints the cached names of a kind, which \`rasket names\` lists: fetched the first time, and refreshed in the
 * background once the cache is a minute old. An unreachable server leaves an empty file, so that nobody waits for it
 * again.
 */
const names = (server: string): string => `_rasket_names() {
  local kind=$1 folder=\${XDG_CACHE_HOME:-$HOME/.cache}/rasket/names config=\${XDG_CONFIG_HOME:-$HOME/.config}/rasket/profile key= file
  [ ! -r "$config" ] || IFS= read -r key <"$config"
  shift
  key="$*-\${RASKET_PROFILE:-$key}-$RASKET_URL-$RASKET_DATA"
  ${server}
  file=$folder/$key-$kind
  if [ ! -e "$file" ]; then
    _rasket_fetch "$kind" "$file" "$@"
  elif [ -z "$(find "$file" -mmin -1 2>/dev/null)" ]; then
    (_rasket_fetch "$kind" "$file" "$@" &) >/dev/null 2>&1
  fi
  [ ! -r "$file" ] || cat "$file"
}
_rasket_fetch() (
  umask 077
  kind=$1 file=$2
  shift 2
  mkdir -p "\${file%/*}" 2>/dev/null && touch "$file" 2>/dev/null || exit 0
  if rasket names "$kind" "$@" >"$file.$$" 2>/dev/null </dev/null; then mv "$file.$$" "$file"; else rm -f "$file.$$"; fi
)
`;

/** The typed options that select the server; a key is not among them, and never becomes part of a file name. */
const server = (words: string): string => `  local typed=() which=
  for word in ${words}; do
    if [ -n "$which" ]; then typed+=("$which" "$word"); which=; continue; fi
    case "$word" in --url | --profile | --data) which=$word ;; esac
  done`;

function bash(places: Place[]): string {
  const words = '"${COMP_WORDS[@]:1:COMP_CWORD-1}"';
  return `# Completion of rasket for bash: source it, or put it into /usr/share/bash-completion/completions/rasket.
${names('key=${key//[^A-Za-z0-9._-]/_}')}
_rasket() {
${walk(places, words, '${COMP_WORDS[COMP_CWORD-1]}')}
  local current=\${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=($(compgen -W "$offered" -- "$current"))
  case "$kind $current" in ' '* | *' -'*) return ;; esac
${server(words)}
  local line quoted
  while IFS= read -r line; do
    line=\${line%%$'\t'*}
    [[ $line == "$current"* ]] || continue
    printf -v quoted %q "$line"
    COMPREPLY+=("$quoted")
  done < <(_rasket_names "$kind" "\${typed[@]}")
}
complete -o default -F _rasket rasket
`;
}

function zsh(places: Place[]): string {
  const words = '${words[2,CURRENT-1]}';
  return `#compdef rasket
# Completion of rasket for zsh: put it into a folder of $fpath as _rasket, or source it behind compinit.
${names('key=${key//[^A-Za-z0-9._-]/_}')}
_rasket() {
${walk(places, words, '${words[CURRENT-1]}')}
  compadd -- \${=offered}
  if [[ -n $kind ]]; then
${server(words)}
    local line
    local -a found told
    while IFS= read -r line; do
      found+=("\${line%%$'\t'*}")
      told+=("\${line/$'\t'/  }")
    done < <(_rasket_names "$kind" "\${typed[@]}")
    compadd -l -d told -a found
  fi
  # Where nothing else is meant.
  (( compstate[nmatches] )) || _files
}
compdef _rasket rasket
`;
}

function fish(places: Place[]): string {
  const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const isAt = ({ path }: Place, all: readonly Place[]): string => {
    const depth = path.split(' ').length - 1;
    const here = all.find((one) => one.path === path);
    const deeper = here ? [...here.commands.map(({ name }) => name), ...here.others.map(([word]) => word)] : [];
    const last = path.split(' ').at(-1) ?? '';
    const above = all.find((one) => one.path === path.slice(0, -last.length - 1));
    const words = [last, ...(above?.others ?? []).flatMap(([word, verb]) => (verb === last ? [word] : []))];
    const behind = path === '' ? [] : [`__fish_seen_subcommand_from ${words.join(' ')}`];
    const before = deeper.length === 0 ? [] : [`not __fish_seen_subcommand_from ${deeper.join(' ')}`];
    const outer = depth === 2 ? [`__fish_seen_subcommand_from ${path.split(' ')[1]}`] : [];
    return [...outer, ...behind, ...before].join('; and ');
  };
  const lines = places.flatMap((place) => {
    const condition = `-n ${quoted(isAt(place, places))}`;
    return [
      ...place.commands.map(
        ({ name, summary }) => `complete -c rasket -f ${condition} -a ${name} -d ${quoted(summary)}`,
      ),
      ...new Set(
        place.args
          .filter((kind) => kind !== '')
          .map((kind) => `complete -c rasket -f ${condition} -a '(_rasket_names ${kind})'`),
      ),
      ...place.flags.map(({ flag, says, values, kind }) => {
        const named = kind === undefined ? '' : ` -x -a '(_rasket_names ${kind})'`;
        const given = values.length === 0 ? named : ` -x -a ${quoted(values.join(' '))}`;
        return `complete -c rasket ${condition} -l ${flag.slice(2)}${given} -d ${quoted(says)}`;
      }),
    ];
  });
  return `# Completion of rasket for fish: put it into ~/.config/fish/completions/rasket.fish.\n${FISH_NAMES}${lines.join('\n')}\n`;
}

/** The same for fish, in its own syntax; of the typed options it uses only the profile. */
const FISH_NAMES = `function _rasket_names
  set -l folder "$HOME/.cache"
  test -n "$XDG_CACHE_HOME"; and set folder "$XDG_CACHE_HOME"
  set -l config "$HOME/.config"
  test -n "$XDG_CONFIG_HOME"; and set config "$XDG_CONFIG_HOME"
  set -l key "$RASKET_PROFILE"
  test -z "$key" -a -r "$config/rasket/profile"; and read key <"$config/rasket/profile"
  set -l typed (string match -r -- '--profile[ =](\\S+)' (commandline -cp))[2]
  set -l options
  test -n "$typed"; and set options --profile $typed
  set -l file "$folder/rasket/names/"(string replace -ra '[^A-Za-z0-9._-]' _ -- "$typed-$key-$RASKET_URL-$RASKET_DATA")"-$argv[1]"
  set -l fetch 'umask 077; mkdir -p "\${1%/*}" && touch "$1" || exit 0; f=$1; shift; if rasket names "$@" >"$f.$$" 2>/dev/null </dev/null; then mv "$f.$$" "$f"; else rm -f "$f.$$"; fi'
  if not test -e "$file"
    sh -c $fetch sh "$file" $argv[1] $options 2>/dev/null
  else if test -z (find "$file" -mmin -1 2>/dev/null | string collect)
    sh -c $fetch sh "$file" $argv[1] $options >/dev/null 2>&1 &
    disown 2>/dev/null
  end
  test -r "$file"; and cat "$file"
end
`;
