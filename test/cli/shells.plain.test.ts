import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { beforeAll, describe, expect, it } from 'vitest';
import { completionFor } from '../../bin/commands/completion.ts';
import { familyPages, layManual, manPage } from '../../bin/commands/man.ts';
import { EXIT_CODES } from '../../cli/index.ts';
import { fitHelp, makeProgram } from '../../bin/program.ts';
import { startAnswering } from './contract-server.ts';
import { Desk } from './desk.ts';

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
  it('declares a command exactly as the whole program does when its first word is known', async () => {
    const overTheApi = program.commands.slice(program.commands.findIndex((command) => command.name() === 'send'));
    expect(overTheApi.length).toBeGreaterThan(20);
    for (const command of overTheApi) {
      for (const word of [command.name(), ...command.aliases()]) {
        const part = await makeProgram('9.9.9', word);
        const found = part.commands.find((one) => one.name() === command.name());
        expect(found && pages(found), word).toEqual(pages(command));
        // A command that nobody named costs every call.
        if (command.name() !== 'completion' && command.name() !== 'man')
          expect(part.commands.length, word).toBeLessThan(program.commands.length - 15);
      }
    }
  });
});

describe('shell completion', () => {
  it('offers commands, subcommands and options, also after other options', () => {
    expect(offered('que')).toEqual(['queue']);
    expect(offered('queue', 'ho')).toEqual(['hold', 'holds']);
    expect(offered('emails', 'list', '--st')).toEqual(['--status', '--start-date']);
    expect(offered('emails', 'list', '--json', '--wid')).toEqual(['--wide']);
    expect(offered('send', 'emails', '--sub')).toEqual(['--subject']);
  });

  it('offers aliases of commands, and the allowed values of options', () => {
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

  it('offers options after a value', () => {
    expect(offered('emails', 'list', '--status', 'delivered', '--wid')).toEqual(['--wide']);
  });

  it('contains every command in every shell', () => {
    for (const shell of ['bash', 'zsh', 'fish'] as const) {
      const script = completionFor(shell, program);
      for (const { path } of leaves(program)) {
        const wanted = shell === 'fish' ? ` -a ${path.split(' ').at(-1)} ` : `' ${path}'`;
        expect(script, `${shell}: ${path}`).toContain(wanted);
      }
    }
  });
});

describe('shell completion of names', () => {
  const domains = ['example.com', 'mail.example.com', 'other.example'].map((name, at) => ({
    id: `019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e0${at}`,
    name,
  }));
  const emails = [
    {
      id: '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77',
      subject: 'Hello \u001B[2J',
      to: ['a@example.org'],
      created_at: '2026-11-20T09:30:00.000Z',
    },
  ];

  /** Returns what a TAB offers after these words. */
  async function pressed(
    desk: Desk,
    words: string[],
    env: Record<string, string>,
  ): Promise<{ offered: string[]; said: string }> {
    desk.write('completion', completionFor('bash', program));
    const line = `COMP_WORDS=(rasket ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}`;
    const script = `. ./completion; ${line}; _rasket; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = await desk.start('bash', ['-c', script], { env }).ended;
    return { offered: stdout.split('\n').filter(Boolean), said: stderr };
  }

  /**
   * Makes `rasket` only note that it was started; the returned function answers whether it was. What is kept is fresh for a
   * minute from now.
   */
  function noteStarts(desk: Desk): () => boolean {
    const kept = desk.at('cache/rasket/names');
    for (const file of fs.readdirSync(kept)) fs.utimesSync(path.join(kept, file), new Date(), new Date());
    fs.rmSync(desk.at('path/rasket'));
    desk.write('path/rasket', `#!/bin/sh\n: >'${desk.at('started')}'\n`);
    fs.chmodSync(desk.at('path/rasket'), 0o755);
    return () => fs.existsSync(desk.at('started'));
  }

  it('asks the server once, and then uses its cache, also when the server is away', async () => {
    await using desk = new Desk();
    const server = await startAnswering(({ path }) => ({
      status: 200,
      body: { object: 'list', has_more: false, data: path === '/domains' ? domains : emails },
    }));
    const env = { RASKET_URL: server.url, RASKET_API_KEY: 'rk_test', XDG_CACHE_HOME: desk.at('cache') };
    expect((await pressed(desk, ['domains', 'get', 'm'], env)).offered).toEqual(['mail.example.com']);
    expect((await pressed(desk, ['domains', 'rm', ''], env)).offered).toEqual(
      expect.arrayContaining(domains.map(({ name }) => name)),
    );
    expect((await pressed(desk, ['emails', 'get', '4c'], env)).offered).toEqual(['4c1f2e77']);
    expect((await pressed(desk, ['keys', 'create', 'CI', '--domain', 'o'], env)).offered).toEqual(['other.example']);
    expect(server.asked).toHaveLength(2);
    server.close();
    const isStarted = noteStarts(desk);
    const away = await pressed(desk, ['domains', 'get', 'm'], env);
    expect(away).toMatchObject({ offered: ['mail.example.com'], said: '' });
    // A key press waits for files alone, and for no start of a program.
    expect(isStarted()).toBe(false);
    const kept = fs.readdirSync(desk.at('cache/rasket/names'));
    expect(kept).toHaveLength(2);
    for (const file of kept) {
      const text = fs.readFileSync(desk.at('cache/rasket/names', file), 'utf8');
      expect(text).not.toMatch(/\u001B/);
      expect(fs.statSync(desk.at('cache/rasket/names', file)).mode & 0o077).toBe(0);
    }
    expect(kept.join()).not.toContain('rk_test');
  });

  it('offers nothing when the server was never reachable, and asks it only once', async () => {
    await using desk = new Desk();
    const env = { RASKET_URL: 'http://127.0.0.1:9', RASKET_API_KEY: 'rk_test', XDG_CACHE_HOME: desk.at('cache') };
    for (const _ of [1, 2]) expect(await pressed(desk, ['domains', 'get', ''], env)).toMatchObject({ said: '' });
    const isStarted = noteStarts(desk);
    expect(await pressed(desk, ['domains', 'get', 'm'], env)).toMatchObject({ offered: [], said: '' });
    expect(isStarted()).toBe(false);
  });

  it('offers profiles', async () => {
    await using desk = new Desk();
    desk.write('config/rasket/profiles/office.json', JSON.stringify({ url: 'http://127.0.0.1:9', api_key: 'rk_x' }));
    fs.chmodSync(desk.at('config/rasket/profiles/office.json'), 0o600);
    const env = { XDG_CACHE_HOME: desk.at('cache') };
    for (const words of [
      ['use', ''],
      ['emails', 'list', '--profile', 'o'],
    ])
      expect((await pressed(desk, words, env)).offered).toContain('office');
  });

  it('knows in every shell which words and options take names', () => {
    for (const shell of ['bash', 'zsh'] as const) {
      const script = completionFor(shell, program);
      for (const line of [
        "' segments get 0') kind=segment",
        "' contacts add-segment 1') kind=segment",
        "' send --template') offered= kind=template",
      ])
        expect(script).toContain(line);
      // Below an email that nobody has named.
      expect(script).not.toContain('kind=attachment_id');
    }
    expect(completionFor('fish', program)).toMatch(
      /-n '[^\n]*webhooks[^\n]*get[^\n]*-a '\(_rasket_names webhook_id\)'/,
    );
  });
});

describe('the manual', () => {
  it('contains every command with every option, and the exit codes', () => {
    const plain = manPage(program, '9.9.9').replaceAll('\\-', '-');
    for (const { path, command } of leaves(program)) {
      const section = plain.split('.SS\n').find((text) => `${text.split('\n')[0]} `.startsWith(`rasket ${path} `));
      expect(section, path).toBeDefined();
      for (const { flags } of command.options) expect(section, path).toContain(`.B ${flags}\n`);
    }
    for (const { says } of EXIT_CODES) expect(plain).toContain(says);
  });

  it('has a page for every command, in the usual order of a manual page', () => {
    const pages = new Map(familyPages(program, '9.9.9'));
    const names = program.commands
      .map((command) => `rasket-${command.name()}.1`)
      .filter((name) => name !== 'rasket-help.1');
    expect([...pages.keys()].sort()).toEqual(names.sort());
    for (const [file, page] of pages) {
      expect(page, file).toMatch(/^\.TH RASKET\\-\S+ 1 /);
      const sections = page.match(/^\.SH .+$/gm) ?? [];
      expect(sections[0], file).toBe('.SH NAME');
      expect(sections.slice(1, 3), file).toEqual(['.SH SYNOPSIS', '.SH DESCRIPTION']);
      expect(sections.at(-1), file).toBe('.SH SEE ALSO');
      // Nothing that a text holds is a request of roff.
      expect(page.match(/^\.(?!TH |SH |SS$|TP$|B |BR |I )/gm), file).toBeNull();
      expect(page, file).not.toMatch(/[^\x00-\x7f]/);
    }
    const emails = pages.get('rasket-emails.1')?.replaceAll('\\-', '-') ?? '';
    for (const { path } of leaves(program).filter((leaf) => leaf.path.startsWith('emails ')))
      expect(emails).toContain(`\n.SS\nrasket ${path}`);
  });

  it('is installed in a folder that everybody can read', async () => {
    await using desk = new Desk();
    layManual(program, '9.9.9', desk.at('man1'));
    const files = fs.readdirSync(desk.at('man1'));
    expect(files).toEqual(
      expect.arrayContaining(['rasket.1', 'rasket-emails.1', 'rasket-domains.1', 'rasket-queue.1']),
    );
    // skipped where there is no groff: nobody reads a manual there
    for (const file of ['rasket-emails.1', 'rasket-segments.1']) {
      const shown = spawnSync('groff', ['-man', '-Tutf8', '-ww', desk.at('man1', file)], { encoding: 'utf8' });
      if (!shown.error) expect(shown.stderr).toBe('');
    }
  });

  it('can be rendered by man', () => {
    const shown = spawnSync('groff', ['-man', '-Tutf8', '-ww', '-P-c'], {
      input: manPage(program, '9.9.9'),
      encoding: 'utf8',
    });
    // Without groff nobody reads a manual.
    if (shown.error) return;
    expect(shown.stderr).toBe('');
    // Bold is a letter, a step back and the same letter.
    expect(shown.stdout.replaceAll(/.\x08/g, '')).toContain('rasket queue hold');
  });
});

describe('the output of --help', () => {
  const everyCommand = (command: Command): Command[] => [command, ...command.commands.flatMap(everyCommand)];

  const renderHelp = (command: Command, width: number): string => {
    let text = '';
    command.configureOutput({
      getOutHelpWidth: () => width,
      writeOut: (part) => (text += fitHelp(part, width)),
    });
    command.outputHelp();
    return text;
  };

  it('the output of --help marks every option without which the command is refused', () => {
    const unmarked = everyCommand(program).flatMap((command) => {
      const lines = renderHelp(command, 400).split('\n');
      return command.options
        .filter(({ mandatory }) => mandatory)
        .filter(({ flags }) => !lines.some((line) => line.trim().startsWith(flags) && line.endsWith('(required)')))
        .map(({ flags }) => `${command.name()} ${flags}`);
    });
    const mandatory = everyCommand(program).flatMap(({ options }) => options.filter((option) => option.mandatory));
    expect(mandatory.length).toBeGreaterThan(20);
    expect(unmarked).toEqual([]);
  });

  it('the output of --help names the file that may stand for a required text', () => {
    const create = everyCommand(program).find((one) => one.name() === 'create' && one.parent?.name() === 'templates');
    expect(create && renderHelp(create, 400)).toMatch(/--html <html> .*\(or --html-file, required\)/);
  });

  it.each([60, 80])('fits %i columns for every command', (width) => {
    const tooWide = everyCommand(program).flatMap((command) =>
      renderHelp(command, width)
        .split('\n')
        .filter((line) => line.length > width),
    );
    expect(everyCommand(program).length).toBeGreaterThan(100);
    expect(tooWide).toEqual([]);
  });

  it('breaks an example where a shell continues reading', () => {
    const example =
      "  rasket send --from 'You <you@playground.test>' --to someone@example.com --subject 'A subject of some words'";
    expect(fitHelp(`\nExample:\n${example}\n`, 60)).toBe(
      [
        '',
        'Example:',
        "  rasket send --from 'You <you@playground.test>' \\",
        '    --to someone@example.com \\',
        "    --subject 'A subject of some words'",
        '',
      ].join('\n'),
    );
  });

  it('breaks JSON where it can be broken', () => {
    const example = `rasket segments preview --filter '{"all": [{"field": "email", "op": "contains", "value": "@example.org"}]}'`;
    const fitted = fitHelp(example, 60);
    const typed = execFileSync('sh', ['-c', `rasket() { printf '%s' "$4"; }\n${fitted}`], { encoding: 'utf8' });
    expect(JSON.parse(typed)).toEqual({ all: [{ field: 'email', op: 'contains', value: '@example.org' }] });
    expect(fitted.split('\n')).toHaveLength(2);
  });
});
