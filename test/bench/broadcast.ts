import Sqlite from 'better-sqlite3';
import { statSync } from 'node:fs';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import path from 'node:path';
import { POSTAL_ADDRESS } from '../flow/campaign.ts';
import { initialise, startAppliance, verifiedDomain, type Appliance } from './appliance.ts';
import type { Arrivals } from './arrivals-process.ts';
import { pause, post, type Bench } from './bench.ts';
import { percentile, waits } from './accept-under-attack.ts';
import { median, shown } from './figures.ts';
import { SENDER_DOMAIN, smallLoad } from './messages.ts';
import { inMib, rssBytes } from './process-usage.ts';
import { inBatches } from './batch.ts';

const FEW = 10_000;
const MANY = 100_000;
const UNTIL_MS_MAX = 240_000;
const CONTACTS_BEGIN_AT = Date.UTC(2026, 0, 1);
const HTML = `<!doctype html><html><body><h1>News</h1>${'<p>What is new at our shop this week, {{{FIRST_NAME|reader}}}.</p>'.repeat(60)}</body></html>`;

/** Measures a broadcast: how fast it is accepted, what it costs, and how long the same team's other mail waits meanwhile. */
export async function benchBroadcast(bench: Bench): Promise<void> {
  await benchAccepted(bench);
  await benchDelivered(bench);
}

/** Measures the fan-out alone: its one connection waits for a greeting that never comes, and no queue limit applies. */
async function benchAccepted(bench: Bench): Promise<void> {
  const amount = bench.quick ? FEW : MANY / 2;
  const load = await bench.helper('./load-process.ts');
  const sinkPort = await silentPort(bench);
  const rates: number[] = [];
  const openers: number[] = [];
  const batches: number[] = [];
  for (let round = 0; round < (bench.quick ? 1 : 3); round++) {
    const whole = await beginRound(bench, { amount, sinkPort });
    const single = smallLoad(4096);
    const many = await post(load, whole.appliance, {
      load: inBatches(single),
      connections: 8,
      seconds: bench.quick ? 2 : 5,
      path: '/emails/batch',
    });
    batches.push(many.perSecond * 100);
    rates.push(await whole.measureRate());
    const engaged = await beginRound(bench, { amount, sinkPort, filter: OPENED_LATELY });
    openers.push(await engaged.measureRate());
  }
  bench.add({
    name: `a broadcast to ${amount.toLocaleString('en-US')}, accepted`,
    value: median(rates),
    unit: 'emails/s',
    baseline: { name: 'in batches of 100, 8 connections', value: median(batches) },
    target: { is: 'at least', value: 0.8, of: 'ratio' },
    rounds: { value: rates, baseline: batches },
  });
  bench.add({
    name: `a broadcast to ${amount.toLocaleString('en-US')} who opened within 30d, accepted`,
    value: median(openers),
    unit: 'emails/s',
    baseline: { name: 'to a segment by address', value: median(rates) },
    rounds: { value: openers, baseline: rates },
  });
}

const OPENED_LATELY = { engagement: 'opened', within_days: 30 };

async function beginRound(bench: Bench, { amount, ...options }: { amount: number; sinkPort: number; filter?: object }) {
  const { appliance, send } = await prepared(bench, {
    contacts: amount,
    env: { RASKET_BROADCASTS_QUEUED_MAX: '1000000', RASKET_DELIVERY_MAX_IN_FLIGHT: '1' },
    ...options,
  });
  return {
    appliance,
    async measureRate(): Promise<number> {
      const began = performance.now();
      const broadcast = await send();
      await broadcast.until(({ status }) => status === 'sent');
      const rate = amount / ((performance.now() - began) / 1000);
      await appliance.kill();
      return rate;
    },
  };
}

/** Measures everything in one process, to the sink's last 250. */
async function benchDelivered(bench: Bench): Promise<void> {
  const amount = bench.quick ? FEW * 2 : MANY;
  const sink = await bench.helper('./arrivals-process.ts');
  const { port } = await sink.ask<Arrivals>({ say: 'forget' });
  const { appliance, from, send, bytes } = await prepared(bench, { contacts: amount, sinkPort: port });
  const probe = { appliance, from, sink };
  const probes = bench.quick ? 300 : 1000;
  await waits(probe, 200);
  const without = await waits(probe, probes);
  const bytesBefore = bytes();
  const began = performance.now();
  const broadcast = await send();
  await broadcast.until(({ recipients }) => recipients >= FEW);
  const memoryAtFew = inMib(rssBytes(appliance.pid));
  const beside = await waits(probe, probes);
  const isOver = (await broadcast.read()).status === 'sent';
  await broadcast.until(({ status }) => status === 'sent');
  const memoryAtMany = inMib(rssBytes(appliance.pid));
  await broadcast.delivered(amount);
  const seconds = (performance.now() - began) / 1000;
  const perEmail = (bytes() - bytesBefore) / (amount + probes);
  await appliance.stop();
  bench.add({
    name: `a broadcast to ${amount.toLocaleString('en-US')}, delivered`,
    value: amount / seconds,
    unit: 'emails/s',
    note: `${shown(seconds)} s in all; memory ${shown(memoryAtFew)} MiB at ${FEW.toLocaleString('en-US')}, ${shown(memoryAtMany)} MiB at the last`,
  });
  bench.add({
    name: 'disk of an email of it, with its attempt, events and report',
    value: perEmail / 1024,
    unit: 'KB',
    target: { is: 'at most', value: 1.5, of: 'value' },
  });
  bench.add({
    name: 'the same team’s small mail during it, p99',
    value: percentile(beside, 0.99),
    unit: 'ms',
    baseline: { name: 'ms without it', value: percentile(without, 0.99) },
    target: { is: 'at most', value: 2, of: 'ratio' },
    note: `from POST to the sink; the median ${shown(percentile(beside, 0.5))} ms, ${shown(percentile(without, 0.5))} without it${isOver ? '; the broadcast was over before the last of them' : ''}`,
  });
}

