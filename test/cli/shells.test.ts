import { execFileSync, spawnSync } from 'node:child_process';
import { Command } from 'commander';
import { beforeAll, describe, expect, it } from 'vitest';
import { completionFor } from '../../bin/commands/completion.ts';
import { manPage } from '../../bin/commands/man.ts';
import { EXIT_CODES } from '../../cli/index.ts';
import { addDescriptions, addOperatorCommands } from '../../bin/operator-commands.ts';
import { addClientCommands } from '../../cli/index.ts';

let program: Command;
beforeAll(() => {
  program = new Command('rasket').description('A self-hosted email service: send and receive.');
  addOperatorCommands(program, '9.9.9');
  addClientCommands(program);
  addDescriptions(program, '9.9.9');
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
