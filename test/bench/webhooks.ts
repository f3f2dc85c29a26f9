import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { openDb } from '../../src/platform/db/index.ts';
import { initialise, startAppliance, type Appliance } from './appliance.ts';
import { pause, type Bench } from './bench.ts';
import type { Helper } from './children.ts';
import { median, shown } from './figures.ts';
import type { LoadResult } from './load-process.ts';
import { readUsage, usageSince } from './process-usage.ts';
import type { ReceiverCount } from './receiver-process.ts';

const CONNECTIONS = 32;
const ENDPOINTS = 100;
/** Four seconds of deliveries, of which the first is for the compiler: bare posts take as long. */
const EVENTS = 60_000;
const EVENTS_A_CALL = 100;
const DELIVERED_MS_MAX = 120_000;

interface Delivered {
  perSecond: number;
  /** Processor time of the main thread for one delivery. */
  micros: number;
  repeated: number;
  held: number;
}

/** Measures deliveries of webhooks, signed and recorded, against bare posts of the same body to the same receiver. */
export async function benchWebhooks(bench: Bench): Promise<void> {
  const receiver = await bench.helper('./receiver-process.ts');
  await benchRate(bench, receiver);
  await benchDeadEndpoint(bench, receiver);
}

async function benchRate(bench: Bench, receiver: Helper): Promise<void> {
  const load = await bench.helper('./load-process.ts');
  const bare: number[] = [];
  const ours: Delivered[] = [];
  for (let i = 0; i < (bench.quick ? 1 : 3); i++) {
    const before = await barePosts(bench, load, receiver);
    ours.push(await deliver(bench, receiver, { endpoints: 1, events: bench.quick ? 3000 : EVENTS, round: i }));
    bare.push((before + (await barePosts(bench, load, receiver))) / 2);
  }
  const of = (pick: (delivered: Delivered) => number): number => median(ours.map(pick));
  bench.add({
    name: `webhook deliveries to one endpoint, signed and recorded`,
    value: of(({ perSecond }) => perSecond),
    unit: '/s',
    baseline: { name: `bare posts, ${CONNECTIONS} connections`, value: median(bare) },
    target: { is: 'at least', value: 0.3, of: 'ratio' },
    rounds: { value: ours.map(({ perSecond }) => perSecond), baseline: bare },
    note: `${shown(of(({ micros }) => micros))} µs of the main thread for each`,
  });
}

/** Measures the rate at which 99 endpoints are served while the hundredth lets every request time out, against the rate without it. */
async function benchDeadEndpoint(bench: Bench, receiver: Helper): Promise<void> {
  const events = bench.quick ? 50 : 300;
  const alive: number[] = [];
  const beside: number[] = [];
  for (let i = 0; i < (bench.quick ? 1 : 3); i++) {
    alive.push((await deliver(bench, receiver, { endpoints: ENDPOINTS - 1, events })).perSecond);
    const { perSecond, held } = await deliver(bench, receiver, { endpoints: ENDPOINTS - 1, events, hasDead: true });
    if (held === 0) throw new Error('nothing was posted to the dead endpoint');
    beside.push(perSecond);
  }
  bench.add({
    name: `webhook deliveries to ${ENDPOINTS - 1} endpoints alongside a dead one`,
    value: median(beside),
    unit: '/s',
    baseline: { name: 'without it', value: median(alive) },
    target: { is: 'at least', value: 0.9, of: 'ratio' },
    rounds: { value: beside, baseline: alive },
  });
}

/** Posts bodies of the size of a real delivery, with headers of the same length. */
async function barePosts(bench: Bench, load: Helper, receiver: Helper): Promise<number> {
  const { url } = await receiver.ask<ReceiverCount>({ say: 'forget' });
  const body = JSON.stringify({ type: 'suppression.added', created_at: '', data: { id: 'x'.repeat(200) } });
  const order = {
    url: url.replace('receiver.test', 'localhost'),
    path: '/',
    key: 'x'.repeat(240),
    bodies: [body],
    connections: CONNECTIONS,
    seconds: bench.quick ? 1 : 3,
  };
  const { perSecond, refused } = await load.ask<LoadResult>(order);
  if (refused > 0) throw new Error(`${refused} bare posts were not answered with 200`);
  return perSecond;
}

