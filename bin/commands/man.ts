import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { EXIT_CODES } from '../../cli/index.ts';
import type { Command } from 'commander';

/** Returns the manual in the format of `man`, from the help of every command. */
export function manPage(program: Command, version: string): string {
  return [
    `.TH RASKET 1 "" "rasket ${text(version)}" "User Commands"`,
    '.SH NAME',
    `rasket \\- ${text(firstSentence(program.description()))}`,
    '.SH SYNOPSIS',
    '.B rasket',
    '.I command',
    '[options]',
    '.SH DESCRIPTION',
    text(program.description()),
    '.SH COMMANDS',
    ...commandsIn(program, 'rasket'),
    '.SH EXIT STATUS',
    ...EXIT_CODES.flatMap(({ code, says }) => ['.TP', `.B ${code}`, text(says)]),
    '',
  ].join('\n');
}

/** The pages of the nouns and of the single commands, by the names of their files: `man rasket-emails`. */
export const familyPages = (program: Command, version: string): [file: string, page: string][] =>
  program
    .createHelp()
    .visibleCommands(program)
    .filter((command) => command.name() !== 'help')
    .map((command) => [`rasket-${command.name()}.1`, familyPage(command, version)]);

function familyPage(command: Command, version: string): string {
  const name = command.name();
  const inner = commandsIn(command, `rasket ${name}`);
  const says = command.summary() || firstSentence(command.description());
  return [
    `.TH RASKET\\-${text(name.toUpperCase())} 1 "" "rasket ${text(version)}" "User Commands"`,
    '.SH NAME',
    `rasket\\-${text(name)} \\- ${text(says)}`,
    '.SH SYNOPSIS',
    `.B rasket ${text(name)}`,
    inner.length > 0 ? '.I command' : text(command.usage()),
    ...(inner.length > 0 ? ['[options]'] : []),
    '.SH DESCRIPTION',
    text(command.description() || `${says}.`),
    ...(inner.length > 0 ? ['.SH COMMANDS', ...inner] : ['.SH OPTIONS', ...formatOptions(command)]),
    '.SH SEE ALSO',
    '.BR rasket (1)',
    '',
  ].join('\n');
}

function formatOptions(command: Command): string[] {
  const options = command.createHelp().visibleOptions(command);
  return options
    .filter(({ long }) => long !== '--help')
    .flatMap(({ flags, description }) => ['.TP', `.B ${text(flags)}`, text(description)]);
}

/** Writes the manual pages to a folder. Called by install.sh and by those who make packages. */
export function layManual(program: Command, version: string, folder: string): void {
  mkdirSync(folder, { recursive: true });
  const pages = [['rasket.1', manPage(program, version)], ...familyPages(program, version)] as const;
  for (const [file, page] of pages) writeFileSync(path.join(folder, file), page, { mode: 0o644 });
}

function commandsIn(command: Command, path: string): string[] {
  const help = command.createHelp();
  return help
    .visibleCommands(command)
    .filter((child) => child.name() !== 'help')
    .flatMap((child) => {
      const words = `${path} ${child.name()}`;
      const inner = commandsIn(child, words);
      if (inner.length > 0) return inner;
      return [
        '.SS',
        text(`${words} ${child.usage().replace('[options] ', '')}`.trim()),
        text(child.description() || `${child.summary()}.`),
        ...formatOptions(child),
      ];
    });
}

const firstSentence = (description: string): string => description.split(/[.:]/)[0] ?? '';

/** A line of roff that is nothing but text; it reads no UTF-8. */
const text = (words: string): string =>
  words
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('\n', ' ')
    .replaceAll(/[^\x20-\x7e]/gu, (sign) => `\\[u${sign.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`)
    .replace(/^(?=[.'])/, '\\&');
