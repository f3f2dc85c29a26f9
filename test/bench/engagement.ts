import path from 'node:path';
import '../../src/connect-stores.ts';
import { audiencePage, countAudience } from '../../src/features/audience/contacts/audience.store.ts';
import { insertRecipients } from '../../src/features/campaigns/broadcast-recipients/broadcast-recipients.store.ts';
import { recordEmailEvents, type EmailEvent } from '../../src/mail/emails/index.ts';
import { withoutWebhooks } from '../../src/mail/events/index.ts';
import { migrate, openDb, type Db } from '../../src/platform/db/index.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { createIds } from '../../src/platform/ids.ts';
import { parseFilter, type Declared } from '../../src/protocol/contact-filter/index.ts';
import { startPostgres } from '../rig/pg.ts';
import type { Bench } from './bench.ts';
import { median } from './figures.ts';
import { AS_IN_USE } from './postgres.ts';

const CONTACTS = 200_000;
const CHUNK = 2000;
const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 10, 1);
const BEGINS_AT = NOW - 400 * DAY_MS;
const TEAM = '019b7c5e-7c00-7000-8000-000000000001';
const PROPERTY = '019b7c5e-7c00-7000-8000-000000000002';
const BROADCAST = '019b7c5e-7c00-7000-8000-000000000003';
const PAGE = 20;
const SENDS = 2000;
const BATCH = 100;

const ids = createIds(systemClock);

/** Measures filters on engagement against a filter on a property that matches as many contacts, and what recording adds to a send. */
export async function benchEngagement(bench: Bench): Promise<void> {
  const contacts = bench.contacts ?? (bench.quick ? CONTACTS / 10 : CONTACTS);
  const file = path.join(bench.folder('engagement'), 'rasket.db');
  await benchOn(bench, await openDb({ driver: 'better-sqlite3', file, url: '', poolMax: 1 }), {
    contacts,
    on: 'SQLite',
  });
  const { url, stop } = await startPostgres({ settings: AS_IN_USE });
  bench.stopLater(stop);
  await benchOn(bench, await openDb({ driver: 'pg', file: '', url, poolMax: 4 }), { contacts, on: 'PostgreSQL' });
}

interface Side {
  contacts: number;
  on: string;
}

async function benchOn(bench: Bench, db: Db, side: Side): Promise<void> {
  await migrate(db);
  await fill(db, side.contacts);
  await benchFilters(bench, db, side);
  await benchRecording(bench, db, side);
  await db.close();
}

