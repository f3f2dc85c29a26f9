import type { Executor, Page } from '../../platform/db/index.ts';
import type { MailStream } from '../deliver/index.ts';
import { hourAt, sumSubject, type MailSpan, type MailSubject, type OutcomeSums } from '../reputation/index.ts';
import type { BreakerStatus } from './breakers.ts';

/** The mail that a breaker judges and limits. */
export interface BreakerSubject {
  teamId: string;
  /** The mail of one domain, or of all domains of a team. */
  scope: 'domain' | 'team';
  /** The domain or the team. */
  subjectId: string;
  /** The name of the domain when the breaker was made; empty for a team. */
  domainName: string;
  /** Empty: all receivers together. */
  provider: string;
  stream: MailStream;
}

/** The moment from which outcomes count: an hour since 1970, and the outcomes of that hour that do not count. */
interface Base extends OutcomeSums {
  hour: number;
}

export interface Breaker extends BreakerSubject, BreakerStatus {
  id: string;
  base: Base | undefined;
}

interface BreakerRow {
  id: string;
  team_id: string;
  scope: Breaker['scope'];
  subject_id: string;
  domain_name: string;
  provider: string;
  stream: MailStream;
  state: Breaker['state'];
  cause: Breaker['cause'];
  trips: number;
  tripped_at: number;
  changed_at: number;
  until_at: number;
  rate: number | null;
  bad: number;
  total: number;
  base_hour: number | null;
  base_accepted: number;
  base_bounced: number;
  base_complained: number;
}

const COLUMNS = [
  'id',
  'team_id',
  'scope',
  'subject_id',
  'domain_name',
  'provider',
  'stream',
  'state',
  'cause',
  'trips',
  'tripped_at',
  'changed_at',
  'until_at',
  'rate',
  'bad',
  'total',
  'base_hour',
  'base_accepted',
  'base_bounced',
  'base_complained',
] as const satisfies readonly (keyof BreakerRow)[];

const toRow = (one: Breaker): BreakerRow => ({
  id: one.id,
  team_id: one.teamId,
  scope: one.scope,
  subject_id: one.subjectId,
  domain_name: one.domainName,
  provider: one.provider,
  stream: one.stream,
  state: one.state,
  cause: one.cause,
  trips: one.trips,
  tripped_at: one.trippedAt,
  changed_at: one.changedAt,
  until_at: one.untilAt,
  rate: one.rate,
  bad: one.bad,
  total: one.of,
  base_hour: one.base?.hour ?? null,
  base_accepted: one.base?.accepted ?? 0,
  base_bounced: one.base?.bounced ?? 0,
  base_complained: one.base?.complained ?? 0,
});

const readRow = (row: BreakerRow): Breaker => ({
  id: row.id,
  teamId: row.team_id,
  scope: row.scope,
  subjectId: row.subject_id,
  domainName: row.domain_name,
  provider: row.provider,
  stream: row.stream,
  state: row.state,
  cause: row.cause,
  trips: Number(row.trips),
  trippedAt: Number(row.tripped_at),
  changedAt: Number(row.changed_at),
  untilAt: Number(row.until_at),
  rate: row.rate === null ? null : Number(row.rate),
  bad: Number(row.bad),
  of: Number(row.total),
  base:
    row.base_hour === null
      ? undefined
      : {
          hour: Number(row.base_hour),
          accepted: Number(row.base_accepted),
          bounced: Number(row.base_bounced),
          complained: Number(row.base_complained),
        },
});

/** Lists all breakers, those of one team, or those that limit mail. */
export async function listBreakers(
  db: Executor,
  { teamId, isOpen = false }: { teamId?: string | undefined; isOpen?: boolean } = {},
): Promise<Breaker[]> {
  const conditions = [...(teamId === undefined ? [] : ['team_id = ?']), ...(isOpen ? [`state <> 'closed'`] : [])];
  const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
  const rows = await db.all<BreakerRow>(
    `select * from breakers ${where} order by id`,
    teamId === undefined ? [] : [teamId],
  );
  return rows.map(readRow);
}

/** Finds one page of the breakers that limit mail, newest first. */
export async function breakerPage(
  db: Executor,
  { after, before, limit }: Page,
): Promise<{ breakers: Breaker[]; hasMore: boolean }> {
  const [cursor, compare, order] = before === undefined ? [after, '<', 'desc'] : [before, '>', 'asc'];
  const rows = await db.all<BreakerRow>(
    `select * from breakers where state <> 'closed' ${cursor === undefined ? '' : `and id ${compare} ?`}
      order by id ${order} limit ?`,
    [...(cursor === undefined ? [] : [cursor]), limit + 1],
  );
  const shown = rows.slice(0, limit).map(readRow);
  return { breakers: order === 'asc' ? shown.reverse() : shown, hasMore: rows.length > limit };
}

