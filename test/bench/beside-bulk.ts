import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { line, step } from '../api/automations/graph.ts';
import { POSTAL_ADDRESS } from '../flow/campaign.ts';
import { percentile } from './accept-under-attack.ts';
import { initialise, LAUNCHER, settings, startAppliance, verifiedDomain, type Appliance } from './appliance.ts';
import { pause, post, type Bench } from './bench.ts';
import { fillContacts } from './broadcast.ts';
import type { Helper } from './children.ts';
import { shown } from './figures.ts';
import type { LoadResult } from './load-process.ts';
import type { SlowReceivers } from './slow-receivers-process.ts';

const BROADCAST = 50_000;
const IMPORTED = 200_000;
const LISTS = 10;
const BULK_DOMAIN = 'news.bulk.test';
const OTHER_DOMAIN = 'orders.other.test';
const HTML = `<!doctype html><html><body><h1>News</h1>${'<p>What is new at our shop this week, {{{FIRST_NAME|reader}}}.</p>'.repeat(60)}</body></html>`;

const PROBES = 500;
const PROBE_EVERY_MS = 25;
const WARM_UP = 100;
/** Bulk work is under way when the probes begin. */
const UNDER_WAY = 2000;
const WAIT_MS_MAX = 120_000;

interface Field {
  bench: Bench;
  appliance: Appliance;
  receivers: Helper;
  /** Calls with the key of the team with the bulk work. */
  bulk: Appliance['call'];
  bulkKey: string;
  segmentId: string;
}

/** Bulk work, and who sends single mails beside it. */
interface Situation {
  name: string;
  by: 'the same team' | 'another team';
  /** The largest ratio of the 99th percentiles beside it and without it. */
  ratioMax: number;
  /** The appliance captures all mail, as the playground does. */
  isCaptured?: boolean;
  begin(field: Field): Promise<unknown>;
}

const SITUATIONS: readonly Situation[] = [
  { name: 'a broadcast to 50,000', by: 'the same team', ratioMax: 3, begin: sendBroadcast },
  { name: 'a broadcast to 50,000', by: 'another team', ratioMax: 2, begin: sendBroadcast },
  { name: 'an import of 200,000 that starts an automation', by: 'another team', ratioMax: 2, begin: importContacts },
  {
    name: 'a broadcast to 50,000 in the playground',
    by: 'the same team',
    ratioMax: 3,
    isCaptured: true,
    begin: sendBroadcast,
  },
  { name: 'batches of 100 over 8 connections', by: 'another team', ratioMax: 2, begin: postBatches },
];

/**
 * Measures single mails from their POST to the 250 of mail servers that answer each command after 50 ms, and to the webhook
 * `email.delivered`, without bulk work and beside it.
 */
export async function benchBesideBulk(bench: Bench): Promise<void> {
  for (const situation of SITUATIONS) {
    const field = await prepare(bench, situation);
    const probe = await prepareProbe(field, situation.by);
    await probe(WARM_UP);
    const count = bench.quick ? PROBES / 2 : PROBES;
    const alone = await probe(count);
    const { accepted: before } = await field.receivers.ask<SlowReceivers>({ say: 'count' });
    await situation.begin(field);
    await untilAccepted(field, before + UNDER_WAY);
    const began = await progress(field);
    const beside = await probe(count);
    const ended = await progress(field);
    await (bench.profileDir === undefined ? field.appliance.kill() : field.appliance.stop());
    const rate = (ended.accepted - began.accepted - count) / ((ended.at - began.at) / 1000);
    const about = `${situation.by}’s single mails beside ${situation.name}`;
    add(bench, `${about}, delivered, p99`, alone.delivered, beside.delivered, {
      target: { is: 'at most', value: situation.ratioMax, of: 'ratio' },
      note: `${shown(rate)} bulk emails/s meanwhile`,
    });
    add(bench, `${about}, reported, p99`, alone.reported, beside.reported, {
      target: { is: 'at most', value: 1000, of: 'value' },
    });
  }
}

