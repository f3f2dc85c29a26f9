import type { UpdateBroadcastRequest } from '../../../contract/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import type { Store } from '../../../platform/store.ts';
import { findTeam, readMarketingCap } from '../../../tenancy/teams/index.ts';
import { renderFilter, type Filter } from '../../../protocol/contact-filter/index.ts';
import {
  countByCondition,
  renderAtCap,
  findTopic,
  liveSegments,
  loadSegmentFilters,
  matchesAmong,
  sampleRecipients,
  type AudienceSample,
  type ContactCondition,
  type SegmentRow,
} from '../../audience/index.ts';
import {
  excludedByEarlier,
  renderEarlier,
  type EarlierBroadcasts,
  type ExclusionReason,
} from '../broadcast-recipients/broadcast-recipients.store.ts';
import { listIds, referencedBroadcasts, type BroadcastContent, type ReferencedBroadcast } from './broadcasts.store.ts';

/**
 * Returns whether a broadcast would reach more contacts than the person was shown. Contacts sign up all the time, so a
 * growth by a tenth, rounded up, is accepted.
 */
export const hasGrown = (before: number | null, now: number | undefined): boolean =>
  before !== null && now !== undefined && now > before + Math.ceil(before / 10);

/** The fields that decide who gets a broadcast. */
export type Target = Pick<
  BroadcastContent,
  'segment_id' | 'segment_ids' | 'exclude_segment_ids' | 'not_received_from' | 'received_but_not_opened' | 'topic_id'
>;

/** Returns the ids of the segments that a broadcast goes to, its `segment_id` first. */
export const readSegments = ({ segment_id: first, segment_ids: all }: Pick<Target, 'segment_id' | 'segment_ids'>) =>
  all !== null ? listIds(all) : first === null ? [] : [first];

type TargetField = keyof Target | 'audience_id';

/** The fields of a broadcast that names no recipients. */
export const NOBODY: Target = {
  segment_id: null,
  segment_ids: null,
  exclude_segment_ids: null,
  not_received_from: null,
  received_but_not_opened: null,
  topic_id: null,
};

/** Applies the fields that decide who gets a broadcast. `segment_id` alone names the only segment. */
export function readTarget(before: Target, input: Pick<UpdateBroadcastRequest, TargetField>): Target {
  const first = segmentIn(input);
  const listed = input.segment_ids === null ? [] : input.segment_ids;
  const others = listed ?? (first === undefined ? readSegments(before) : []);
  // The segment that a caller names as the first one comes first.
  const ids = writeIds([...(first ? [first] : []), ...others]);
  const { exclude_segment_ids: excluded, not_received_from: earlier, received_but_not_opened: notOpened } = input;
  return {
    segment_id: ids[0] ?? null,
    segment_ids: ids.length > 1 ? JSON.stringify(ids) : null,
    exclude_segment_ids: excluded === undefined ? before.exclude_segment_ids : writeList(excluded),
    not_received_from: earlier === undefined ? before.not_received_from : writeList(earlier),
    received_but_not_opened:
      notOpened === undefined ? before.received_but_not_opened : (notOpened?.toLowerCase() ?? null),
    topic_id: input.topic_id === undefined ? before.topic_id : (input.topic_id?.toLowerCase() ?? null),
  };
}

/** Returns each id once, in lower case. */
const writeIds = (ids: readonly string[]): string[] => [...new Set(ids.map((id) => id.toLowerCase()))];

const writeList = (ids: readonly string[] | null): string | null =>
  ids === null || ids.length === 0 ? null : JSON.stringify(writeIds(ids));

/** Returns the segment that a request names by either name of the field; undefined if it omits both. */
export function segmentIn({
  segment_id: segment,
  audience_id: audience,
}: Pick<UpdateBroadcastRequest, 'segment_id' | 'audience_id'>): string | null | undefined {
  // Clients with typed fields write null for the name that they do not use.
  const named = segment ?? (audience === undefined ? segment : audience);
  return named?.toLowerCase() ?? named;
}

/** The recipients of a broadcast, as its fields name them now. */
export interface Audience {
  segments: readonly SegmentRow[];
  excludedSegments: readonly SegmentRow[];
  notReceivedFrom: readonly ReferencedBroadcast[];
  notOpened: ReferencedBroadcast | null;
  /** Matches the members of the segments. */
  filter: Filter;
  /** Matches the members of the segments that are left out. */
  excluded: Filter | undefined;
  earlier: EarlierBroadcasts;
}

