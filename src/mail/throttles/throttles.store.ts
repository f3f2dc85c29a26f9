import { textsIn, type Db, type Executor } from '../../platform/db/index.ts';
import type { MailStream, Throttle } from '../deliver/index.ts';

export interface ThrottleRow {
  id: string;
  /** The address or relay that mail leaves by; empty: all of them. */
  source: string;
  /** Empty: the mail servers in `servers`. */
  provider: string;
  servers: string;
  /** Empty: all mail. Without provider and servers, the mail of the domain is limited everywhere. */
  sender_domain: string;
  /** Empty: all mail. */
  stream: MailStream | '';
  kind: Throttle['kind'];
  value: number | null;
  started_at: number;
  until_at: number;
  /** How often the limit was raised since it began. */
  step: number;
  /** Empty: set by an operator. BY_BREAKER: set by a circuit breaker. */
  reaction: string;
  reason: string;
}

const COLUMNS = [
  'id',
  'source',
  'provider',
  'servers',
  'sender_domain',
  'stream',
  'kind',
  'value',
  'started_at',
  'until_at',
  'step',
  'reaction',
  'reason',
] as const;

/** The reaction of limits of circuit breakers. They hold until their breaker changes or ends them. */
export const BY_BREAKER = 'breaker';

/** Reports whether a limit holds. One of a circuit breaker holds although its time is over, so that no mail slips through. */
export const isInForce = ({ reaction, until_at: until }: Pick<ThrottleRow, 'reaction' | 'until_at'>, now: number) =>
  reaction === BY_BREAKER || until > now;

/** Limit of the rows that are read; far more than there are providers. */
const THROTTLES_MAX = 5000;

export async function listThrottles(db: Executor): Promise<ThrottleRow[]> {
  // Those of providers and operators come first: somebody may run any number of other mail servers.
  const rows = await db.all<ThrottleRow>(
    `select * from throttles
      order by case when reaction in ('', '${BY_BREAKER}') or provider <> '' then 0 else 1 end, until_at desc limit ?`,
    [THROTTLES_MAX],
  );
  return rows.map(readRow);
}

const readRow = (row: ThrottleRow): ThrottleRow => ({
  ...row,
  value: row.value === null ? null : Number(row.value),
  started_at: Number(row.started_at),
  until_at: Number(row.until_at),
});

/**
 * Stores a throttle. Of two of the same kind at the same place that replies brought about, the lower value and the later end
 * hold, because two processes may store one each; that of an operator or a circuit breaker replaces what was there.
 */
export async function putThrottle(db: Executor, row: ThrottleRow): Promise<void> {
  const [least, greatest] = db.dialect === 'pg' ? ['least', 'greatest'] : ['min', 'max'];
  const setters = `('', '${BY_BREAKER}')`;
  const isSet = `excluded.reaction in ${setters} or throttles.reaction in ${setters}`;
  const updates = [
    `value = case when ${isSet} then excluded.value else ${least}(throttles.value, excluded.value) end`,
    `until_at = case when ${isSet} then excluded.until_at else ${greatest}(throttles.until_at, excluded.until_at) end`,
    ...['started_at', 'step', 'reaction', 'reason'].map((column) => `${column} = excluded.${column}`),
  ];
  await db.insertMany(
    'throttles',
    [...COLUMNS],
    [COLUMNS.map((column) => row[column])],
    `on conflict (source, provider, servers, sender_domain, stream, kind) do update set ${updates.join(', ')}`,
  );
}

/**
 * Replaces the limits of all circuit breakers, of which each place has one at most. Those that are as they should be are not
 * written again. Returns the number of limits that were added, changed or removed.
 */
export async function replaceBreakerThrottles(tx: Executor, wanted: readonly ThrottleRow[]): Promise<number> {
  const toKey = (row: ThrottleRow): string => `${row.sender_domain}\n${row.provider}\n${row.stream}`;
  const toText = ({ kind, value, until_at: until, reason }: ThrottleRow): string =>
    `${kind} ${value} ${until} ${reason}`;
  const stored = await tx.all<ThrottleRow>('select * from throttles where reaction = ?', [BY_BREAKER]);
  const before = new Map(stored.map((row) => [toKey(row), readRow(row)]));
  const after = new Map(wanted.map((row) => [toKey(row), row]));
  let changed = 0;
  for (const [key, row] of before) {
    const next = after.get(key);
    if (next && toText(next) === toText(row)) continue;
    await tx.run('delete from throttles where id = ?', [row.id]);
    changed += next ? 0 : 1;
  }
  for (const [key, row] of after) {
    const known = before.get(key);
    if (known && toText(known) === toText(row)) continue;
    await putThrottle(tx, row);
    changed += 1;
  }
  return changed;
}

