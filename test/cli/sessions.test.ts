import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Desk } from './desk.ts';
import { readSession, replay } from './session.ts';

const folder = path.join(import.meta.dirname, 'sessions');

describe('the command line against a development server', () => {
  const desk = new Desk();
  let database: Record<string, string>;
  beforeAll(async () => {
    database = await desk.database();
    await desk.serve(['dev', '--data', 'dev'], {
      env: { ...database, RASKET_RATE_LIMIT_REQUESTS_PER_SECOND: '1000', RASKET_RATE_LIMIT_BURST: '1000' },
    });
    desk.write('note;v2.txt', 'A file whose name has a semicolon.\n');
    desk.write('page.html', '<p>Hello</p>\n');
    desk.write('latin1.txt', Buffer.from('caf\xe9\n', 'latin1'));
  });
  afterAll(() => desk.clear());

  it.each(fs.readdirSync(folder))('%s', { timeout: 120_000 }, async (name) => {
    const run = (command: string) => desk.type(command, { env: { RASKET_DATA: desk.at('dev'), ...database } });
    const { expected, seen } = await replay(readSession(path.join(folder, name)), run);
    expect(seen).toBe(expected);
  });
});
