// clients --> two nodes (killed, and cut off from database and store) --> sink; the nodes share a database and a bucket, and nothing else
import { expect, it, onTestFailed, onTestFinished } from 'vitest';
import { startApp } from '../../src/app.ts';
import { loadConfig } from '../../src/platform/config/index.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { createManualClock } from '../rig/clock.ts';
import { createDatabase } from '../rig/database-server.ts';
import { driver, type TestDatabase } from '../rig/database.ts';
import { startObjectServer, type ObjectServer, type Wrong } from '../rig/object-server.ts';
import { startPostgres } from '../rig/pg.ts';
import { scaled } from '../rig/scale.ts';
import { dice, testSeed } from '../rig/seed.ts';
import { startSink, type Sink } from '../rig/sink.ts';
import { startTcpRelay } from '../rig/tcp-relay.ts';
import { askUntilAnswered, drawFaults, strike, Watch, type Node, type Players } from './nodes-under-faults.ts';
import { installProgram, type Program } from './program.ts';

const SENDS = scaled(100);
const FAULTS = Math.min(48, scaled(8));
const CLIENTS = 16;
const TWO_HOURS_MS = 2 * 3_600_000;
const TEXT = 'A line of a long report.\n'.repeat(400);

// runs only with PostgreSQL: SQLite bears one process
it.runIf(driver === 'pg')(
  'every message arrives once when two nodes are killed and cut off from database and store, and the database crashes',
  { timeout: 300_000 + SENDS * 200 },
  async () => {
    const random = dice(testSeed());
    const watch = new Watch();
    const arrivals = new Map<string, number>();
    const sink = await startSink({
      keep: false,
      onMessage({ data }) {
        note(arrivals, data.toString('latin1'));
        watch.stir();
      },
    });
    onTestFinished(() => sink.close());
    const { players, program, store, database, stop } = await startNodes(sink, { watch, random });
    const acknowledged = new Map<number, string>();
    const story: string[] = [];
    onTestFailed(() => console.log(story.join('\n')));
    const faults = drawFaults(players, FAULTS);
    let isOver = false;
    const striking = strike(players, faults, {
      share: () => acknowledged.size / SENDS,
      note: (line) => void story.push(`${acknowledged.size} acknowledged, ${arrivals.size} arrived: ${line}`),
    }).finally(() => (isOver = true));
    const client = async (first: number): Promise<void> => {
      for (let n = first; n < SENDS || !isOver; n += CLIENTS) {
        const id = await send(players, program, n);
        if (isToBeCanceled(n)) await cancel(players, program, id);
        acknowledged.set(n, id);
        watch.stir();
      }
    };
    await Promise.all([striking, ...Array.from({ length: CLIENTS }, (_, at) => client(at))]);
    await stop();

    store.wrong = undefined;
    // The store's clock goes along, or it refuses what is dated so much later.
    store.skewMs = TWO_HOURS_MS;
    const told = await twoHoursLater(program, { database, store });
    const ends = [...acknowledged].map(([, id]) => `${told.emails.get(id)}, arrived ${arrivals.get(id) ?? 0}`);
    const kills = faults.filter(({ name }) => /kill|power/.test(name)).length;
    const counts = new Map([...Map.groupBy(ends, (end) => end)].map(([end, all]) => [end, all.length]));
    console.log(JSON.stringify({ faults: FAULTS, kills, refused: players.nodes.map(({ inVain }) => inVain) }), counts);
    // Killed between the mark of the final dot and the dot: some microseconds.
    const neverSent = counts.get(NEVER_SENT) ?? 0;
    expect(neverSent).toBeLessThanOrEqual(kills);
    const wrong = [...acknowledged].flatMap(([n, id], at) =>
      listEnds(n).includes(ends[at] ?? '') ? [] : [`${n} ${id} ${ends[at]}`],
    );
    expect(wrong).toEqual([]);
    // Nothing was accepted that nobody was told of, and nothing arrived that was not accepted.
    const ids = [...acknowledged.values()].toSorted();
    expect([...told.emails.keys()].toSorted()).toEqual(ids);
    expect([...arrivals.keys()].filter((id) => !told.emails.has(id))).toEqual([]);
    expect([told.left, told.withoutContent, store.faults]).toEqual([[], [], []]);
  },
);

const isScheduled = (n: number): boolean => n % 5 === 3;
const isToBeCanceled = (n: number): boolean => n % 10 === 3;

