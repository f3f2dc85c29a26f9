import { execFileSync, spawnSync } from 'node:child_process';
import type { Command } from 'commander';
import { beforeAll, describe, expect, it } from 'vitest';
import { completionFor } from '../../bin/commands/completion.ts';
import { manPage } from '../../bin/commands/man.ts';
import { EXIT_CODES } from '../../cli/index.ts';
import { fitHelp } from '../../bin/fit-help.ts';
import { makeProgram } from '../../bin/program.ts';

let program: Command;
beforeAll(async () => {
  program = await makeProgram('9.9.9');
});

/** Every command that does something, as it is typed. */
const leaves = (command: Command, path = ''): { path: string; command: Command }[] => {
  const children = command.commands.filter((child) => child.name() !== 'help');
  if (children.length === 0) return [{ path: path.trim(), command }];
  return children.flatMap((child) => leaves(child, `${path} ${child.name()}`));
};

function offered(...words: string[]): string[] {
  const line = `COMP_WORDS=(rasket ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}; _rasket`;
  const script = `${completionFor('bash', program)}\n${line}; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).split('\n').filter(Boolean);
}

/** Everything that can be said of a command, and of those below it. */
const pages = (command: Command): string[] => [command.helpInformation(), ...command.commands.flatMap(pages)];

describe('a command line', () => {
  it('has a command declared as the whole program has it, where its first word is known', async () => {
    const overTheApi = program.commands.slice(program.commands.findIndex((command) => command.name() === 'send'));
    expect(overTheApi.length).toBeGreaterThan(20);
    for (const command of overTheApi) {
      for (const word of [command.name(), ...command.aliases()]) {
        const part = await makeProgram('9.9.9', word);
        const found = part.commands.find((one) => one.name() === command.name());
        expect(found && pages(found), word).toEqual(pages(command));
        // One that nobody named costs every call.
        if (command.name() !== 'completion' && command.name() !== 'man')
          expect(part.commands.length, word).toBeLessThan(program.commands.length - 15);
      }
    }
  });
});

describe('completion', () => {
  it('offers commands, their commands and their options, also behind other options', () => {
    expect(offered('que')).toEqual(['queue']);
    expect(offered('queue', 'ho')).toEqual(['hold', 'holds']);
    expect(offered('emails', 'list', '--st')).toEqual(['--status', '--start-date']);
    expect(offered('emails', 'list', '--json', '--wid')).toEqual(['--wide']);
    expect(offered('send', 'emails', '--sub')).toEqual(['--subject']);
  });

  it('offers other names of commands, and the values that an option may have', () => {
    expect(offered('stat')).toEqual(['status']);
    expect(offered('prop')).toEqual(['properties']);
    expect(offered('api-keys', 'rev')).toEqual(['revoke']);
    expect(offered('emails', 'list', '--status', 'd')).toEqual(['delivery_delayed', 'delivered']);
    expect(offered('api-keys', 'list', '--status', 're')).toEqual(['revoked']);
    expect(offered('queue', 'list', '--state', 'he')).toEqual(['held']);
    const fish = completionFor('fish', program);
    expect(fish).toMatch(/-l state -x -a 'waiting scheduled /);
    expect(fish).toContain(' -a properties ');
  });

  it('offers commands behind a value', () => {
    expect(offered('emails', 'list', '--status', 'delivered', '--wid')).toEqual(['--wide']);
  });

  it('names every command in every shell', () => {
    for (const shell of ['bash', 'zsh', 'fish'] as const) {
      const script = completionFor(shell, program);
      for (const { path } of leaves(program)) {
        const wanted = shell === 'fish' ? ` -a ${path.split(' ').at(-1)} ` : `' ${path}'`;
        expect(script, `${shell}: ${path}`).toContain(wanted);
      }
    }
  });
});

describe('the manual', () => {
  it('has every command with every option, and the exit codes', () => {
    const plain = manPage(program, '9.9.9').replaceAll('\\-', '-');
    for (const { path, command } of leaves(program)) {
      const section = plain.split('.SS\n').find((text) => `${text.split('\n')[0]} `.startsWith(`rasket ${path} `));
      expect(section, path).toBeDefined();
      for (const { flags } of command.options) expect(section, path).toContain(`.B ${flags}\n`);
    }
    for (const { says } of EXIT_CODES) expect(plain).toContain(says);
  });

  it('is what man can show', () => {
    const shown = spawnSync('groff', ['-man', '-Tutf8', '-ww', '-P-c'], {
      input: manPage(program, '9.9.9'),
      encoding: 'utf8',
    });
    // Where there is no groff nobody reads a manual.
    if (shown.error) return;
    expect(shown.stderr).toBe('');
    // Bold is a letter, a step back and the same letter.
    expect(shown.stdout.replaceAll(/.\x08/g, '')).toContain('rasket queue hold');
  });
});

describe('--help', () => {
  const everyCommand = (command: Command): Command[] => [command, ...command.commands.flatMap(everyCommand)];

  const helpOf = (command: Command, width: number): string => {
    let text = '';
    command.configureOutput({
      getOutHelpWidth: () => width,
      writeOut: (part) => (text += fitHelp(part, width)),
    });
    command.outputHelp();
    return text;
  };

  it.each([60, 80])('of every command fits %i columns', (width) => {
    const tooWide = everyCommand(program).flatMap((command) =>
      helpOf(command, width)
        .split('\n')
        .filter((line) => line.length > width),
    );
    expect(everyCommand(program).length).toBeGreaterThan(100);
    expect(tooWide).toEqual([]);
  });

  it('breaks an example where a shell goes on reading it', () => {
    const example =
      "  rasket send --from 'You <you@playground.test>' --to someone@example.com --subject 'A subject of some words'";
    expect(fitHelp(`\nExample:\n${example}\n`, 60)).toBe(
      [
        ...['', 'Example:', "  rasket send --from 'You <you@playground.test>' \\"],
        ...['    --to someone@example.com \\', "    --subject 'A subject of some words'", ''],
      ].join('\n'),
    );
  });

  it('breaks JSON where it may be broken', () => {
    const example = `rasket segments preview --filter '{"all": [{"field": "email", "op": "contains", "value": "@example.org"}]}'`;
    const fitted = fitHelp(example, 60);
    const typed = execFileSync('sh', ['-c', `rasket() { printf '%s' "$4"; }\n${fitted}`], { encoding: 'utf8' });
    expect(JSON.parse(typed)).toEqual({ all: [{ field: 'email', op: 'contains', value: '@example.org' }] });
    expect(fitted.split('\n')).toHaveLength(2);
  });
});
