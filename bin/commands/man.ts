import { EXIT_CODES } from '../../cli/index.ts';
import type { Command } from 'commander';

/** The manual as `man` reads it, from what `--help` says of every command. */
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

function commandsIn(command: Command, path: string): string[] {
  const help = command.createHelp();
  return help
    .visibleCommands(command)
    .filter((child) => child.name() !== 'help')
    .flatMap((child) => {
      const words = `${path} ${child.name()}`;
      const inner = commandsIn(child, words);
      if (inner.length > 0) return inner;
      const options = help.visibleOptions(child).filter(({ long }) => long !== '--help');
      return [
        '.SS',
        text(`${words} ${child.usage().replace('[options] ', '')}`.trim()),
        text(child.description() || `${child.summary()}.`),
        ...options.flatMap(({ flags, description }) => ['.TP', `.B ${text(flags)}`, text(description)]),
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