const NEVER_SENT = 'failed: email.queued email.sent email.failed ambiguous_submission, arrived 0';

/** Returns how an email may have ended. An email at its final dot when its node was killed is failed as in doubt, and never sent again. */
function listEnds(n: number): string[] {
  if (isToBeCanceled(n)) return ['canceled: email.scheduled email.canceled, arrived 0'];
  if (isScheduled(n)) return ['delivered: email.scheduled email.sent email.delivered, arrived 1'];
  return [
    'delivered: email.queued email.sent email.delivered, arrived 1',
    'failed: email.queued email.sent email.failed ambiguous_submission, arrived 1',
    NEVER_SENT,
  ];
}

const LIES: readonly Wrong[] = ['lose', 'keep less', 'wrong etag', 'slow down', 'hang up'];

/** Its database and its store, and two nodes that reach both through relays. */
async function startNodes(
  sink: Sink,
  { watch, random }: Pick<Players, 'watch' | 'random'>,
): Promise<{ players: Players; program: Program; database: TestDatabase; store: ObjectServer; stop(): Promise<void> }> {
  // An operator may set it so, and shorter than our own: then the rows of a node without power are free again.
  const postgres = await startPostgres({ settings: ['idle_in_transaction_session_timeout=3s'] });
  onTestFinished(() => postgres.stop());
  const { url } = await createDatabase(postgres.url);
  const database: TestDatabase = { settings: { driver, url }, drop: async () => undefined };
  const store = await startObjectServer();
  onTestFinished(() => store.close());
  // At all times a few uploads are not kept as they were acknowledged.
  store.wrong = ({ method }) =>
    method === 'PUT' && random() < 0.04 ? LIES[Math.floor(random() * LIES.length)] : undefined;
  const ways = await Promise.all(['A', 'B'].map((name) => listWays(name, { url, endpoint: store.endpoint })));
  const [first, second] = ways.map(({ settings }): Settings => settings) as [Settings, Settings];
  const env = { ...buildSettings(store), ...first };
  const program = await installProgram(sink, () => watch.stir(), { env, database });
  const processes = [program, await program.addNode(second)];
  const nodes: Node[] = [];
  for (const [at, { name, ...relays }] of ways.entries()) {
    const process = processes[at] ?? program;
    nodes.push({ name, process, url: await process.listening(), inVain: 0, ...relays });
  }
  const stop = async (): Promise<void> => void (await Promise.all(processes.map((process) => process.stop())));
  return { players: { nodes, postgres, watch, random, ended: 0 }, program, database, store, stop };
}

type Settings = Record<string, string>;

async function listWays(name: string, { url, endpoint }: { url: string; endpoint: string }) {
  const toDatabase = new URL(url);
  const toStore = new URL(endpoint);
  const database = await startTcpRelay({ host: toDatabase.hostname, port: Number(toDatabase.port) });
  const store = await startTcpRelay({ host: toStore.hostname, port: Number(toStore.port) });
  onTestFinished(async () => void (await Promise.all([database.close(), store.close()])));
  toDatabase.port = String(database.port);
  toStore.port = String(store.port);
  const settings = { RASKET_DATABASE_URL: toDatabase.href, RASKET_BLOBS_ENDPOINT: toStore.origin };
  return { name, database, store, settings };
}

/** When the test is scaled up, leases are so short that a node which is cut off loses what it holds to the other one. */
const leases: Settings =
  SENDS > 100
    ? {
        RASKET_DELIVERY_LEASE_SECONDS: '7',
        RASKET_DELIVERY_CONNECT_TIMEOUT_SECONDS: '2',
        RASKET_DELIVERY_REPLY_TIMEOUT_SECONDS: '2',
        RASKET_DELIVERY_DATA_TIMEOUT_SECONDS: '2',
      }
    : {};

const buildSettings = ({ bucket, region, accessKey, secretKey }: ObjectServer): Settings => ({
  RASKET_BLOBS_STORE: 's3',
  RASKET_BLOBS_BUCKET: bucket,
  RASKET_BLOBS_REGION: region,
  RASKET_BLOBS_ACCESS_KEY: accessKey,
  RASKET_BLOBS_SECRET_KEY: secretKey,
  RASKET_BLOBS_TIMEOUT_SECONDS: '1',
  RASKET_BLOBS_GIVE_UP_SECONDS: '1',
  // No content stands in a row.
  RASKET_STORAGE_INLINE_BYTES: '0',
  RASKET_STORAGE_ROW_BYTES: '0',
  ...leases,
});