/** The reason why the recipients of a broadcast are not known; `failed` is that of a broadcast that was sent. */
export interface UnknownAudience {
  failed: 'segment_deleted' | 'report_removed' | 'filters_too_large';
  message: string;
}

/** Limit of the values in the filters of all its segments, which one statement compares; databases allow about 30,000. */
const VALUES_MAX = 10_000;

/** Reads who gets a broadcast. A fault names the field whose segment was deleted or whose report is gone. */
export async function loadAudience(
  db: Executor,
  teamId: string,
  target: Target,
  now: number,
): Promise<Audience | UnknownAudience> {
  const segmentIds = readSegments(target);
  const excludedIds = listIds(target.exclude_segment_ids);
  const live = await liveSegments(db, teamId, [...segmentIds, ...excludedIds]);
  const rows = new Map(live.map((row) => [row.id, row]));
  if (target.segment_ids === null && segmentIds.every((id) => !rows.has(id))) {
    const message = 'segment_id does not match a segment of this team; choose one that has the recipients.';
    return { failed: 'segment_deleted', message };
  }
  const deleted = findDeleted('segment_ids', segmentIds, rows) ?? findDeleted('exclude_segment_ids', excludedIds, rows);
  if (deleted) return deleted;
  const earlier = {
    notReceivedFrom: listIds(target.not_received_from),
    notOpened: target.received_but_not_opened,
  };
  const broadcasts = await referencedBroadcasts(db, teamId, listEarlier(target));
  const gone = findWithoutReport(earlier, broadcasts);
  if (gone) return gone;
  const segments = segmentIds.flatMap((id) => rows.get(id) ?? []);
  const excludedSegments = excludedIds.flatMap((id) => rows.get(id) ?? []);
  const filters = await loadSegmentFilters(db, [...segments, ...excludedSegments], now);
  const values = filters.reduce((sum, filter) => sum + renderFilter(filter, db.dialect).values.length, 0);
  if (values > VALUES_MAX) {
    const message = `The filters of segment_ids and exclude_segment_ids compare ${values} values; at most ${VALUES_MAX} are allowed. Name fewer segments.`;
    return { failed: 'filters_too_large', message };
  }
  const [only, ...others] = filters.slice(0, segments.length);
  return {
    segments,
    excludedSegments,
    notReceivedFrom: earlier.notReceivedFrom.flatMap((id) => broadcasts.get(id) ?? []),
    notOpened: earlier.notOpened === null ? null : (broadcasts.get(earlier.notOpened) ?? null),
    filter: only && others.length === 0 ? only : { kind: 'any', of: filters.slice(0, segments.length) },
    excluded: excludedSegments.length === 0 ? undefined : { kind: 'any', of: filters.slice(segments.length) },
    earlier,
  };
}

/** Lists the ids of the earlier broadcasts that decide who gets a broadcast. */
export const listEarlier = (target: Pick<Target, 'not_received_from' | 'received_but_not_opened'>): string[] => {
  const { not_received_from: notReceivedFrom, received_but_not_opened: notOpened } = target;
  return [...listIds(notReceivedFrom), ...(notOpened === null ? [] : [notOpened])];
};

function findDeleted(
  field: string,
  ids: readonly string[],
  live: ReadonlyMap<string, SegmentRow>,
): UnknownAudience | undefined {
  const at = ids.findIndex((id) => !live.has(id));
  if (at < 0) return undefined;
  const message = `${field}.${at} does not match a segment of this team; remove it, or choose another one.`;
  return { failed: 'segment_deleted', message };
}

/** Without the report of an earlier broadcast, its recipients would get this one as if they were none. */
function findWithoutReport(
  { notReceivedFrom, notOpened }: EarlierBroadcasts,
  broadcasts: ReadonlyMap<string, ReferencedBroadcast>,
): UnknownAudience | undefined {
  const named = [
    ...notReceivedFrom.map((id, at) => ({ field: `not_received_from.${at}`, id })),
    ...(notOpened === null ? [] : [{ field: 'received_but_not_opened', id: notOpened }]),
  ];
  for (const { field, id } of named) {
    const broadcast = broadcasts.get(id);
    if (broadcast?.hasReport) continue;
    const name = broadcast ? JSON.stringify(broadcast.name) : id;
    const message = `${field}: the report of the broadcast ${name} was removed by age, so its recipients are not known any more; remove it from the list.`;
    return { failed: 'report_removed', message };
  }
  return undefined;
}

type CountedReason = Extract<
  ExclusionReason,
  'unsubscribed' | 'topic_opt_out' | 'excluded_segment' | 'already_received' | 'already_opened' | 'not_received'