interface Progress {
  status: string;
  recipients: number;
}

interface Sent {
  read(): Promise<Progress>;
  until(is: (progress: Progress) => boolean): Promise<void>;
  delivered(amount: number): Promise<void>;
}

interface Prepared {
  appliance: Appliance;
  from: string;
  send(): Promise<Sent>;
  /** Size of the database with its log, written out. */
  bytes(): number;
}

/** Creates a team with a verified domain, a postal address, and a segment with the given number of contacts. */
async function prepared(
  bench: Bench,
  options: { contacts: number; sinkPort: number; filter?: object; roles?: string; env?: Record<string, string> },
): Promise<Prepared> {
  const { contacts, filter = { field: 'email', op: 'contains', value: '@' }, ...start } = options;
  const dataDir = bench.folder('broadcast');
  const { team_id: teamId, api_key: key } = initialise(dataDir, bench.dns);
  fillContacts(dataDir, teamId, contacts);
  const appliance = await startAppliance({ dataDir, dns: bench.dns, key, ...start });
  bench.stopLater(() => appliance.kill());
  const { call } = appliance;
  await verifiedDomain(appliance, bench.dns, SENDER_DOMAIN);
  await call('PATCH', '/team', { postal_address: POSTAL_ADDRESS });
  const segment = (await call('POST', '/segments', { name: 'Everybody', filter })) as { id: string };
  const from = `hello@${SENDER_DOMAIN}`;
  return {
    appliance,
    from,
    bytes: () => readSize(dataDir),
    async send() {
      const body = { from, subject: 'News for {{{FIRST_NAME|you}}}', html: HTML, segment_id: segment.id, send: true };
      const { id } = (await call('POST', '/broadcasts', body)) as { id: string };
      const read = async () => (await call('GET', `/broadcasts/${id}`)) as Progress;
      const until: Sent['until'] = async (is) => {
        const limit = performance.now() + UNTIL_MS_MAX;
        for (let seen = await read(); !is(seen); seen = await read()) {
          if (performance.now() > limit)
            throw new Error(`after ${UNTIL_MS_MAX} ms the broadcast is ${JSON.stringify(seen)}`);
          await pause(100);
        }
      };
      return {
        read,
        until,
        delivered: async (amount) => {
          const query = `/emails/metrics?metrics=delivered&broadcast_id=${id}`;
          const delivered = async () =>
            ((await call('GET', query)) as { totals: { delivered: number } }).totals.delivered;
          while ((await delivered()) < amount) await pause(200);
        },
      };
    },
  };
}

async function silentPort(bench: Bench): Promise<number> {
  const open = new Set<Socket>();
  const server = createServer((socket) => open.add(socket.on('error', () => undefined)));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  bench.stopLater(async () => {
    for (const socket of open) socket.destroy();
    await new Promise((done) => server.close(done));
  });
  return (server.address() as AddressInfo).port;
}

export function fillContacts(dataDir: string, teamId: string, contacts: number): void {
  const database = new Sqlite(path.join(dataDir, 'rasket.db'));
  database.pragma('synchronous = off');
  const insert = database.prepare(
    `insert into contacts (team_id, id, email, email_key, first_name, first_name_key, unsubscribed, properties, created_at, updated_at)
      values (?, ?, ?, ?, ?, ?, 0, '{}', ?, ?)`,
  );
  const engage = database.prepare(
    `insert into contact_engagement (team_id, contact_id, first_sent_at, last_sent_at, last_delivered_at, last_opened_at)
      values (?, ?, ?, ?, ?, ?)`,
  );
  const readAt = Date.now() - 86_400_000;
  database.transaction(() => {
    for (let i = 0; i < contacts; i++) {
      const at = CONTACTS_BEGIN_AT + i;
      const hex = at.toString(16).padStart(12, '0');
      const email = `person${i}@list${i % 10}.reader.test`;
      const id = `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
      insert.run(teamId, id, email, email, `First ${i}`, `first ${i}`, at, at);
      engage.run(teamId, id, readAt, readAt, readAt, readAt);
    }
  })();
  database.exec('analyze');
  database.close();
}

/** Returns the size including the log, which holds what is not yet written back. */
function readSize(dataDir: string): number {
  const file = path.join(dataDir, 'rasket.db');
  const database = new Sqlite(file);
  database.pragma('wal_checkpoint(passive)');
  database.close();
  return statSync(file).size;
}