function note(arrivals: Map<string, number>, text: string): void {
  const id = /^message-id: *<([^@]+)@/im.exec(text)?.[1] ?? 'no Message-ID';
  if (text.length < TEXT.length) throw new Error(`${id} arrived without its text`);
  arrivals.set(id, (arrivals.get(id) ?? 0) + 1);
}

/** Answers the id. One in five is for later, so that half of those can be canceled. */
async function send(players: Players, program: Program, n: number): Promise<string> {
  const body = {
    from: program.from,
    to: [`r${n}@d${n % 7}.example`],
    subject: `Number ${n}`,
    text: TEXT,
    ...(isScheduled(n) && { scheduled_at: new Date(Date.now() + TWO_HOURS_MS / 2).toISOString() }),
  };
  const headers = { ...buildHeaders(program), 'idempotency-key': `send-${n}` };
  const { status, body: answer } = await askUntilAnswered(players, { path: '/emails', headers, body });
  if (status !== 200) throw new Error(`a send was answered with ${status} ${JSON.stringify(answer)}`);
  return answer.id;
}

/** Answers the id. A cancellation whose answer was lost is refused when it is asked for again, with the reason. */
async function cancel(players: Players, program: Program, id: string): Promise<string> {
  const headers = buildHeaders(program);
  const { status, body } = await askUntilAnswered(players, { path: `/emails/${id}/cancel`, headers, body: undefined });
  const isCanceled = status === 200 || body.message?.includes('(canceled)');
  if (!isCanceled) throw new Error(`a cancellation was answered with ${status} ${JSON.stringify(body)}`);
  return id;
}

const buildHeaders = ({ apiKey }: Program): Record<string, string> => ({
  authorization: `Bearer ${apiKey}`,
  'user-agent': 'rasket-tests/1',
  'content-type': 'application/json',
});

interface Told {
  /** State and events by email. */
  emails: Map<string, string>;
  left: unknown[];
  withoutContent: string[];
}

/** Sends what waits, on the folder of the first node, and answers what became of every email. */
async function twoHoursLater(
  { dataDir, env }: Program,
  { database, store }: { database: TestDatabase; store: ObjectServer },
): Promise<Told> {
  const { config } = loadConfig({
    env: {
      ...Object.fromEntries(
        Object.entries(env).filter(([name]) => /^RASKET_(?!TEST_|DATA$)/.test(name) && !(name in leases)),
      ),
      RASKET_DATABASE_URL: database.settings.url,
      RASKET_BLOBS_ENDPOINT: store.endpoint,
    },
  });
  const app = await startApp({
    config,
    dataDir,
    version: '0.0.0-test',
    roles: ['delivery'],
    clock: createManualClock(Date.now() + TWO_HOURS_MS),
    log: createLog({ level: 'fatal', format: 'json' }),
  });
  try {
    await app.queue?.idle();
    const { db } = app.world;
    const emails = await db.all<{ id: string; last_event: string }>('select id, last_event from emails');
    const sql = "select subject_id, type, data from events where type like 'email.%' order by id";
    const events = Map.groupBy(
      await db.all<{ subject_id: string; type: string; data: string | null }>(sql),
      (event) => event.subject_id,
    );
    const texts = await db.all<{ email_id: string }>('select email_id from email_bodies where text_in_blob = 1');
    const contents = new Set([...store.objects.keys()].map((key) => key.split('/').slice(-2).join('/')));
    return {
      emails: new Map(
        emails.map(({ id, last_event: state }) => [id, `${state}: ${formatEvents(events.get(id) ?? [])}`]),
      ),
      left: await db.all('select * from deliveries'),
      withoutContent: texts.map(({ email_id: id }) => id).filter((id) => !contents.has(`${id}/text`)),
    };
  } finally {
    await app.close(0);
  }
}

/** A delay, such as by a store that did not answer, may come any number of times. */
function formatEvents(events: readonly { type: string; data: string | null }[]): string {
  const told = events.map(({ type, data }) => {
    const { failed } = JSON.parse(data ?? '{}') as { failed?: { reason: string } };
    return failed ? `${type} ${failed.reason}` : type;
  });
  return told.filter((one) => one !== 'email.delivery_delayed').join(' ');
}
