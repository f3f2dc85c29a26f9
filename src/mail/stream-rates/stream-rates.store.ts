import { isRateHigh, SEVERAL } from '../../contract/index.ts';
import { chooseShard } from '../events/index.ts';
import type { Config } from '../../platform/config/index.ts';
import type { Db, Executor, Value } from '../../platform/db/index.ts';
import type { Ids } from '../../platform/ids.ts';

/** The origin of mail: a call or a client, a broadcast, or a run of an automation. */
export type Stream = 'transactional' | 'broadcast' | 'automation';

/** Numbers of recipients whose mail of a stream was delivered, bounced, or was reported as spam. */
export interface StreamCount {
  teamId: string;
  stream: Stream;
  delivered: number;
  bounced: number;
  complained: number;
}

const COUNTS = ['delivered', 'bounced', 'complained'] as const;
const KEY = ['team_id', 'stream', 'hour', 'shard'] as const;
const HOUR_MS = 3_600_000;
const HOURS = 24;

const hourAt = (at: number): number => Math.floor(at / HOUR_MS);

/** Returns the first of the 24 hours that end with the present one. */
const firstHour = (now: number): number => hourAt(now) - HOURS + 1;

/** Adds counts, each team and stream once, to the hour of `at`. Rows are written in one order, so that no two writers deadlock. */
export async function addStreamCounts(
  tx: Executor,
  ids: Ids,
  at: number,
  counts: readonly StreamCount[],
): Promise<void> {
  if (counts.length === 0) return;
  const shard = tx.dialect === 'pg' ? chooseShard(ids) : 0;
  const toKey = ({ teamId, stream }: StreamCount): string => `${teamId} ${stream}`;
  const ordered = counts.toSorted((a, b) => (toKey(a) < toKey(b) ? -1 : 1));
  const adds = COUNTS.map((name) => `${name} = stream_counts.${name} + excluded.${name}`);
  await tx.insertMany(
    'stream_counts',
    [...KEY, ...COUNTS],
    ordered.map((one) => [one.teamId, one.stream, hourAt(at), shard, ...COUNTS.map((name) => one[name])]),
    `on conflict (${KEY.join(', ')}) do update set ${adds.join(', ')}`,
  );
}

/**
 * The rates in percent above which a stream is reported, and the numbers of recipients from which a rate is meaningful.
 */
export interface RateLimits {
  bouncePercent: number;
  bounceFloor: number;
  complaintPercent: number;
  complaintFloor: number;
  /** Fewer bounces or complaints are an accident, whatever their share. */
  several: number;
}

/** Reads the limits at which a broadcast is held and a stream is reported. */
export const readRateLimits = ({ broadcasts }: Pick<Config, 'broadcasts'>): RateLimits => ({
  bouncePercent: broadcasts.hold_bounce_percent,
  bounceFloor: broadcasts.hold_after,
  complaintPercent: broadcasts.hold_complaint_percent,
  complaintFloor: broadcasts.hold_complaint_after,
  several: SEVERAL,
});

export interface StreamRate extends StreamCount {
  isBeyondBounces: boolean;
  isBeyondComplaints: boolean;
}

/**
 * Lists the streams, of one team or of all, that are beyond a limit over the last 24 hours, counted by whole hours.
 * Reads the hours of one team, or of those streams with a bounce or a complaint.
 */
