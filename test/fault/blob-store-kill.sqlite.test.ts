// clients --> rasket serve (killed, and cut off from the store) --> sink; nodes-fault.test.ts does as much to two nodes on PostgreSQL
import { expect, it, onTestFinished } from 'vitest';
import { startApp } from '../../src/app.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { createManualClock } from '../rig/clock.ts';
import { startObjectServer, type ObjectServer } from '../rig/object-server.ts';
import { scaled } from '../rig/scale.ts';
import { startSink } from '../rig/sink.ts';
import { buildConfig, installProgram, type Program } from './program.ts';

const SENDS = scaled(40);
// In `npm test` there is one of each node.
const KILLS = Math.min(4, scaled(2));
const CLIENTS = 8;
const REFUSED = 5;
/** Killed between the mark of the final dot and the dot: some microseconds. */
const NEVER_SENT_MAX = 2;
const TWO_HOURS_MS = 2 * 3_600_000;
const TEXT = 'A line of a long report.\n'.repeat(1000);

it(
  'every message arrives once when the program is killed and cut off from the object store',
  { timeout: 300_000 },
  async () => {
    const arrivals = new Map<string, number>();
    const sink = await startSink({ keep: false, onMessage: ({ data }) => note(arrivals, data.toString('latin1')) });
    onTestFinished(() => sink.close());
    const store = await startObjectServer();
    onTestFinished(() => store.close());
    const program = await installProgram(sink, () => undefined, { env: buildSettings(store) });

    const acknowledged = new Map<number, string>();
    const refused = { count: 0 };
    let [kills, restarting]: [number, Promise<unknown>] = [0, Promise.resolve()];
    const onAnswer = (): void => {
      const share = acknowledged.size / SENDS;
      // From the middle on the program cannot reach the store, until the store has refused some requests.
      if (share > 0.4 && refused.count === 0) store.wrong = () => 'hang up';
      if (kills >= KILLS || share < (kills + 1) / (KILLS + 1)) return;
      kills++;
      restarting = restarting.then(() => program.kill()).then(() => program.start());
    };
    const onRefused = (): void => {
      if (refused.count >= REFUSED) store.wrong = undefined;
    };
    await Promise.all(
      Array.from({ length: CLIENTS }, async (_, client) => {
        for (let n = client; n < SENDS; n += CLIENTS) {
          acknowledged.set(n, await sendUntilAcknowledged(program, { n, refused, onRefused }));
          onAnswer();
        }
      }),
    );
    await restarting;
    store.wrong = undefined;
    await program.stop();

    // The store's clock goes along, or it refuses what is dated so much later.
    store.skewMs = TWO_HOURS_MS;
    const states = await twoHoursLater(program);
    const ids = [...acknowledged.values()];
    const twice = [...arrivals].filter(([, times]) => times > 1);
    const missing = ids.filter((id) => !arrivals.has(id));
    console.log(
      JSON.stringify({
        kills,
        acknowledged: ids.length,
        arrived: arrivals.size,
        refused: refused.count,
        missing: missing.length,
      }),
    );
    expect(twice).toEqual([]);
    expect([kills, new Set(ids).size]).toEqual([KILLS, SENDS]);
    expect([...states.keys()].sort()).toEqual([...ids].sort());
    const lost = missing.map((id) => `${id} ${states.get(id)}`).filter((told) => !told.includes(' failed'));
    expect(lost).toEqual([]);
    expect(missing.length).toBeLessThanOrEqual(NEVER_SENT_MAX);
    expect(refused.count).toBeGreaterThanOrEqual(REFUSED);
    expect(store.faults).toEqual([]);
  },
);

function buildSettings({ endpoint, bucket, region, accessKey, secretKey }: ObjectServer): Record<string, string> {
  return {
    RASKET_BLOBS_STORE: 's3',
    RASKET_BLOBS_ENDPOINT: endpoint,
    RASKET_BLOBS_BUCKET: bucket,
    RASKET_BLOBS_REGION: region,
    RASKET_BLOBS_ACCESS_KEY: accessKey,
    RASKET_BLOBS_SECRET_KEY: secretKey,
    RASKET_BLOBS_GIVE_UP_SECONDS: '1',
    // No content stands in a row.
    RASKET_STORAGE_INLINE_BYTES: '0',
    RASKET_STORAGE_ROW_BYTES: '0',
  };
}

function note(arrivals: Map<string, number>, text: string): void {
  const id = /^message-id: *<([^@]+)@/im.exec(text)?.[1] ?? 'no Message-ID';
  if (text.length < TEXT.length) throw new Error(`${id} arrived without its text`);
  arrivals.set(id, (arrivals.get(id) ?? 0) + 1);
}

interface Sending {
  n: number;
  refused: { count: number };
  onRefused: () => void;
}

/** Sends as a careful client does: it asks again under the same key until it has its answer. */
async function sendUntilAcknowledged(program: Program, { n, refused, onRefused }: Sending): Promise<string> {
  for (;;) {
    const url = await program.listening();
    const answer = await fetch(`${url}/emails`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${program.apiKey}`,
        'user-agent': 'rasket-tests/1',
        'content-type': 'application/json',
        'idempotency-key': `send-${n}`,
      },
      body: JSON.stringify({ from: program.from, to: [`r${n}@d${n % 7}.example`], subject: `Number ${n}`, text: TEXT }),
    }).then(
      async (response) => ({ status: response.status, text: await response.text().catch(() => '') }),
      () => undefined,
    );
    if (answer?.status === 200 && answer.text !== '') return (JSON.parse(answer.text) as { id: string }).id;
    if (answer?.status === 503) {
      refused.count++;
      onRefused();
    } else if (answer && answer.status !== 200 && answer.status !== 409) {
      throw new Error(`a send was answered with ${answer.status} ${answer.text}`);
    }
  }
}

/** Sends what waits, and answers the state of every email. */
async function twoHoursLater({ dataDir, env }: Program): Promise<Map<string, string>> {
  const app = await startApp({
    config: buildConfig(env),
    dataDir,
    version: '0.0.0-test',
    roles: ['delivery'],
    clock: createManualClock(Date.now() + TWO_HOURS_MS),
    log: createLog({ level: 'fatal', format: 'json' }),
  });
  try {
    await app.queue?.idle();
    const { db } = app.world;
    const rows = await db.all<{ id: string; last_event: string }>('select id, last_event from emails');
    const waiting = await db.all<{ email_id: string }>('select * from deliveries');
    const told = new Map(waiting.map((row) => [row.email_id, ` and waits: ${JSON.stringify(row)}`]));
    return new Map(rows.map(({ id, last_event: state }) => [id, `${state}${told.get(id) ?? ''}`]));
  } finally {
    await app.close(0);
  }
}
