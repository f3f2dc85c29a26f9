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
const CHUNK = 20_000;
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
  const write = buildWriter(db.dialect);
  for (let from = 0; from < contacts; from += CHUNK) {
    const until = Math.min(contacts, from + CHUNK);
    await db.tx(async (tx) => {
      for (const sql of write) await tx.run(sql, [from, until]);
    });
  }
  await db.run(db.dialect === 'pg' ? 'vacuum analyze' : 'analyze');
}

/** Returns the statements that write the contacts with numbers from the first value to below the second. */
function buildWriter(dialect: Db['dialect']): string[] {
  const isPg = dialect === 'pg';
  const numbers = isPg
    ? '(select generate_series(?::bigint, ?::bigint - 1) as i) as n'
    : '(with recursive n(i) as (select cast(? as integer) union all select i + 1 from n where i + 1 < ?) select i from n) as n';
  const asId = (hex: string, kind: string): string => {
    const digits = isPg ? `lpad(to_hex(${BEGINS_AT} + n.i), 12, '0')` : `printf('%012x', ${BEGINS_AT} + n.i)`;
    const tail = isPg ? `lpad(to_hex(${hex}), 12, '0')` : `printf('%012x', ${hex})`;
    const text = `substr(${digits}, 1, 8) || '-' || substr(${digits}, 9, 4) || '-7000-${kind}-' || ${tail}`;
    return isPg ? `(${text})::uuid` : `(${text})`;
  };
  const contact = asId(SPREAD, '8000');
  const email = "'person' || n.i || '@example.org'";
  const plan = `case when ${isAmong(30, 1)} then 'pro' else 'plan-' || n.i % 7 end`;
  const team = isPg ? `'${TEAM}'::uuid` : `'${TEAM}'`;
  const property = isPg ? `'${PROPERTY}'::uuid` : `'${PROPERTY}'`;
  const broadcast = isPg ? `'${BROADCAST}'::uuid` : `'${BROADCAST}'`;
  const properties = `'{"1":"' || (${plan}) || '"}'`;
  const sentAt = NOW - 2 * DAY_MS;
  return [
    `insert into contacts (team_id, id, email, email_key, first_name, first_name_key, unsubscribed, properties, created_at, updated_at)
      select ${team}, ${contact}, ${email}, ${email}, 'First ' || n.i, 'first ' || n.i, case when n.i % 10 = 0 then 1 else 0 end,
        ${isPg ? `(${properties})::jsonb` : properties}, ${BEGINS_AT} + n.i, ${BEGINS_AT} + n.i from ${numbers}`,
    `insert into contact_texts (property_id, value, contact_id) select ${property}, ${plan}, ${contact} from ${numbers}`,
    `insert into contact_engagement (team_id, contact_id, first_sent_at, last_sent_at, last_delivered_at, last_opened_at, last_clicked_at)
      select ${team}, ${contact}, ${BEGINS_AT}, ${sentAt}, ${sentAt},
        case when ${isAmong(30, 2)} then ${NOW} - (n.i % 29) * ${DAY_MS} else ${NOW} - (40 + n.i % 300) * ${DAY_MS} end,
        case when ${isAmong(5, 3)} then ${NOW} - (n.i % 29) * ${DAY_MS} end from ${numbers}`,
    `insert into broadcast_recipients (broadcast_id, email_key, id, contact_id, email, email_id, sent, delivered, opened)
      select ${broadcast}, ${email}, ${asId(SPREAD, '9000')}, ${contact}, ${email}, ${asId(SPREAD, 'a000')}, 1, 1,
        case when ${isAmong(30, 4)} then 1 else 0 end from ${numbers}`,
  ];
}

/** The last digits of ids, the same for a contact in all tables. */
const SPREAD = '(n.i * 2654435761) % 4294967296';
/** Spreads what contacts did over all of them: about `percent` of them, chosen by another seed than the others. */
const isAmong = (percent: number, seed: number): string =>
  `((n.i + 1) * ${2 * seed + 40_503}) % 1009 < ${Math.round(percent * 10.09)}`;

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
  const rows = await db.all<{ id: string }>('select id from contacts where team_id = ? order by email_key limit ?', [
    TEAM,
    SENDS,
  ]);
  const contactIds = rows.map(({ id }) => id);
  const rounds = { value: [] as number[], baseline: [] as number[] };
  for (let round = -1; round < (bench.quick ? 3 : 5); round++) {
    const took = {
      value: await recordSends(quiet, contactIds, true),
      baseline: await recordSends(quiet, contactIds, false),
    };
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
async function recordSends(db: Db, contactIds: readonly string[], isEngaged: boolean): Promise<number> {
  const broadcast = ids.uuid();
  const emails = contactIds.map((contact) => ({ id: ids.uuid(), contact, address: `${ids.uuid()}@example.org` }));
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
  for (let from = 0; from < emails.length; from += BATCH) {
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
  return (ms / emails.length) * 1000;
}