function add(
  bench: Bench,
  name: string,
  alone: readonly number[],
  beside: readonly number[],
  { target, note }: { target: NonNullable<Parameters<Bench['add']>[0]['target']>; note?: string },
): void {
  const middles = `the median ${shown(percentile(beside, 0.5))} ms, ${shown(percentile(alone, 0.5))} without it`;
  bench.add({
    name,
    value: percentile(beside, 0.99),
    unit: 'ms',
    baseline: { name: 'ms without it', value: percentile(alone, 0.99) },
    target,
    note: note === undefined ? middles : `${middles}; ${note}`,
  });
}

/** Creates an installation with two teams, an endpoint each, contacts, and mail servers of their own for each list. */
async function prepare(bench: Bench, { isCaptured = false }: Situation): Promise<Field> {
  const receivers = await bench.helper('./slow-receivers-process.ts');
  const { smtpPort, url, certificate } = await receivers.ask<SlowReceivers>({ say: 'forget', isCaptured });
  bench.dns.set('receiver.test', 'A', ['127.0.0.1']);
  for (let n = 0; n < LISTS; n++) {
    bench.dns.set(`list${n}.reader.test`, 'MX', [`10 mx.list${n}.reader.test`]);
    bench.dns.set(`mx.list${n}.reader.test`, 'A', [`127.0.3.${n + 1}`]);
  }
  const dataDir = bench.folder('beside-bulk');
  const { team_id: teamId, api_key: bulkKey } = initialise(dataDir, bench.dns);
  const made = spawnSync(LAUNCHER, ['teams', 'create', 'Other', '--data', dataDir, '--json'], {
    env: settings({ dns: bench.dns, sinkPort: 1 }),
    encoding: 'utf8',
  });
  if (made.status !== 0) throw new Error(`rasket teams create failed: ${made.stderr}`);
  const { api_key: otherKey } = JSON.parse(made.stdout) as { api_key: string };
  fillContacts(dataDir, teamId, BROADCAST);
  const trusted = path.join(dataDir, 'receiver.pem');
  writeFileSync(trusted, certificate);
  const appliance = await startAppliance({
    dataDir,
    dns: bench.dns,
    sinkPort: smtpPort,
    key: otherKey,
    profileDir: bench.profileDir,
    env: {
      NODE_EXTRA_CA_CERTS: trusted,
      RASKET_NETWORK_HTTP_ALLOW_PRIVATE: '127.0.0.0/8',
      RASKET_PLANS_STANDARD_CONTACT_LIMIT: '10000000',
      RASKET_DELIVERY_CAPTURE: String(isCaptured),
    },
  });
  bench.stopLater(() => appliance.kill());
  const bulk = appliance.callAs(bulkKey);
  await verifiedDomain({ call: bulk }, bench.dns, BULK_DOMAIN);
  await verifiedDomain(appliance, bench.dns, OTHER_DOMAIN);
  for (const call of [bulk, appliance.call])
    await call('POST', '/webhooks', { endpoint: url, events: ['email.sent', 'email.delivered'] });
  await bulk('PATCH', '/team', { postal_address: POSTAL_ADDRESS });
  const filter = { field: 'email', op: 'contains', value: '@' };
  const { id: segmentId } = (await bulk('POST', '/segments', { name: 'Everybody', filter })) as { id: string };
  return { bench, appliance, receivers, bulk, bulkKey, segmentId };
}

interface Waited {
  /** Milliseconds from the POST to the 250. */
  delivered: number[];
  /** Milliseconds from the POST to the webhook. */
  reported: number[];
}