interface Wishes {
  endpoints: number;
  events: number;
  hasDead?: boolean;
  round?: number;
}

/** Records everything with delivery switched off, and then measures how fast it is delivered. */
async function deliver(bench: Bench, receiver: Helper, wishes: Wishes): Promise<Delivered> {
  const { endpoints, events, hasDead = false } = wishes;
  // The first thousands of requests of any server are compiled while they are answered.
  const warmUp = Math.floor((endpoints * events) / 4);
  const { url, certificate } = await receiver.ask<ReceiverCount>({ say: 'forget', warmUp });
  bench.dns.set('receiver.test', 'A', ['127.0.0.1']);
  const dataDir = bench.folder('webhooks');
  const { api_key: key } = initialise(dataDir, bench.dns);
  const trusted = path.join(dataDir, 'receiver.pem');
  writeFileSync(trusted, certificate);
  const env = {
    NODE_EXTRA_CA_CERTS: trusted,
    RASKET_NETWORK_HTTP_ALLOW_PRIVATE: '127.0.0.0/8',
    RASKET_PLANS_STANDARD_WEBHOOK_ENDPOINT_LIMIT: '1000',
  };
  const options = { dataDir, dns: bench.dns, sinkPort: 1, key, env };
  const recorder = await startAppliance({ ...options, roles: 'http' });
  const paths = [...Array.from({ length: endpoints }, (_, n) => `/${n}`), ...(hasDead ? ['/dead'] : [])];
  for (const at of paths) {
    await recorder.call('POST', '/webhooks', { endpoint: `${url}${at}`, events: ['suppression.added'] });
  }
  for (let from = 0; from < events; from += EVENTS_A_CALL) {
    const emails = Array.from({ length: Math.min(EVENTS_A_CALL, events - from) }, (_, n) => `a${from + n}@x.example`);
    await recorder.call('POST', '/suppressions/batch/add', { emails });
  }
  await recorder.kill();

  const profileDir = wishes.round === 0 && bench.profileDir ? path.join(bench.profileDir, 'webhooks') : undefined;
  const sender = await startAppliance({ ...options, profileDir });
  bench.stopLater(() => sender.kill());
  const used = readUsage(sender.pid);
  const count = await untilDelivered(sender, receiver, endpoints * events);
  const { mainSeconds } = usageSince(sender.pid, used);
  await (profileDir === undefined ? sender.kill() : sender.stop());
  const { repeated, held } = count;
  if (repeated > 0) throw new Error(`${repeated} events were delivered twice`);
  return {
    perSecond: (count.answered - warmUp) / (count.ms / 1000),
    micros: (mainSeconds / count.answered) * 1e6,
    repeated,
    held,
  };
}

/** Waits until each was answered and is recorded as a success; a missing one makes the row worthless. */
async function untilDelivered({ dataDir }: Appliance, receiver: Helper, wanted: number): Promise<ReceiverCount> {
  const db = await openDb({ driver: 'better-sqlite3', file: path.join(dataDir, 'rasket.db'), url: '', poolMax: 1 });
  const begin = performance.now();
  try {
    for (;;) {
      await pause(100);
      const count = await receiver.ask<ReceiverCount>({});
      if (performance.now() - begin > DELIVERED_MS_MAX) {
        throw new Error(`${count.answered} of ${wanted} webhooks were delivered in ${DELIVERED_MS_MAX} ms`);
      }
      if (count.answered < wanted) continue;
      const sql = `select count(*) as n from webhook_events where status = 'success'`;
      if (Number((await db.get<{ n: number }>(sql))?.n) === wanted) return count;
    }
  } finally {
    await db.close();
  }
}