/** Reports whether a breaker pauses all marketing mail of a domain, because of its own mail or that of its team. */
export async function isMarketingPaused(
  db: Executor,
  { teamId, domainId }: { teamId: string; domainId: string },
): Promise<boolean> {
  const sql = `select 1 as one from breakers
    where subject_id in (?, ?) and provider = '' and stream = 'marketing' and state = 'paused'`;
  return (await db.get(sql, [domainId, teamId])) !== undefined;
}

export async function findBreaker(db: Executor, id: string): Promise<Breaker | undefined> {
  const row = await db.get<BreakerRow>('select * from breakers where id = ?', [id]);
  return row && readRow(row);
}

/** An arbitrary number that no other program uses: the name of the advisory lock of all breakers. */
const LOCK = 7_236_511;

/** Lets one process at a time change breakers. */
export async function lockBreakers(tx: Executor): Promise<void> {
  if (tx.dialect === 'pg') await tx.all('select pg_advisory_xact_lock(?)', [LOCK]);
}

/** Adds a breaker; returns whether there was none for the same mail. */
export async function insertBreaker(tx: Executor, breaker: Breaker): Promise<boolean> {
  const row = toRow(breaker);
  const inserted = await tx.run(
    `insert into breakers (${COLUMNS.join(', ')}) values (${COLUMNS.map(() => '?').join(', ')})
      on conflict (subject_id, provider, stream) do nothing`,
    COLUMNS.map((column) => row[column]),
  );
  return inserted === 1;
}

/** Replaces a breaker as it was read; returns whether no other process has changed it since, or added one for the same mail. */
export async function updateBreaker(tx: Executor, before: Breaker, after: Breaker): Promise<boolean> {
  const row = toRow({ ...after, id: before.id });
  const changed = await tx.run(
    `update breakers set ${COLUMNS.map((column) => `${column} = ?`).join(', ')}
      where id = ? and state = ? and changed_at = ? and until_at = ? and not exists (select 1 from breakers as other
        where other.subject_id = ? and other.provider = ? and other.stream = ? and other.id <> ?)`,
    [
      ...COLUMNS.map((column) => row[column]),
      before.id,
      before.state,
      before.changedAt,
      before.untilAt,
      row.subject_id,
      row.provider,
      row.stream,
      before.id,
    ],
  );
  return changed === 1;
}

export const removeBreaker = (tx: Executor, id: string): Promise<number> =>
  tx.run('delete from breakers where id = ?', [id]);

export const toMailSubject = ({ scope, subjectId, provider, stream }: BreakerSubject): MailSubject => ({
  scope,
  subjectId,
  provider,
  isMarketing: stream === 'marketing',
});

/** Reads the moment from which the outcomes of some mail count, if that is now. */
export async function readBase(db: Executor, subject: BreakerSubject, now: number): Promise<Base> {
  const hour = hourAt(now);
  // Clocks of other nodes may be ahead, so that a later hour has outcomes already; these count once it has begun.
  const span = { sinceHour: hour, reportedSince: hour, lastHour: hour };
  return { hour, ...(await sumSubject(db, toMailSubject(subject), span)) };
}

/** Returns the first hour of a span whose mail counts. The hours of days before the window may have been added up to days. */
function beginSpan({ sinceHour, reportedSince }: MailSpan, base: Base | undefined): number {
  if (base === undefined || base.hour <= sinceHour) return sinceHour;
  return base.hour >= reportedSince ? base.hour : Math.min(Math.ceil(base.hour / 24) * 24, reportedSince);
}

/** Sums up the outcomes that count for a breaker, for each span whose beginning differs from those of the others. */
export async function sumForBreaker(
  db: Executor,
  breaker: Pick<Breaker, 'base'> & BreakerSubject,
  spans: readonly MailSpan[],
): Promise<OutcomeSums[]> {
  const { base } = breaker;
  const bySince = new Map(spans.map((span) => [beginSpan(span, base), span]));
  const sums: OutcomeSums[] = [];
  for (const [sinceHour, span] of bySince) {
    const reportedSince = Math.max(span.reportedSince, base?.hour ?? 0);
    const sum = await sumSubject(db, toMailSubject(breaker), { ...span, sinceHour, reportedSince });
    if (base === undefined || base.hour !== sinceHour) {
      sums.push(sum);
      continue;
    }
    // Reports of the first hour were left out already if they came before the window.
    const isInWindow = base.hour >= reportedSince;
    sums.push({
      accepted: Math.max(0, sum.accepted - base.accepted),
      bounced: Math.max(0, sum.bounced - (isInWindow ? base.bounced : 0)),
      complained: Math.max(0, sum.complained - (isInWindow ? base.complained : 0)),
    });
  }
  return sums;
}
