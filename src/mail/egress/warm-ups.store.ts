import type { Db, Executor } from '../../platform/db/index.ts';
import type { WarmUpDay } from './schedule.ts';

export interface WarmUpRow {
  source: string;
  state: 'warming' | 'paused';
  started_at: number;
  changed_at: number;
}

export type WarmUpDayRow = WarmUpDay & { source: string; provider: string };

const DAY_COLUMNS = [
  'source',
  'provider',
  'level',
  'day',
  'used',
  'hour',
  'hour_used',
  'judged',
  'days_left',
  'bad_days',
] as const;

const UPDATED = DAY_COLUMNS.filter((column) => column !== 'source' && column !== 'provider');

export async function listWarmUps(db: Executor): Promise<WarmUpRow[]> {
  const rows = await db.all<WarmUpRow>(`select * from warm_ups where state <> 'ended' order by source`, []);
  return rows.map((row) => ({ ...row, started_at: Number(row.started_at), changed_at: Number(row.changed_at) }));
}

/** Starts a warm-up, or continues or pauses it. */
export async function putWarmUp(
  db: Executor,
  { source, state, now }: Pick<WarmUpRow, 'source' | 'state'> & { now: number },
): Promise<void> {
  await db.insertMany(
    'warm_ups',
    ['source', 'state', 'started_at', 'changed_at'],
    [[source, state, now, now]],
    'on conflict (source) do update set state = excluded.state, changed_at = excluded.changed_at',
  );
}

/** Starts the warm-up of a source that never had one. */
export const startFirstWarmUp = (db: Db, source: string, now: number): Promise<unknown> =>
  db.tx((tx) =>
    tx.insertMany(
      'warm_ups',
      ['source', 'state', 'started_at', 'changed_at'],
      [[source, 'warming', now, now]],
      'on conflict (source) do nothing',
    ),
  );

/** Ends a warm-up, so that the source has no limits. That it had one is kept, so that the settings do not start it again. */
export async function endWarmUp(tx: Executor, source: string, now: number): Promise<number> {
  const [warmUp] = (await listWarmUps(tx)).filter((row) => row.source === source);
  if (!warmUp) return 0;
  await removeWarmUp(tx, source);
  const { started_at: startedAt } = warmUp;
  const columns = ['source', 'state', 'started_at', 'changed_at'];
  await tx.insertMany('warm_ups', columns, [[source, 'ended', startedAt, now]]);
  return 1;
}

/** Removes a warm-up with all that is known of it. */
export async function removeWarmUp(tx: Executor, source: string): Promise<number> {
  await tx.run('delete from warm_up_days where source = ?', [source]);
  await tx.run('delete from warm_up_refusals where source = ?', [source]);
  return tx.run('delete from warm_ups where source = ?', [source]);
}

export async function listWarmUpDays(db: Executor, source?: string): Promise<WarmUpDayRow[]> {
  const whose = source === undefined ? '' : 'where source = ?';
  const rows = await db.all<WarmUpDayRow>(
    `select ${DAY_COLUMNS.join(', ')} from warm_up_days ${whose} order by source, provider`,
    source === undefined ? [] : [source],
  );
  return rows.map(toDayRow);
}

/** Reads the warm-up of a source at a provider and locks it until the transaction ends. */
export async function lockWarmUpDay(
  tx: Executor,
  { source, provider, fresh }: { source: string; provider: string; fresh: WarmUpDay },
): Promise<WarmUpDayRow> {
  await tx.insertMany(
    'warm_up_days',
    [...DAY_COLUMNS],
    [DAY_COLUMNS.map((column) => ({ ...fresh, source, provider })[column])],
    'on conflict (source, provider) do nothing',
  );
  const lock = tx.dialect === 'pg' ? 'for update' : '';
  const row = await tx.get<WarmUpDayRow>(
    `select ${DAY_COLUMNS.join(', ')} from warm_up_days where source = ? and provider = ? ${lock}`,
    [source, provider],
  );
  if (!row) throw new Error('row of warm_up_days missing after insert');
  return toDayRow(row);
}

export async function updateWarmUpDay(tx: Executor, row: WarmUpDayRow): Promise<void> {
  await tx.run(
    `update warm_up_days set ${UPDATED.map((column) => `${column} = ?`).join(', ')} where source = ? and provider = ?`,
    [...UPDATED.map((column) => row[column]), row.source, row.provider],
  );
}

/** Gives back messages that were reserved in an hour and not sent. */
export const returnReserved = (
  db: Db,
  { source, provider, count, hour }: { source: string; provider: string; count: number; hour: number },
): Promise<number> =>
  db.txUnsynced((tx) =>
    tx.run(
      `update warm_up_days set used = case when used > ? then used - ? else 0 end,
          hour_used = case when hour <> ? then hour_used when hour_used > ? then hour_used - ? else 0 end
        where source = ? and provider = ? and day = ?`,
      [count, count, hour, count, count, source, provider, Math.floor(hour / 24)],
    ),
  );

/** A day of the warm-up of a source at a provider. */
export interface DayKey {
  source: string;
  provider: string;
  day: number;
}

/** Recipients of one receiver. */
export interface Refusals {
  mistrusted: number;
  bounced: number;
}

export const addRefusals = (
  db: Db,
  { source, provider, day, receiver, mistrusted, bounced }: DayKey & Refusals & { receiver: string },
): Promise<unknown> =>
  db.txUnsynced((tx) =>
    tx.insertMany(
      'warm_up_refusals',
      ['source', 'provider', 'day', 'receiver', 'mistrusted', 'bounced'],
      [[source, provider, day, receiver, mistrusted, bounced]],
      `on conflict (source, provider, day, receiver) do update set
        mistrusted = warm_up_refusals.mistrusted + excluded.mistrusted, bounced = warm_up_refusals.bounced + excluded.bounced`,
    ),
  );

/** Lists the refusals of a day, for each receiver. */
export async function listRefusals(db: Executor, { source, provider, day }: DayKey): Promise<Refusals[]> {
  const rows = await db.all<Refusals>(
    'select mistrusted, bounced from warm_up_refusals where source = ? and provider = ? and day = ?',
    [source, provider, day],
  );
  return rows.map(({ mistrusted, bounced }) => ({ mistrusted: Number(mistrusted), bounced: Number(bounced) }));
}

/** Removes the refusals of all days but one. */
export const removeOtherRefusals = (tx: Executor, { source, provider, day }: DayKey): Promise<number> =>
  tx.run('delete from warm_up_refusals where source = ? and provider = ? and day <> ?', [source, provider, day]);

const toDayRow = (row: WarmUpDayRow): WarmUpDayRow => ({
  ...row,
  level: Number(row.level),
  day: Number(row.day),
  used: Number(row.used),
  hour: Number(row.hour),
  hour_used: Number(row.hour_used),
  days_left: Number(row.days_left),
  bad_days: Number(row.bad_days),
});