/** Reports whether any limit of a circuit breaker is stored. */
export const hasBreakerThrottles = async (db: Executor): Promise<boolean> =>
  (await db.get('select 1 as one from throttles where reaction = ? limit 1', [BY_BREAKER])) !== undefined;

/** Replaces a throttle whose time is over by its next step, or removes it; only one of several nodes does so. */
export async function advanceThrottle(db: Executor, row: ThrottleRow, next: ThrottleRow | undefined): Promise<void> {
  const removed = await db.run('delete from throttles where id = ? and until_at = ? and kind = ?', [
    row.id,
    row.until_at,
    row.kind,
  ]);
  if (removed === 1 && next) await putThrottle(db, next);
}

/**
 * Lets throttles whose beginning is in the future begin now and last as long as they were meant to, because a clock that was
 * ahead wrote their times. Clocks of nodes differ a little: a beginning before `latest` is none of these.
 */
export function restartThrottles(db: Executor, { now, latest }: { now: number; latest: number }): Promise<number> {
  return db.run('update throttles set until_at = until_at - started_at + ?, started_at = ? where started_at > ?', [
    now,
    now,
    latest,
  ]);
}

/** Removes the throttles of a provider, or of mail servers without one, except those of circuit breakers; returns how many. */
export function removeThrottles(
  db: Executor,
  { provider, servers, kind }: { provider: string; servers: string; kind?: Throttle['kind'] | undefined },
): Promise<number> {
  const ofKind = kind === undefined ? '' : ' and kind = ?';
  return db.run(`delete from throttles where provider = ? and servers = ? and reaction <> '${BY_BREAKER}'${ofKind}`, [
    provider,
    servers,
    ...(kind === undefined ? [] : [kind]),
  ]);
}

export interface RecipientDomain {
  name: string;
  provider: string;
  servers: string;
}

export async function putRecipientDomains(
  db: Executor,
  domains: readonly RecipientDomain[],
  now: number,
): Promise<void> {
  if (domains.length === 0) return;
  const ordered = domains.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  await db.insertMany(
    'recipient_domains',
    ['name', 'provider', 'servers', 'seen_at'],
    ordered.map(({ name, provider, servers }) => [name, provider, servers, now]),
    'on conflict (name) do update set provider = excluded.provider, servers = excluded.servers, seen_at = excluded.seen_at',
  );
}

export function recipientDomainsAmong(db: Executor, names: readonly string[]): Promise<RecipientDomain[]> {
  if (names.length === 0) return Promise.resolve([]);
  const among = textsIn(db.dialect, 'name', names);
  return db.all(`select name, provider, servers from recipient_domains where ${among.sql}`, [among.value]);
}

export interface ProviderCount {
  source: string;
  provider: string;
  servers: string;
  accepted: number;
  deferred: number;
  bounced: number;
}

const COUNTS = ['accepted', 'deferred', 'bounced'] as const;

export async function addProviderCounts(
  db: Executor,
  counts: readonly ProviderCount[],
  periodAt: number,
): Promise<void> {
  if (counts.length === 0) return;
  const toKey = (one: ProviderCount): string => `${one.provider}\n${one.servers}\n${one.source}`;
  const ordered = counts.toSorted((a, b) => (toKey(a) < toKey(b) ? -1 : 1));
  const adds = COUNTS.map((name) => `${name} = provider_counts.${name} + excluded.${name}`);
  await db.insertMany(
    'provider_counts',
    ['source', 'provider', 'servers', 'period_at', ...COUNTS],
    ordered.map((one) => [one.source, one.provider, one.servers, periodAt, ...COUNTS.map((name) => one[name])]),
    `on conflict (provider, servers, source, period_at) do update set ${adds.join(', ')}`,
  );
}

