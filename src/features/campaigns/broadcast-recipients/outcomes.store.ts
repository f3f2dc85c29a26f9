import { chooseShard } from '../../../mail/events/index.ts';
import { uuidsIn, type Executor } from '../../../platform/db/index.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { BounceType, BroadcastOutcome } from './outcome.ts';

const COUNTED = {
  'email.sent': 'sent',
  'email.delivered': 'delivered',
  'email.opened': 'opened',
  'email.clicked': 'clicked',
  'email.complained': 'complained',
  'email.suppressed': 'suppressed',
  'email.unsubscribed': 'unsubscribed',
} as const;
const BY_MACHINE = { 'email.opened': 'machine_opened', 'email.clicked': 'machine_clicked' } as const;
const BY_PEOPLE = ['sent', 'delivered', 'opened', 'clicked', 'complained', 'suppressed', 'unsubscribed'] as const;
const COUNTERS = [...BY_PEOPLE, 'machine_opened', 'machine_clicked', 'unsent'] as const;
const SUMS = [...BY_PEOPLE, 'bounced'] as const;
const ADDED = [...COUNTERS, 'bounces'] as const;
/** Sums that decide whether a broadcast is held, and the parts of them that are excused. */
const JUDGED = ['delivered', 'bounced', 'complained'] as const;
const EXCUSED = JUDGED.map((name) => `excused_${name}` as const);
type Counter = (typeof COUNTERS)[number];

type Change = Record<Counter | 'bounces' | 'excused', number> & { email_id: string; bounced: BounceType | null };

/** Number of recipients of a broadcast for each kind of outcome, each recipient counted once. */
export type BroadcastCounts = Record<(typeof SUMS)[number], number>;

/** Number of recipients that decide whether a broadcast is held, without those that are excused. */
export type RateCounts = Record<(typeof JUDGED)[number], number>;

/** Adds outcomes to the reports of the broadcasts that the emails belong to, and to their sums. */
export async function countOutcomes(tx: Executor, ids: Ids, outcomes: readonly BroadcastOutcome[]): Promise<void> {
  const changes = new Map<string, Change>();
  for (const outcome of outcomes) {
    const { emailId, type, bounce } = outcome;
    const counter = findCounter(outcome);
    if (counter === undefined && type !== 'email.bounced') continue;
    const change = changes.get(emailId) ?? noChange(emailId);
    if (counter === undefined) {
      change.bounced = bounce ?? 'undetermined';
      change.bounces++;
    } else change[counter]++;
    if (outcome.isExcused) change.excused = 1;
    changes.set(emailId, change);
  }
  if (changes.size === 0) return;
  if ((await addToRows(tx, [...changes.values()])) > 0)
    await addToSums(tx, ids, [JSON.stringify([...changes.values()])]);
}

/**
 * Adds the changes to the rows of the report. Returns the number of rows found. SQLite updates row by row: with a join,
 * and statistics from a time without broadcasts, it would scan the whole report.
 */
async function addToRows(tx: Executor, changes: readonly Change[]): Promise<number> {
  if (tx.dialect === 'sqlite') {
    const adds = ADDED.map((name) => `${name} = ${name} + ?`).join(', ');
    const sql = `update broadcast_recipients set ${adds}, bounced = coalesce(?, bounced) where email_id = ?`;
    const values = changes.map((one) => [...ADDED.map((name) => one[name]), one.bounced, one.email_id]);
    return (await tx.runEach(sql, values)).reduce((sum, changed) => sum + changed, 0);
  }
  const sets = ADDED.map((name) => `${name} = broadcast_recipients.${name} + d.${name}`).join(', ');
  const fields = [...ADDED, 'bounced'].map((name) => `d.${name}`).join(', ');
  // A fixed lock order keeps two nodes from deadlocking.
  const sql = `update broadcast_recipients set ${sets}, bounced = coalesce(d.bounced, broadcast_recipients.bounced)
    from (select r.broadcast_id, r.email_key, ${fields} from ${changesIn(tx)}
      join broadcast_recipients r on r.email_id = d.email_id order by r.email_id for update of r) as d
    where broadcast_recipients.broadcast_id = d.broadcast_id and broadcast_recipients.email_key = d.email_key`;
  return tx.run(sql, [JSON.stringify(changes)]);
}

/**
 * Adds first occurrences to the sums. Must run after `addToRows`: a row whose count equals what was added had none
 * before.
 */
async function addToSums(tx: Executor, ids: Ids, values: string[]): Promise<void> {
  const first = (name: string, when = ''): string => {
    const column = name === 'bounced' ? 'bounces' : name;
    return `sum(case when d.${column} > 0 and r.${column} = d.${column} ${when} then 1 else 0 end)`;
  };
  const excused = JUDGED.map((name) => first(name, 'and d.excused = 1'));
  const sums = [...SUMS.map((name) => first(name)), ...excused].join(', ');
  const columns = [...SUMS, ...EXCUSED];
  const adds = columns.map((name) => `${name} = broadcast_counts.${name} + excluded.${name}`).join(', ');
  const shard = tx.dialect === 'pg' ? chooseShard(ids) : 0;
  await tx.run(
    `insert into broadcast_counts (broadcast_id, shard, ${columns.join(', ')})
      select r.broadcast_id, ${shard}, ${sums} from ${changesIn(tx)}
        cross join broadcast_recipients r where r.email_id = d.email_id group by r.broadcast_id order by 1
      on conflict (broadcast_id, shard) do update set ${adds}`,
    values,
  );
}