/** Returns a function that sends single mails at a fixed rate, whether or not the last one has arrived. */
async function prepareProbe(
  { appliance, bulk, receivers }: Field,
  by: Situation['by'],
): Promise<(count: number) => Promise<Waited>> {
  const call = by === 'the same team' ? bulk : appliance.call;
  const from = `hello@${by === 'the same team' ? BULK_DOMAIN : OTHER_DOMAIN}`;
  return async (count) => {
    await receivers.ask<SlowReceivers>({ say: 'forget' });
    const began: [address: string, at: number][] = [];
    const posts: Promise<unknown>[] = [];
    for (let n = 0; n < count; n++) {
      const to = `reader${n}@list${n % LISTS}.reader.test`;
      began.push([to, performance.timeOrigin + performance.now()]);
      posts.push(call('POST', '/emails', { from, to, subject: 'Your order', text: 'It is on its way.' }));
      await pause(PROBE_EVERY_MS);
    }
    await Promise.all(posts);
    const late = pause(WAIT_MS_MAX).then((): never => {
      throw new Error(`not all of ${count} emails were delivered and reported in ${WAIT_MS_MAX} ms`);
    });
    const until = receivers.ask<SlowReceivers>({ say: 'until', count });
    const { deliveredAt, reportedAt } = await Promise.race([until, late]);
    const since = (times: Record<string, number>): number[] => began.map(([to, at]) => (times[to] ?? NaN) - at);
    return { delivered: since(deliveredAt), reported: since(reportedAt) };
  };
}

async function progress({ receivers }: Field): Promise<{ accepted: number; at: number }> {
  const { accepted } = await receivers.ask<SlowReceivers>({ say: 'count' });
  return { accepted, at: performance.now() };
}

async function untilAccepted(field: Field, count: number): Promise<void> {
  const limit = performance.now() + WAIT_MS_MAX;
  while ((await progress(field)).accepted < count) {
    if (performance.now() > limit) throw new Error(`fewer than ${count} emails were accepted in ${WAIT_MS_MAX} ms`);
    await pause(50);
  }
}

const from = `hello@${BULK_DOMAIN}`;

function sendBroadcast({ bulk, segmentId }: Field): Promise<unknown> {
  const body = { from, subject: 'News for {{{FIRST_NAME|you}}}', html: HTML, segment_id: segmentId, send: true };
  return bulk('POST', '/broadcasts', body);
}

async function importContacts({ appliance, bulk, bulkKey }: Field): Promise<void> {
  const content = { from, subject: 'Welcome', html: '<p>Welcome to our shop.</p>' };
  const template = (await bulk('POST', '/templates', { name: 'Welcome', alias: 'welcome', ...content })) as {
    id: string;
  };
  await bulk('POST', `/templates/${template.id}/publish`);
  const graph = line(
    { key: 'start', type: 'trigger', config: { event_name: 'rasket:contact.created' } } as { key: string },
    step('welcome', 'send_email', { template: { id: template.id } }),
  );
  await bulk('POST', '/automations', { name: 'Welcome', status: 'enabled', ...graph });
  const rows = Array.from({ length: IMPORTED }, (_, n) => `new${n}@list${n % LISTS}.reader.test,First ${n}`);
  const form = new FormData();
  form.append('start_automations', 'true');
  form.append('file', new Blob([`email,first_name\n${rows.join('\n')}\n`]));
  const headers = { authorization: `Bearer ${bulkKey}`, 'user-agent': 'rasket-bench' };
  const { status } = await fetch(`${appliance.url}/contacts/imports`, { method: 'POST', headers, body: form });
  if (status !== 201) throw new Error(`the import was answered with ${status}`);
}

/** Begins to post batches, which end with the appliance. */
async function postBatches({ bench, appliance, bulkKey }: Field): Promise<void> {
  const load = await bench.helper('./load-process.ts');
  const batch = Array.from({ length: 100 }, (_, n) => ({
    from,
    to: [`x${n}@list${n % LISTS}.reader.test`],
    subject: 'Hello',
    html: HTML,
  }));
  const order = { load: { bodies: [JSON.stringify(batch)], recipients: 1, deliveries: 1 }, connections: 8 };
  const seconds = (PROBES * PROBE_EVERY_MS) / 1000 + 10;
  const posting: Promise<LoadResult> = post(
    load,
    { url: appliance.url, key: bulkKey },
    { ...order, seconds, path: '/emails/batch' },
  );
  // The appliance is killed before the load is over.
  posting.catch(() => undefined);
}
