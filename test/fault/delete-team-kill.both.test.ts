// rasket teams delete --now (killed again and again while it removes the rows)
import { spawn } from 'node:child_process';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openDb } from '../../src/platform/db/index.ts';
import { createApi } from '../rig/api.ts';
import { findTraces } from '../rig/every-table.ts';
import { startSink } from '../rig/sink.ts';
import { installProgram, type Program } from './program.ts';

const LAUNCHER = path.resolve(import.meta.dirname, '../../bin/rasket');
const CONTACTS = 6000;
const KILLS = 3;

it(
  'a deletion that is killed while it removes rows is continued, and leaves nothing',
  { timeout: 300_000 },
  async () => {
    const sink = await startSink({ keep: false });
    onTestFinished(() => sink.close());
    const program = await installProgram(sink, () => undefined);
    const api = createApi(await program.listening());
    const team = program.teamId;
    const body = { from: program.from, to: 'a@one.example', subject: 'quetzalcoatl', text: 'quetzalcoatl' };
    const { id } = (await api('POST', '/emails', { key: program.apiKey, body })).body as { id: string };
    await expect
      .poll(async () => (await api('GET', `/emails/${id}`, { key: program.apiKey })).body.last_event)
      .toBe('delivered');
    await program.stop();
    const { driver, url } = program.database;
    const db = await openDb({ driver, url, file: path.join(program.dataDir, 'rasket.db'), poolMax: 2 });
    onTestFinished(() => db.close());
    const columns = ['team_id', 'id', 'email', 'email_key', 'created_at', 'updated_at'];
    const idAt = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
    for (let from = 0; from < CONTACTS; from += 1000) {
      const rows = Array.from({ length: 1000 }, (_, i) => {
        const email = `quetzalcoatl${from + i}@one.example`;
        return [team, idAt(from + i), email, email, 1, 1];
      });
      await db.insertMany('contacts', columns, rows);
    }
    const count = async (): Promise<number> =>
      Number((await db.get<{ n: number }>('select count(*) as n from contacts'))?.n);
    let kills = 0;
    for (; kills < KILLS && (await count()) > 0; kills++) {
      const before = await count();
      const child = startDeletion(program, team);
      const ended = new Promise((resolve) => child.once('close', resolve));
      await expect.poll(count, { interval: 2, timeout: 60_000 }).toBeLessThan(before);
      child.kill('SIGKILL');
      await ended;
      // What the killed process held is free once its lease is over.
      await db.run('update team_deletions set lease_until = 0');
    }
    expect(kills).toBeGreaterThan(0);
    const last = startDeletion(program, team);
    expect(await new Promise((resolve) => last.once('close', resolve))).toBe(0);
    const found = await findTraces(db, [team, 'quetzalcoatl', 'sender.example.com']);
    // The name of the team and its plan wait a minute for what other programs still write.
    expect(
      Object.keys(found).filter(
        (table) => !['teams', 'team_plans', 'team_deletions', 'usage_counters'].includes(table),
      ),
    ).toEqual(['audit_log']);
    const removed = JSON.parse(
      (found.audit_log ?? []).map((row) => (JSON.parse(row) as { details: string }).details)[0] ?? '{}',
    );
    expect(removed).toMatchObject({ removed: { contacts: CONTACTS, emails: 1 } });
  },
);

function startDeletion({ env, dataDir }: Program, team: string) {
  const words = ['teams', 'delete', team, '--reason', 'The contract ended', '--now', '--yes', '--data', dataDir];
  return spawn(LAUNCHER, words, { env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'inherit'] });
}