/** Returns the counts by broadcast; a broadcast without outcomes is missing. */
export async function loadBroadcastCounts(
  db: Executor,
  broadcastIds: readonly string[],
): Promise<Map<string, BroadcastCounts>> {
  const among = uuidsIn(db.dialect, 'broadcast_id', broadcastIds);
  const sums = SUMS.map((name) => `sum(${name}) as ${name}`).join(', ');
  const rows = await db.all<BroadcastCounts & { broadcast_id: string }>(
    `select broadcast_id, ${sums} from broadcast_counts where ${among.sql} group by broadcast_id`,
    [among.value],
  );
  return new Map(
    rows.map(({ broadcast_id: id, ...counts }) => {
      const numbers = SUMS.map((name) => [name, Number(counts[name])] as const);
      return [id, Object.fromEntries(numbers) as BroadcastCounts];
    }),
  );
}

/** Returns the counts that decide whether broadcasts are held; a broadcast without outcomes is missing. */
export async function loadRateCounts(db: Executor, broadcastIds: readonly string[]): Promise<Map<string, RateCounts>> {
  const among = uuidsIn(db.dialect, 'broadcast_id', broadcastIds);
  const sums = JUDGED.map((name) => `sum(${name} - excused_${name}) as ${name}`).join(', ');
  const rows = await db.all<RateCounts & { broadcast_id: string }>(
    `select broadcast_id, ${sums} from broadcast_counts where ${among.sql} group by broadcast_id`,
    [among.value],
  );
  return new Map(
    rows.map(({ broadcast_id: id, delivered, bounced, complained }) => [
      id,
      { delivered: Number(delivered), bounced: Number(bounced), complained: Number(complained) },
    ]),
  );
}

function findCounter({ type, isMachine = false, isUnsent = false }: BroadcastOutcome): Counter | undefined {
  if (isUnsent) return 'unsent';
  const counted: Readonly<Record<string, Counter>> = isMachine ? BY_MACHINE : COUNTED;
  return Object.hasOwn(counted, type) ? counted[type] : undefined;
}

const noChange = (emailId: string): Change => ({
  email_id: emailId,
  bounced: null,
  bounces: 0,
  excused: 0,
  ...(Object.fromEntries(COUNTERS.map((name) => [name, 0])) as Record<Counter, number>),
});

function changesIn(tx: Executor): string {
  if (tx.dialect === 'pg') {
    const counters = [...ADDED, 'excused'].map((name) => `${name} int`).join(', ');
    return `jsonb_to_recordset(?::jsonb) as d(email_id uuid, bounced text, ${counters})`;
  }
  const fields = ['email_id', 'bounced', 'excused', ...ADDED].map((name) => `value->>'${name}' as ${name}`).join(', ');
  return `(select ${fields} from json_each(?)) as d`;
}

/** Number of recipients for each kind of outcome. */
export interface OutcomeSums {
  recipients: number;
  delivered: number;
  opened: number;
  clicked: number;
  bounced: number;
  complained: number;
}

export interface DomainOutcomes extends OutcomeSums {
  domain: string;
  /** The email of one of its recipients. */
  email_id: string;
}

/**
 * Sums a part of the report by the domain of the recipients. `last` is where the next part begins; undefined at the end of
 * the report.
 */
export async function outcomesByDomain(
  db: Executor,
  broadcastId: string,
  { after, limit }: { after: string; limit: number },
): Promise<{ domains: DomainOutcomes[]; last: string | undefined }> {
  const isPg = db.dialect === 'pg';
  const domain = isPg ? "substring(email from '@([^@]*)$')" : "substr(email, instr(email, '@') + 1)";
  const sums = ['delivered', 'opened', 'clicked', 'complained'].map(
    (name) => `sum(case when ${name} > 0 then 1 else 0 end) as ${name}`,
  );
  const rows = await db.all<DomainOutcomes & { last: string }>(
    `with part as (select * from broadcast_recipients
        where broadcast_id = ? and email_key > ? and email_id is not null order by email_key limit ?)
      select lower(coalesce(${domain}, '')) as domain, count(*) as recipients, ${sums.join(', ')},
        sum(case when bounced is not null then 1 else 0 end) as bounced,
        max(${isPg ? 'cast(email_id as text)' : 'email_id'}) as email_id, (select max(email_key) from part) as last
      from part group by 1`,
    [broadcastId, after, limit],
  );
  const read = rows.reduce((sum, row) => sum + Number(row.recipients), 0);
  const domains = rows.map((row) => ({
    domain: row.domain,
    email_id: row.email_id,
    recipients: Number(row.recipients),
    delivered: Number(row.delivered),
    opened: Number(row.opened),
    clicked: Number(row.clicked),
    bounced: Number(row.bounced),
    complained: Number(row.complained),
  }));
  return { domains, last: read < limit ? undefined : rows[0]?.last };
}