const contactId = (number: number): string => {
  const hex = (BEGINS_AT + number).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${((number * 2_654_435_761) % 2 ** 32).toString(16).padStart(12, '0')}`;
};
/** Spreads what contacts did over all of them: about `percent` of them, chosen by another seed than the others. */
const isAmong = (number: number, percent: number, seed: number): boolean =>
  ((number + 1) * (2 * seed + 40_503)) % 1009 < percent * 10.09;

/** Of all contacts, 30 % have the property, opened within 30 days and opened the broadcast; 5 % clicked within 30 days. */
async function fill(db: Db, contacts: number): Promise<void> {
  await db.insertMany(
    'teams',
    ['id', 'slug', 'name', 'risk_state', 'plan_code', 'created_at'],
    [[TEAM, 'bench', 'Bench', 'active', 'free', NOW]],
  );
  await db.insertMany(
    'contact_properties',
    ['id', 'team_id', 'key', 'key_folded', 'type', 'slot', 'created_at'],
    [[PROPERTY, TEAM, 'plan', 'plan', 'string', 1, NOW]],
  );
  await db.insertMany(
    'broadcasts',
    ['id', 'team_id', 'name', 'status', 'sender', 'subject', 'reply_to_list', 'created_at', 'updated_at'],
    [[BROADCAST, TEAM, 'November', 'sent', 'a@example.org', 'November', '[]', NOW, NOW]],
  );
  for (let from = 0; from < contacts; from += CHUNK) {
    const numbers = Array.from({ length: Math.min(CHUNK, contacts - from) }, (_, i) => from + i);
    await db.tx((tx) => fillChunk(tx, numbers));
  }
  await db.run(db.dialect === 'pg' ? 'vacuum analyze' : 'analyze');
}

async function fillChunk(tx: Parameters<Parameters<Db['tx']>[0]>[0], numbers: readonly number[]): Promise<void> {
  const plan = (number: number): string => (isAmong(number, 30, 1) ? 'pro' : `plan-${number % 7}`);
  await tx.insertMany(
    'contacts',
    [
      'team_id',
      'id',
      'email',
      'email_key',
      'first_name',
      'first_name_key',
      'unsubscribed',
      'properties',
      'created_at',
      'updated_at',
    ],
    numbers.map((number) => {
      const email = `person${number}@example.org`;
      const at = BEGINS_AT + number;
      const properties = JSON.stringify({ 1: plan(number) });
      const isOut = number % 10 === 0 ? 1 : 0;
      return [TEAM, contactId(number), email, email, `First ${number}`, `first ${number}`, isOut, properties, at, at];
    }),
  );
  await tx.insertMany(
    'contact_texts',
    ['property_id', 'value', 'contact_id'],
    numbers.map((number) => [PROPERTY, plan(number), contactId(number)]),
  );
  await tx.insertMany(
    'contact_engagement',
    [
      'team_id',
      'contact_id',
      'first_sent_at',
      'last_sent_at',
      'last_delivered_at',
      'last_opened_at',
      'last_clicked_at',
    ],
    numbers.map((number) => {
      const sentAt = NOW - 2 * DAY_MS;
      const openedAt = isAmong(number, 30, 2) ? NOW - (number % 29) * DAY_MS : NOW - (40 + (number % 300)) * DAY_MS;
      const clickedAt = isAmong(number, 5, 3) ? NOW - (number % 29) * DAY_MS : null;
      return [TEAM, contactId(number), BEGINS_AT, sentAt, sentAt, openedAt, clickedAt];
    }),
  );
  await tx.insertMany(
    'broadcast_recipients',
    ['broadcast_id', 'email_key', 'id', 'contact_id', 'email', 'email_id', 'sent', 'delivered', 'opened'],
    numbers.map((number) => {
      const email = `person${number}@example.org`;
      return [BROADCAST, email, ids.uuid(), contactId(number), email, ids.uuid(), 1, 1, isAmong(number, 30, 4) ? 1 : 0];
    }),
  );
}

const DECLARED: Declared = {
  properties: [{ id: PROPERTY, key: 'plan', type: 'string', slot: 1 }],
  topics: [],
  broadcasts: new Set([BROADCAST]),
  events: new Map(),
  segments: new Map(),
  now: NOW,
};
const PRO = { field: 'properties.plan', op: 'eq', value: 'pro' };
const FILTERS: Readonly<Record<string, object>> = {
  'opened within 30d': { engagement: 'opened', within_days: 30 },
  'not clicked within 30d': { not: [{ engagement: 'clicked', within_days: 30 }] },
  'opened(broadcast)': { engagement: 'opened', broadcast: BROADCAST },
  'not properties.plan = pro': { not: [PRO] },
};

async function benchFilters(bench: Bench, db: Db, { contacts, on }: Side): Promise<void> {
  const baseline = parseFilter(PRO, DECLARED).filter;
  const at = contacts.toLocaleString('en-US');
  for (const [words, input] of Object.entries(FILTERS)) {
    const { filter } = parseFilter(input, DECLARED);
    const isEngagement = words !== 'not properties.plan = pro';
    await compare(bench, `counting ${words} of ${at} contacts, ${on}`, {
      calls: bench.quick ? 3 : 5,
      isEngagement,
      value: () => countAudience(db, TEAM, filter),
      baseline: () => countAudience(db, TEAM, baseline),
    });
    await compare(bench, `page 1 of ${words}, ${on}`, {
      calls: bench.quick ? 5 : 15,
      isEngagement,
      value: () => audiencePage(db, TEAM, { filter }, { limit: PAGE }),
      baseline: () => audiencePage(db, TEAM, { filter: baseline }, { limit: PAGE }),
    });
  }
}

interface Compared {
  calls: number;
  isEngagement: boolean;
  value: () => Promise<unknown>;
  baseline: () => Promise<unknown>;
}

/** Measures both in turn, so that disturbances affect both. */
async function compare(bench: Bench, name: string, { calls, isEngagement, value, baseline }: Compared): Promise<void> {
  const rounds = { value: [] as number[], baseline: [] as number[] };
  for (let call = -1; call < calls; call++) {
    const took = { value: await measureTime(value), baseline: await measureTime(baseline) };
    if (call < 0) continue;
    rounds.value.push(took.value);
    rounds.baseline.push(took.baseline);
  }
  bench.add({
    name,
    value: median(rounds.value),
    unit: 'ms',
    baseline: { name: 'ms, properties.plan = pro', value: median(rounds.baseline) },
    ...(isEngagement && { target: { is: 'at most' as const, value: 3, of: 'ratio' as const } }),
    rounds,
  });
}

async function measureTime(work: () => Promise<unknown>): Promise<number> {
  const beganAt = performance.now();
  await work();
  return performance.now() - beganAt;
}

/** Records sends and deliveries of a broadcast, with and without the engagement of its contacts, in turn. */
async function benchRecording(bench: Bench, db: Db, { on }: Side): Promise<void> {
  const quiet = withoutWebhooks(db);
  const rounds = { value: [] as number[], baseline: [] as number[] };
  for (let round = -1; round < (bench.quick ? 3 : 5); round++) {
    const took = { value: await recordSends(quiet, true), baseline: await recordSends(quiet, false) };
    if (round < 0) continue;
    rounds.value.push(took.value);
    rounds.baseline.push(took.baseline);
  }
  bench.add({
    name: `recording the send and the delivery of 1,000 emails of a broadcast, ${on}`,
    value: median(rounds.value),
    unit: 'ms',
    baseline: { name: 'ms without engagement', value: median(rounds.baseline) },
    rounds,
  });
}

/** Returns the time for 1,000 emails, in batches of 100 as the queue settles them. */
async function recordSends(db: Db, isEngaged: boolean): Promise<number> {
  const broadcast = ids.uuid();
  const emails = Array.from({ length: SENDS }, (_, i) => {
    const contact = contactId(i * 7);
    return { id: ids.uuid(), contact, address: `${ids.uuid()}@example.org` };
  });
  await db.tx((tx) =>
    insertRecipients(
      tx,
      emails.map(({ id, contact, address }) => ({
        broadcast_id: broadcast,
        email_key: address,
        id: ids.uuid(),
        contact_id: contact,
        email: address,
        email_id: id,
        excluded: null,
      })),
    ),
  );
  let ms = 0;
  for (let from = 0; from < SENDS; from += BATCH) {
    const batch = emails.slice(from, from + BATCH);
    for (const type of ['email.sent', 'email.delivered'] as const) {
      const events = batch.map(({ id, contact, address }): EmailEvent => {
        const email = {
          id,
          team_id: TEAM,
          domain_id: TEAM,
          broadcast_id: broadcast,
          contact_id: isEngaged ? contact : null,
          is_bulk: 1,
        };
        const event = { email, at: NOW + from, isFirst: true };
        return type === 'email.sent' ? { ...event, type } : { ...event, type, data: { to: [address] } };
      });
      ms += await measureTime(() => db.tx((tx) => recordEmailEvents(tx, ids, events)));
    }
  }
  return (ms / SENDS) * 1000;
}
