import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { putWarmUp } from '../../src/mail/egress/index.ts';
import { openDb } from '../../src/platform/db/index.ts';
import { createApi } from '../rig/api.ts';
import { driver } from '../rig/database.ts';
import { scratchFolder } from '../rig/scratch.ts';
import { startSink } from '../rig/sink.ts';
import { Watch } from './nodes-under-faults.ts';
import { installProgram } from './program.ts';

const FRESH = '127.0.8.1';
const DAY_MS = 86_400_000;
const COUNT = 240;
const DAILY = 80;
/** A process reserves a twentieth of what it may send in an hour. */
const BLOCK = DAILY / 20;
/** Messages that a process has begun count as sent, whatever becomes of it. */
const IN_FLIGHT = 10;

const SETTINGS = `
[sources.fresh]
source_v4 = "${FRESH}"
[sources.warm]
source_v4 = "127.0.8.2"
[pools.main]
sources = ["fresh:100", "warm"]
[warm_up]
daily = [${DAILY}]
hours = 1
`;

it(
  'processes that are killed share the limit of a warm-up, never exceed it, and lose what they had reserved or begun at most',
  { timeout: 240_000 },
  async () => {
    const folder = scratchFolder('rasket-fault-');
    writeFileSync(path.join(folder, 'pools.toml'), SETTINGS);
    const watch = new Watch();
    const sink = await startSink({ onMessage: () => watch.stir() });
    onTestFinished(() => sink.close());
    const doubtful = new Set<string>();
    const program = await installProgram(
      sink,
      (line) => {
        if (line.msg === 'delivery outcome unknown') doubtful.add(String(line['emailId']));
        watch.stir();
      },
      {
        folder,
        env: { RASKET_CONFIG: path.join(folder, 'pools.toml'), RASKET_DELIVERY_MAX_IN_FLIGHT: String(IN_FLIGHT) },
      },
    );
    const begunOn = Math.floor(Date.now() / DAY_MS);
    const { url } = program.database;
    const db = await openDb({ driver, url, file: path.join(program.dataDir, 'rasket.db'), poolMax: 1 });
    await putWarmUp(db, { source: 'fresh', state: 'warming', now: Date.now() });
    await db.close();
    await program.kill();
    await program.start();
    const nodes = [program, ...(driver === 'pg' ? [await program.addProcess()] : [])];
    const api = createApi(await program.listening());
    const ids = new Map<string, string>();
    for (let from = 0; from < COUNT; from += 80) {
      const some = Array.from({ length: 80 }, (_, n) => `r${from + n}@example.org`);
      const body = some.map((to) => ({ from: program.from, to, subject: 'Hello', text: 'It works.' }));
      const answer = await api('POST', '/emails/batch', { key: program.apiKey, body });
      expect(answer.status, answer.text).toBe(200);
      for (const [index, { id }] of (answer.body.data as { id: string }[]).entries()) ids.set(some[index] ?? '', id);
    }
    let kills = 0;
    for (const node of nodes) {
      kills += 1;
      await watch.until(() => sink.messages.length >= (kills * COUNT) / 5);
      await node.kill();
      await node.start();
    }
    const arrived = (): Set<string> => new Set(sink.messages.flatMap(({ rcptTo }) => rcptTo));
    await watch.until(() => {
      const seen = arrived();
      return [...ids].every(([to, id]) => seen.has(to) || doubtful.has(id));
    });
    const days = Math.floor(Date.now() / DAY_MS) - begunOn + 1;
    const fromFresh = sink.messages.filter(({ peer }) => peer === FRESH).length;
    expect(sink.messages).toHaveLength(arrived().size);
    expect(fromFresh).toBeLessThanOrEqual(DAILY * days);
    expect(fromFresh).toBeGreaterThanOrEqual(DAILY - kills * (BLOCK + IN_FLIGHT));
    await program.stop();
  },
);