export async function streamsBeyond(
  db: Executor,
  { teamId, now, limits, most }: { teamId: string | undefined; now: number; limits: RateLimits; most: number },
): Promise<StreamRate[]> {
  const since = firstHour(now);
  // A clock that was ahead dated counts in the future.
  const last = hourAt(now);
  const whose = teamId === undefined ? '' : 'and team_id = ?';
  const inTrouble = `select distinct team_id, stream from stream_counts
    where hour >= ? and hour <= ? and (bounced > 0 or complained > 0) ${whose}`;
  const ended = '(sum(c.delivered) + sum(c.bounced))';
  const bounces = `(${ended} >= ? and sum(c.bounced) >= ? and sum(c.bounced) * 100.0 > cast(? as double precision) * ${ended})`;
  const complaints = `(sum(c.delivered) >= ? and sum(c.complained) >= ? and sum(c.complained) * 100.0 > cast(? as double precision) * sum(c.delivered))`;
  const forBounces: Value[] = [limits.bounceFloor, limits.several, limits.bouncePercent];
  const forComplaints: Value[] = [limits.complaintFloor, limits.several, limits.complaintPercent];
  const rows = await db.all<Record<'team_id' | 'stream', string> & Record<(typeof COUNTS)[number], number>>(
    `select c.team_id, c.stream, ${COUNTS.map((name) => `sum(c.${name}) as ${name}`).join(', ')}
      from (${inTrouble}) as s join stream_counts c on c.team_id = s.team_id and c.stream = s.stream and c.hour >= ? and c.hour <= ?
      group by c.team_id, c.stream having ${bounces} or ${complaints} order by c.team_id, c.stream limit ?`,
    [since, last, ...(teamId === undefined ? [] : [teamId]), since, last, ...forBounces, ...forComplaints, most],
  );
  return rows.map((row) => {
    const [delivered, bounced, complained] = COUNTS.map((name) => Number(row[name])) as [number, number, number];
    return {
      teamId: row.team_id,
      stream: row.stream as Stream,
      delivered,
      bounced,
      complained,
      isBeyondBounces: isRateHigh(
        { bad: bounced, of: delivered + bounced },
        { percent: limits.bouncePercent, floor: limits.bounceFloor },
      ),
      isBeyondComplaints: isRateHigh(
        { bad: complained, of: delivered },
        { percent: limits.complaintPercent, floor: limits.complaintFloor },
      ),
    };
  });
}

/** Sums up one stream of a team over the last 24 hours, counted by whole hours. */
export async function sumStream(db: Executor, teamId: string, stream: Stream, now: number): Promise<StreamCount> {
  const row = await db.get<Record<(typeof COUNTS)[number], number | null>>(
    `select ${COUNTS.map((name) => `sum(${name}) as ${name}`).join(', ')} from stream_counts
      where team_id = ? and stream = ? and hour >= ? and hour <= ?`,
    [teamId, stream, firstHour(now), hourAt(now)],
  );
  return {
    teamId,
    stream,
    delivered: Number(row?.delivered ?? 0),
    bounced: Number(row?.bounced ?? 0),
    complained: Number(row?.complained ?? 0),
  };
}

/** Removes hours that no rate includes any more; returns the number of rows. */
export const forgetStreamCounts = (db: Executor, now: number): Promise<number> =>
  db.run('delete from stream_counts where hour < ?', [firstHour(now) - 1]);

/** Hours of counts that are later than this one are those of a clock that was ahead; a node may be ahead by one. */
const HOURS_AHEAD_MAX = 1;

/** Moves counts that a clock which was ahead dated in the future to the present hour; returns the number of rows. */
export async function bringBackStreamCounts(db: Db, ids: Ids, now: number): Promise<number> {
  const latest = hourAt(now) + HOURS_AHEAD_MAX;
  if ((await db.get('select 1 as one from stream_counts where hour > ? limit 1', [latest])) === undefined) return 0;
  return db.tx(async (tx) => {
    const rows = await tx.all<Record<'team_id' | 'stream', string> & Record<(typeof COUNTS)[number], number>>(
      `delete from stream_counts where hour > ? returning team_id, stream, ${COUNTS.join(', ')}`,
      [latest],
    );
    const sums = new Map<string, StreamCount>();
    for (const row of rows) {
      const key = `${row.team_id} ${row.stream}`;
      const before = sums.get(key);
      sums.set(key, {
        teamId: row.team_id,
        stream: row.stream as Stream,
        delivered: Number(row.delivered) + (before?.delivered ?? 0),
        bounced: Number(row.bounced) + (before?.bounced ?? 0),
        complained: Number(row.complained) + (before?.complained ?? 0),
      });
    }
    await addStreamCounts(tx, ids, now, [...sums.values()]);
    return rows.length;
  });
}
