import type { Executor } from '../../../platform/db/index.ts';
import { uuidsIn } from '../../../platform/db/index.ts';
import { COUNTED_MAX } from '../../../platform/finding.ts';

/** Covers all teams if none is given. */
interface Whose {
  teamId: string | undefined;
}

const ofTeam = ({ teamId }: Whose): string => (teamId === undefined ? '' : 'and team_id = ?');
const toValues = ({ teamId }: Whose): string[] => (teamId === undefined ? [] : [teamId]);

export interface WebhookInTrouble {
  id: string;
  endpoint: string;
  status: 'enabled' | 'disabled';
  failing_since: number;
}

/** Lists webhooks that fail, and those that were disabled for failing; those disabled by a person are excluded. */
export const webhooksInTrouble = (db: Executor, whose: Whose, before: number): Promise<WebhookInTrouble[]> =>
  db.all(
    `select id, endpoint, status, failing_since from webhooks
      where deleted_at is null and failing_since is not null and failing_since <= ?
        and (disabled_reason is null or disabled_reason = 'failing') ${ofTeam(whose)} limit ${COUNTED_MAX}`,
    [before, ...toValues(whose)],
  );

/** Lists the webhooks of a team that a person disabled. */
export const webhooksDisabledByHand = (
  db: Executor,
  teamId: string,
): Promise<{ id: string; endpoint: string; disabled_at: number }[]> =>
  db.all(
    `select id, endpoint, disabled_at from webhooks
      where team_id = ? and deleted_at is null and status = 'disabled' and disabled_reason = 'manual'
      order by id limit ${COUNTED_MAX}`,
    [teamId],
  );

export interface DomainInTrouble {
  id: string;
  name: string;
  sending: string;
  receiving: string;
  verified_at: number | null;
  failing_since: number | null;
  lost_at: number | null;
  receiving_verified_at: number | null;
  receiving_failing_since: number | null;
  receiving_lost_at: number | null;
}

/**
 * Lists verified domains whose records are gone, and those that lost their verification for it. The condition matches
 * the index.
 */
export const domainsInTrouble = (db: Executor, whose: Whose): Promise<DomainInTrouble[]> =>
  db.all(
    `select id, name, sending, receiving, verified_at, failing_since, lost_at, receiving_verified_at,
        receiving_failing_since, receiving_lost_at from domains
      where (lost_at is not null or receiving_lost_at is not null
        or (verified_at is not null and failing_since is not null)
        or (receiving_verified_at is not null and receiving_failing_since is not null))
        ${ofTeam(whose)} limit ${COUNTED_MAX}`,
    toValues(whose),
  );

/** Lists domains whose records in DNS contain the other host name of a change of the host. The condition matches the index. */
export const domainsNamingOtherHost = (db: Executor, whose: Whose): Promise<{ name: string }[]> =>
  db.all(
    `select name from domains where held_at is not null ${ofTeam(whose)} and exists (select 1 from domain_records r
        where r.domain_id = domains.id and r.named_host is not null) limit ${COUNTED_MAX}`,
    toValues(whose),
  );

/** Reads the names of domains by their ids. */
export async function readDomainNames(db: Executor, ids: readonly string[]): Promise<Map<string, string>> {
  const among = uuidsIn(db.dialect, 'id', ids);
  const rows = await db.all<{ id: string; name: string }>(`select id, name from domains where ${among.sql}`, [
    among.value,
  ]);
  return new Map(rows.map(({ id, name }) => [id, name]));
}

export interface SsoProviderInTrouble {
  issuer: string;
  fault_kind: 'down' | 'wrong';
  fault: string;
  failing_since: number;
}

/** Lists failing SSO providers. The condition matches the index. */
export const ssoProvidersInTrouble = (db: Executor, whose: Whose, before: number): Promise<SsoProviderInTrouble[]> =>
  db.all(
    `select issuer, fault_kind, fault, failing_since from sso_connections
      where failing_since is not null and failing_since <= ? ${ofTeam(whose)} limit ${COUNTED_MAX}`,
    [before, ...toValues(whose)],
  );

export interface SsoDomainLost {
  domain: string;
  diagnosis: string | null;
  lost_at: number;
}

/** Lists lost SSO domains. The condition matches the index. */
export const ssoDomainsLost = (db: Executor, whose: Whose): Promise<SsoDomainLost[]> =>
  db.all(
    `select domain, diagnosis, lost_at from sso_domains where lost_at is not null ${ofTeam(whose)} limit ${COUNTED_MAX}`,
    toValues(whose),
  );

export interface Hold {
  kind: 'destination' | 'team_id' | 'email_id';
  value: string;
  reason: string;
  created_at: number;
}

/** Lists the holds of the queue; there are at most a thousand. */
export const holdsInForce = (db: Executor): Promise<Hold[]> =>
  db.all('select kind, value, reason, created_at from queue_holds order by id');

/** Lists teams whose subscription changed without an event. */
export async function missedPayments(db: Executor): Promise<{ team_id: string; missed_since: number }[]> {
  const sql = `select team_id, missed_since from team_subscriptions where missed_since is not null
    order by missed_since limit ${COUNTED_MAX}`;
  const rows = await db.all<{ team_id: string; missed_since: number }>(sql);
  return rows.map((row) => ({ ...row, missed_since: Number(row.missed_since) }));
}

export interface HeldBroadcast {
  id: string;
  name: string;
  held_reason: string;
  held_since: number;
  held_detail: string | null;
}

