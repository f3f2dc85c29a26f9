import Sqlite from 'better-sqlite3';
import { createReadStream, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import Papa from 'papaparse';
import { openDb, type Db } from '../../src/platform/db/index.ts';
import { parseFilter, type Filter } from '../../src/protocol/contact-filter/index.ts';
import { audiencePage, countAudience } from '../../src/features/audience/contacts/audience.store.ts';
import { initialise, startAppliance, type Appliance } from './appliance.ts';
import type { Bench } from './bench.ts';
import { median } from './figures.ts';

const SMALL = 10_000;
const LARGE = 1_000_000;
const IMPORTED = 200_000;
const CALLS = 60;
const COUNTS = 5;
/** What a filter of the bench may name besides properties. */
const DECLARED = { topics: [], broadcasts: new Set<string>(), events: new Map(), segments: new Map(), now: Date.now() };
const PROPERTY = '019b7c5e-7c00-7000-8000-000000000001';
const BEGINS_AT = Date.UTC(2026, 0, 1);

export async function benchAudience(bench: Bench): Promise<void> {
  await benchImport(bench);
  const amount = bench.quick ? LARGE / 5 : LARGE;
  const at = bench.quick ? '200 thousand' : '1 million';
  const large = makeSide(bench, amount);
  await benchSegment(bench, large, at);
  await benchPages(bench, { small: makeSide(bench, SMALL), large, at });
}

/** Imports a realistic file, compared with parsing alone. */
async function benchImport(bench: Bench): Promise<void> {
  const rows = bench.quick ? IMPORTED / 10 : IMPORTED;
  const dataDir = bench.folder('import');
  const { api_key: key } = initialise(dataDir, bench.dns);
  const appliance = await startAppliance({ dataDir, dns: bench.dns, sinkPort: 1, key });
  const file = path.join(dataDir, 'contacts.csv');
  const line = (i: number) => `person${i}@example.org,First ${i},Last ${i},plan-${i % 7},${i % 1000}`;
  writeFileSync(
    file,
    `email,first_name,last_name,plan,seats\n${Array.from({ length: rows }, (_, i) => line(i)).join('\n')}\n`,
  );
  const baseline = median([await parseAlone(file, rows), await parseAlone(file, rows), await parseAlone(file, rows)]);
  const form = new FormData();
  form.append(
    'column_map',
    JSON.stringify({ properties: { plan: 'plan', seats: { column: 'seats', type: 'number' } } }),
  );
  form.append('file', new Blob([readFileSync(file)]));
  const headers = { authorization: `Bearer ${key}`, 'user-agent': 'rasket-bench' };
  const answer = await fetch(`${appliance.url}/contacts/imports`, { method: 'POST', headers, body: form });
  const { id } = (await answer.json()) as { id: string };
  const beganAt = performance.now();
  for (;;) {
    const seen = (await (await fetch(`${appliance.url}/contacts/imports/${id}`, { headers })).json()) as {
      status: string;
    };
    if (seen.status === 'completed') break;
    await wait(20);
  }
  bench.add({
    name: `import of ${rows} rows with two properties`,
    value: rows / ((performance.now() - beganAt) / 1000),
    unit: 'rows/s',
    baseline: { name: 'rows/s, papaparse alone', value: baseline },
    target: { is: 'at least', value: 0.3, of: 'ratio' },
  });
  await appliance.kill();
}

async function parseAlone(file: string, rows: number): Promise<number> {
  const beganAt = performance.now();
  await new Promise<void>((done, fail) => {
    const parser = createReadStream(file).pipe(Papa.parse(Papa.NODE_STREAM_INPUT, { header: true }));
    parser
      .on('data', () => undefined)
      .on('end', done)
      .on('error', fail);
  });
  return rows / ((performance.now() - beganAt) / 1000);
}

interface Side {
  dataDir: string;
  teamId: string;
  key: string;
}

/** Creates contacts of which every fourth is on the plan, every tenth has unsubscribed and half are of one domain. */
function makeSide(bench: Bench, contacts: number): Side {
  const dataDir = bench.folder('audience');
  const { team_id: teamId, api_key: key } = initialise(dataDir, bench.dns);
  const database = new Sqlite(path.join(dataDir, 'rasket.db'));
  database.pragma('synchronous = off');
  database
    .prepare(
      `insert into contact_properties (id, team_id, key, key_folded, type, slot, created_at) values (?, ?, 'plan', 'plan', 'string', 1, ?)`,
    )
    .run(PROPERTY, teamId, BEGINS_AT);
  const contact = database.prepare(
    `insert into contacts (team_id, id, email, email_key, first_name, first_name_key, unsubscribed, properties, created_at, updated_at)
      values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const value = database.prepare('insert into contact_texts (property_id, value, contact_id) values (?, ?, ?)');
  database.transaction(() => {
    for (let i = 0; i < contacts; i++) {
      const at = BEGINS_AT + i;
      const id = `${at
        .toString(16)
        .padStart(12, '0')
        .replace(/^(.{8})/, '$1-')}-7000-8000-000000000000`;
      const email = `person${i}@example.${i % 2 === 0 ? 'org' : 'net'}`;
      const plan = i % 4 === 0 ? 'pro' : `plan-${i % 7}`;
      contact.run(
        teamId,
        id,
        email,
        email,
        `First ${i}`,
        `first ${i}`,
        i % 10 === 0 ? 1 : 0,
        `{"1":"${plan}"}`,
        at,
        at,
      );
      value.run(PROPERTY, plan, id);
    }
  })();
  database.exec('analyze');
  database.close();
  return { dataDir, teamId, key };
}

const BARE = `from contact_texts i cross join contacts c where i.property_id = ? and i.value = 'pro' and c.team_id = ?
  and c.id = i.contact_id and c.unsubscribed = 0 and instr(c.email_key, '@example.org') > 0`;

async function benchSegment(bench: Bench, { dataDir, teamId }: Side, at: string): Promise<void> {
  const db = await openDb({ driver: 'better-sqlite3', file: path.join(dataDir, 'rasket.db'), url: '', poolMax: 1 });
  const conditions = [
    { field: 'properties.plan', op: 'eq', value: 'Pro' },
    { field: 'unsubscribed', op: 'eq', value: false },
    { field: 'email', op: 'contains', value: '@example.org' },
  ];
  const properties = [{ id: PROPERTY, key: 'plan', type: 'string' as const, slot: 1 }];
  const { filter } = parseFilter({ all: conditions }, { ...DECLARED, properties });
  await compare(bench, `counting a segment of ${at}, three conditions`, {
    calls: COUNTS,
    ours: () => countAudience(db, teamId, filter),
    bare: () => db.get(`select count(*) as contacts, sum(c.unsubscribed) as unsubscribed ${BARE}`, [PROPERTY, teamId]),
  });
  await compare(bench, `a page of that segment`, {
    calls: CALLS,
    ours: () => audiencePage(db, teamId, { filter }, { limit: 20 }),
    bare: () => barePage(db, teamId),
  });
  await rarely(bench, { db, teamId, at });
  await db.close();
}

const barePage = (db: Db, teamId: string) =>
  db.all(
    `select c.id, c.email, c.first_name, c.last_name, c.unsubscribed, c.created_at ${BARE} order by i.contact_id desc limit 20`,
    [PROPERTY, teamId],
  );

/** Measures a rare value: its index is read, and no other row. */
async function rarely(bench: Bench, { db, teamId, at }: { db: Db; teamId: string; at: string }): Promise<void> {
  const place = { of: 'property', propertyId: PROPERTY, slot: 1 } as const;
  const filter: Filter = { kind: 'text', place, op: 'in', values: ['nobody', 'plan-99'] };
  const ms = await measureTimes(CALLS, () => countAudience(db, teamId, filter));
  bench.add({ name: `counting who has a value that nobody has, at ${at}`, value: median(ms), unit: 'ms' });
}

interface Compared {
  calls: number;
  ours: () => Promise<unknown>;
  bare: () => Promise<unknown>;
}

/** Measures both in turn, so that disturbances affect both. */
async function compare(bench: Bench, name: string, { calls, ours, bare }: Compared): Promise<void> {
  const rounds = { value: [] as number[], baseline: [] as number[] };
  for (let call = -2; call < calls; call++) {
    const [value = NaN] = await measureTimes(1, ours);
    const [baseline = NaN] = await measureTimes(1, bare);
    if (call < 0) continue;
    rounds.value.push(value);
    rounds.baseline.push(baseline);
  }
  bench.add({
    name,
    value: median(rounds.value),
    unit: 'ms',
    baseline: { name: 'ms, bare SQL', value: median(rounds.baseline) },
    target: { is: 'at most', value: 1.3, of: 'ratio' },
    rounds,
  });
}

async function measureTimes(calls: number, work: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let call = 0; call < calls; call++) {
    const beganAt = performance.now();
    await work();
    times.push(performance.now() - beganAt);
  }
  return times;
}

async function benchPages(bench: Bench, { small, large, at }: { small: Side; large: Side; at: string }): Promise<void> {
  const sides: { appliance: Appliance; key: string; ms: number[] }[] = [];
  for (const { dataDir, key } of [small, large]) {
    const appliance = await startAppliance({ dataDir, dns: bench.dns, sinkPort: 1, key, roles: 'http' });
    bench.stopLater(() => appliance.kill());
    sides.push({ appliance, key, ms: [] });
  }
  for (let call = -4; call < CALLS; call++) {
    for (const { appliance, key, ms } of sides) {
      const headers = { authorization: `Bearer ${key}`, 'user-agent': 'rasket-bench' };
      const [took = NaN] = await measureTimes(1, async () =>
        (await fetch(`${appliance.url}/contacts?limit=20`, { headers })).text(),
      );
      if (call >= 0) ms.push(took);
    }
  }
  bench.add({
    name: `a page of contacts at ${at}`,
    value: median(sides[1]?.ms ?? []),
    unit: 'ms',
    baseline: { name: 'ms at 10 thousand', value: median(sides[0]?.ms ?? []) },
    target: { is: 'at most', value: 1.5, of: 'ratio' },
  });
}
