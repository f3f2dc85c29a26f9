import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Desk } from './desk.ts';
import { readSession, replay } from './session.ts';

const folder = path.join(import.meta.dirname, 'sessions');
const WIDTHS = [60, 80, 100, 160];
/** Whole, however wide. */
const TO_BE_COPIED = /^ *(v=DKIM1|v=DMARC1|rasket )/;

describe('the command line against a development server', () => {
  const desk = new Desk();
  let database: Record<string, string>;
  beforeAll(async () => {
    database = await desk.database();
    // The server is as strict about senders as one with real mail, so that its refusals are seen too.
    await desk.serve(['dev', '--data', 'dev', '--no-any-sender'], { env: database });
    desk.write('note;v2.txt', 'A file whose name has a semicolon.\n');
    desk.write('page.html', '<p>Hello</p>\n');
    desk.write('latin1.txt', Buffer.from('caf\xe9\n', 'latin1'));
    for (const width of WIDTHS) {
      const line = `script -qec "stty cols ${width}; NO_COLOR=1 $*" /dev/null | tr -d '\\r'`;
      fs.chmodSync(desk.write(`path/at-${width}`, `#!/bin/sh\n${line}\n`), 0o755);
    }
  });
  afterAll(() => desk.clear());

  const play = async (file: string): Promise<string> => {
    const run = (command: string) => desk.type(command, { env: { RASKET_DATA: desk.at('dev'), ...database } });
    const { expected, seen } = await replay(readSession(file), run);
    expect(seen).toBe(expected);
    return seen;
  };

  const sessions = fs.readdirSync(folder).filter((name) => name.endsWith('.session'));
  it.each(sessions)('plays the session %s', async (name) => void (await play(path.join(folder, name))));

  // skipped because a terminal is made by script(1) of util-linux, which is not everywhere
  describe.skipIf(spawnSync('script', ['--version']).status !== 0)('at a terminal', () => {
    const atTerminal = path.join(folder, 'at-a-terminal');
    it.each(fs.readdirSync(atTerminal))('plays the session %s', async (name) => {
      const seen = await play(path.join(atTerminal, name));
      const steps = seen.split(/^\$ at-/m).slice(1);
      const tooWide = steps.flatMap((step) => {
        const [, ...lines] = step.split(/\n(?:[$=] [^]*)?/);
        return lines.filter((line) => line.length > Number.parseInt(step, 10) && !TO_BE_COPIED.test(line));
      });
      expect(tooWide).toEqual([]);
      expect(steps.length).toBeGreaterThan(0);
    });
  });
});