/** The outcomes of some time by provider, or by mail servers without one; `recent`: all of the given period. */
export type ProviderTraffic = Omit<ProviderCount, 'source'> & { recent: number };

/** Sums the outcomes since a time; those with most mail come first. */
export async function providerTraffic(
  db: Executor,
  { since, periodAt, max }: { since: number; periodAt: number; max: number },
): Promise<ProviderTraffic[]> {
  const sums = COUNTS.map((name) => `sum(${name}) as ${name}`);
  const rows = await db.all<ProviderTraffic>(
    `select provider, servers, ${sums.join(', ')},
        sum(case when period_at = ? then ${COUNTS.join(' + ')} else 0 end) as recent
      from provider_counts where period_at >= ?
      group by provider, servers order by sum(${COUNTS.join(' + ')}) desc limit ?`,
    [periodAt, Math.min(since, periodAt), max],
  );
  return rows.map((row) => ({
    ...row,
    accepted: Number(row.accepted),
    deferred: Number(row.deferred),
    bounced: Number(row.bounced),
    recent: Number(row.recent),
  }));
}

/** Connections of a process to a provider, or to mail servers without one. */
export interface ConnectionRow {
  source: string;
  provider: string;
  servers: string;
  connections: number;
  connections_max: number | null;
}

/** Rows of processes that ended without removing them are removed after this time. */
const CONNECTIONS_KEPT_MS = 3_600_000;

/** Replaces the connections that a process has recorded. */
export async function putConnections(
  tx: Executor,
  nodeId: string,
  rows: readonly ConnectionRow[],
  now: number,
): Promise<void> {
  await tx.run('delete from provider_connections where node_id = ? or seen_at < ?', [
    nodeId,
    now - CONNECTIONS_KEPT_MS,
  ]);
  if (rows.length === 0) return;
  const columns = ['source', 'provider', 'servers', 'connections', 'connections_max'] as const;
  await tx.insertMany(
    'provider_connections',
    ['node_id', ...columns, 'seen_at'],
    rows.map((row) => [nodeId, ...columns.map((column) => row[column]), now]),
  );
}

/** Lists the connections of all processes that were recorded since a time. */
export const connectionsSince = (db: Executor, since: number): Promise<ConnectionRow[]> =>
  db.all(
    'select source, provider, servers, connections, connections_max from provider_connections where seen_at >= ?',
    [since],
  );

/** Reports whether mail went, or is limited, to these mail servers without a provider. */
export async function knowsReceiver(db: Executor, servers: string): Promise<boolean> {
  const sql = `select 1 as one where exists (select 1 from recipient_domains where provider = '' and servers = ?)
    or exists (select 1 from provider_counts where provider = '' and servers = ?)
    or exists (select 1 from throttles where provider = '' and servers = ?)`;
  return (await db.get(sql, [servers, servers, servers])) !== undefined;
}

/** Forgets what nobody asks about any more. */
export async function forgetTraffic(db: Executor, before: { counts: number; domains: number }): Promise<void> {
  await db.run('delete from provider_counts where period_at < ?', [before.counts]);
  await db.run('delete from recipient_domains where seen_at < ?', [before.domains]);
}

const NOW = 'cast(extract(epoch from clock_timestamp()) * 1000 as bigint)';

/** Records that this process delivers, and lists all that do, by the clock of the database; for PostgreSQL. */
export async function hearNode(db: Db, id: string, liveMs: number): Promise<string[]> {
  await db.txUnsynced(async (tx) => {
    await tx.run(
      `insert into delivering_nodes (id, heard_at) values (?, ${NOW}) on conflict (id) do update set heard_at = excluded.heard_at`,
      [id],
    );
    await tx.run(`delete from delivering_nodes where heard_at < ${NOW} - 10 * ?::bigint`, [liveMs]);
  });
  const rows = await db.all<{ id: string }>(
    `select id from delivering_nodes where heard_at > ${NOW} - ?::bigint order by id`,
    [liveMs],
  );
  return rows.map(({ id: one }) => one);
}

export const forgetNode = (db: Db, id: string): Promise<number> =>
  db.txUnsynced((tx) => tx.run('delete from delivering_nodes where id = ?', [id]));