>;

interface Condition {
  reason: CountedReason;
  condition: ContactCondition;
}

/** Lists the conditions that exclude a member, in the order in which they apply. */
async function listConditions(
  db: Executor,
  teamId: string,
  { audience, topicId }: { audience: Audience; topicId: string | null },
): Promise<Condition[]> {
  const unsubscribed: Filter = { kind: 'boolean', place: { of: 'unsubscribed' }, op: 'eq', value: true };
  return [
    { reason: 'unsubscribed', condition: unsubscribed },
    ...(topicId === null
      ? []
      : [{ reason: 'topic_opt_out' as const, condition: await buildOptOut(db, teamId, topicId) }]),
    ...(audience.excluded ? [{ reason: 'excluded_segment' as const, condition: audience.excluded }] : []),
    ...renderEarlier(audience.earlier),
  ];
}

/** Nobody is opted in to a topic that was deleted. */
async function buildOptOut(db: Executor, teamId: string, topicId: string): Promise<Filter> {
  const topic = await findTopic(db, teamId, topicId);
  if (!topic) return { kind: 'all', of: [] };
  const isDefault = topic.default_subscription === 'opt_in';
  return { kind: 'none', of: [{ kind: 'topic', topicId, isDefault, subscription: 'opt_in' }] };
}

export interface CountedAudience {
  /** Members of the segments, each counted once. */
  contacts: number;
  /** Those of them who would get the broadcast now. */
  recipients: number;
  excluded: { reason: CountedReason; contacts: number }[];
  /** The recipients who have had as much marketing mail as the limit of the team allows; null without a limit. */
  over_marketing_cap: number | null;
}

/**
 * Counts who would get a broadcast now. Suppressed addresses are excluded only when it is sent, and so are contacts over
 * the limit of marketing mail, because their number changes until then.
 */
export async function countRecipients(
  db: Executor,
  teamId: string,
  to: { audience: Audience; topicId: string | null; now: number },
): Promise<CountedAudience> {
  const team = await findTeam(db, teamId);
  const cap = team ? readMarketingCap(team) : null;
  const conditions = await listConditions(db, teamId, to);
  const { met, others } = await countByCondition(db, teamId, {
    filter: to.audience.filter,
    conditions: [
      ...conditions.map(({ condition }) => condition),
      ...(cap === null ? [] : [renderAtCap(db.dialect, cap, to.now)]),
    ],
  });
  const excluded = conditions.map(({ reason }, at) => ({ reason, contacts: met[at] ?? 0 }));
  const overCap = cap === null ? null : (met.at(-1) ?? 0);
  const recipients = others + (overCap ?? 0);
  return {
    contacts: excluded.reduce((sum, { contacts }) => sum + contacts, recipients),
    recipients,
    excluded,
    over_marketing_cap: overCap,
  };
}

/** Takes a sample of those who would get a broadcast now, to compare it with `before`. */
export async function sampleAudience(
  { store, teamId }: { store: Store; teamId: string },
  to: { audience: Audience; topicId: string | null; recipients: number },
  before: AudienceSample | null,
): Promise<AudienceSample> {
  const conditions = (await listConditions(store.db, teamId, to)).map(({ condition }) => condition);
  const { filter } = to.audience;
  return sampleRecipients({ store, teamId }, { filter, conditions, contacts: to.recipients }, before);
}

/** Finds those of the contacts whom excluded segments and earlier broadcasts exclude at this moment, with the reason. */
export async function excludedAmong(
  tx: Executor,
  teamId: string,
  { excluded, earlier }: Audience,
  contacts: readonly { id: string; email_key: string }[],
): Promise<ReadonlyMap<string, ExclusionReason>> {
  const reasons = new Map<string, ExclusionReason>(await excludedByEarlier(tx, earlier, contacts));
  if (excluded === undefined) return reasons;
  const ids = contacts.map(({ id }) => id);
  for (const id of await matchesAmong(tx, teamId, { filter: excluded, ids })) reasons.set(id, 'excluded_segment');
  return reasons;
}

const presentName = ({ id, name }: { id: string; name: string }) => ({ id, name });

/** Presents the recipients of a broadcast with the names of everything that decides about them. */
export const presentAudience = ({ segments, excludedSegments, notReceivedFrom, notOpened }: Audience) => ({
  segments: segments.map(presentName),
  exclude_segments: excludedSegments.map(presentName),
  not_received_from: notReceivedFrom.map(presentName),
  received_but_not_opened: notOpened && presentName(notOpened),
});