/** Lists broadcasts on hold. The condition matches the index. */
export const heldBroadcasts = (db: Executor, whose: Whose): Promise<HeldBroadcast[]> =>
  db.all(
    `select id, name, held_reason, held_since, held_detail from broadcasts
      where held_reason is not null and status <> 'canceled' ${ofTeam(whose)} limit ${COUNTED_MAX}`,
    toValues(whose),
  );

export interface FailedBroadcast {
  id: string;
  name: string;
  failed_reason: string | null;
  updated_at: number;
}

/** Lists broadcasts that failed since a time. The condition matches the index. */
export const failedBroadcasts = (db: Executor, whose: Whose, since: number): Promise<FailedBroadcast[]> =>
  db.all(
    `select id, name, failed_reason, updated_at from broadcasts
      where status = 'failed' and updated_at > ? ${ofTeam(whose)} order by updated_at desc limit ${COUNTED_MAX}`,
    [since, ...toValues(whose)],
  );

export interface WaitingBroadcast {
  id: string;
  name: string;
  team_id: string;
  segment: string;
  /** Filter as JSON. */
  filter: string;
  /** Names of deleted properties, as JSON. */
  lost_properties: string | null;
}

/**
 * Lists broadcasts that have not been sent, with each of their segments and excluded segments that has a filter. The
 * condition matches the index.
 */
export function broadcastsToFilters(db: Executor, { teamId }: Whose): Promise<WaitingBroadcast[]> {
  const listed = (column: string): string =>
    db.dialect === 'pg'
      ? `cast(s.id as text) in (select jsonb_array_elements_text(cast(b.${column} as jsonb)))`
      : `s.id in (select value from json_each(b.${column}))`;
  return db.all(
    `select b.id, b.name, b.team_id, s.name as segment, s.filter, s.lost_properties from broadcasts b
      join segments s on s.team_id = b.team_id and s.deleted_at is null and s.filter is not null
        and (s.id = b.segment_id or ${listed('segment_ids')} or ${listed('exclude_segment_ids')})
      where b.status in ('scheduled', 'queued', 'sending') ${teamId === undefined ? '' : 'and b.team_id = ?'}
      order by b.id, s.id limit ${COUNTED_MAX}`,
    teamId === undefined ? [] : [teamId],
  );
}

/** Lists broadcasts that have not been sent and that chose a pool. The condition matches the index. */
export const broadcastsInPools = (
  db: Executor,
  { teamId }: Whose,
): Promise<{ id: string; name: string; pool: string }[]> =>
  db.all(
    `select id, name, pool from broadcasts
      where status in ('scheduled', 'queued', 'sending') and pool is not null ${ofTeam({ teamId })} order by id`,
    toValues({ teamId }),
  );

/** Lists the holds with the number of a team's deliveries that each keeps, counted a little beyond `COUNTED_MAX`. */
export async function holdsOverTeam(db: Executor, teamId: string): Promise<(Hold & { waiting: number })[]> {
  const waiting = `select count(*) from (select 1 from deliveries d where d.hold_id = h.id and d.team_id = ?
    limit ${COUNTED_MAX + 1}) as few`;
  const rows = await db.all<Hold & { waiting: number }>(
    `select h.kind, h.value, h.reason, h.created_at, (${waiting}) as waiting from queue_holds h order by h.id`,
    [teamId],
  );
  return rows.map((row) => ({ ...row, waiting: Number(row.waiting) }));
}

/** Returns the team's broadcasts that would be sent now: those in progress, queued, or due. */
export async function broadcastsDue(db: Executor, teamId: string, now: number): Promise<string[]> {
  const rows = await db.all<{ id: string }>(
    `select id from broadcasts where team_id = ? and status in ('queued', 'scheduled', 'sending')
      and (status <> 'scheduled' or scheduled_at <= ?) and held_reason is null and paused_at is null order by id limit ${COUNTED_MAX}`,
    [teamId, now],
  );
  return rows.map(({ id }) => id);
}

/** Returns those of the given emails that belong to the team. */
export async function emailsOfTeam(db: Executor, teamId: string, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const among = uuidsIn(db.dialect, 'id', ids);
  const rows = await db.all<{ id: string }>(`select id from emails where team_id = ? and ${among.sql}`, [
    teamId,
    among.value,
  ]);
  return new Set(rows.map(({ id }) => id));
}

/** Returns when the oldest delivery of each lane of the queue fell due, and of expired claims; omits empty lanes. */
export async function oldestDue(db: Executor): Promise<{ lane: number | null; due_at: number }[]> {
  const first = (where: string): string => `(select due_at from deliveries where ${where} order by due_at limit 1)`;
  // Each kind is a range of the index.
  const inLane = (lane: number): string =>
    [0, 1]
      .map((waits) => {
        const where = `lease_owner is null and hold_id is null and lane = ${lane} and waits = ${waits}`;
        return `${first(where)} as lane_${lane}_${waits}`;
      })
      .join(', ');
  const lanes = [0, 1, 2, 3];
  const row = await db.get<Record<string, number | null>>(
    `select ${lanes.map(inLane).join(', ')}, ${first('lease_owner is not null')} as claimed`,
  );
  const earliest = (names: string[]): number => Math.min(...names.map((name) => row?.[name] ?? Infinity));
  return [
    ...lanes.map((lane) => ({ lane, due_at: earliest([`lane_${lane}_0`, `lane_${lane}_1`]) })),
    { lane: null, due_at: earliest(['claimed']) },
  ].filter(({ due_at: due }) => due < Infinity);
}
