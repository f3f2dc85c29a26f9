import type { CreateSegmentRequest, QueryOf } from '../../../contract/index.ts';
import { isUniqueViolation, type Page, type Executor } from '../../../platform/db/index.ts';
import { refuse, notFound, invalidField } from '../../../platform/refusal.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import {
  insertSegment,
  renameSegment,
  markSegmentDeleted,
  findSegment,
  listSegmentRows,
  liveSegments,
  saveLostProperties,
  segmentsWithMembers,
  type ListedSegment,
  type SegmentRow,
} from './segments.store.ts';
import { isoTime } from '../../../platform/clock.ts';
import {
  listNamedIn,
  listPropertyKeys,
  parseFilter,
  type Declared,
  type DeclaredSegment,
  type Filter,
} from '../../../protocol/contact-filter/index.ts';
import { defineHook } from '../../../platform/hook.ts';
import { declaredProperties } from '../contact-properties/contact-properties.store.ts';
import { liveTopics } from '../topics/topics.store.ts';

export async function createSegment({ store, teamId }: Ctx, { name, filter = null }: CreateSegmentRequest) {
  const id = store.ids.uuid();
  const now = store.clock.now();
  try {
    await store.db.tx(async (tx) => {
      if (filter !== null) checkedFilter(filter, await declaredFor(tx, teamId, { filters: [filter], now }));
      const stored = filter === null ? null : JSON.stringify(filter);
      await insertSegment(tx, {
        id,
        team_id: teamId,
        name,
        filter: stored,
        lost_properties: null,
        created_at: now,
      });
    });
  } catch (error) {
    throw isUniqueViolation(error) ? segmentNameTaken(name) : error;
  }
  return { object: 'segment' as const, id, name };
}

const segmentNameTaken = (name: string) =>
  refuse('invalid_parameter', {
    say: `name: a segment named ${JSON.stringify(name)} already exists; choose another name.`,
  });

export async function updateSegment({ store, teamId }: Ctx, id: string, { name }: { name: string }) {
  try {
    if (!(await store.db.tx((tx) => renameSegment(tx, teamId, id, name)))) throw notFound('Segment');
  } catch (error) {
    throw isUniqueViolation(error) ? segmentNameTaken(name) : error;
  }
  return { object: 'segment' as const, id };
}

export async function deleteSegment({ store, teamId }: Ctx, id: string) {
  const isDone = await store.db.tx((tx) => markSegmentDeleted(tx, teamId, id, store.clock.now()));
  if (!isDone) throw notFound('Segment');
  return { object: 'segment' as const, id, deleted: true as const };
}

export async function getSegment({ store, teamId }: Ctx, id: string) {
  const row = await findSegment(store.db, teamId, id);
  if (!row) throw notFound('Segment');
  const filter = row.filter === null ? null : (JSON.parse(row.filter) as Record<string, unknown>);
  return { object: 'segment' as const, ...presentSegment(row), filter };
}

export async function listSegments({ store, teamId }: Ctx, { search }: QueryOf<'listSegments'>, page: Page) {
  const { rows, hasMore } = await listSegmentRows(store.db, teamId, search, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(presentSegment) };
}

export const presentSegment = ({ id, name, created_at }: ListedSegment) => ({
  id,
  name,
  created_at: isoTime(created_at),
});

/** Reads a filter from a body. Throws with one entry for each invalid condition. */
export function checkedFilter(input: unknown, declared: Declared): Filter {
  const { filter, faults } = parseFilter(input, declared);
  const [first] = faults;
  if (!first) return filter;
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : '';
  throw refuse('validation_error', { status: 422, say: first.message + more, errors: faults });
}

/** Returns the filter for all current members of a segment: contacts that its filter matches, and those added to it. */
export async function loadSegmentFilter(db: Executor, segment: SegmentRow, now: number): Promise<Filter> {
  const [filter] = await loadSegmentFilters(db, [segment], now);
  if (!filter) throw new Error(`the filter of the segment ${segment.id} is missing`);
  return filter;
}

/** Like `loadSegmentFilter`, for several segments of a team, in their order. */
export async function loadSegmentFilters(
  db: Executor,
  segments: readonly SegmentRow[],
  now: number,
): Promise<Filter[]> {
  const [first] = segments;
  if (!first) return [];
  const filters = segments.map(readWrittenFilter);
  const declared = await declaredFor(db, first.team_id, { filters, now });
  const filtered = segments.filter(({ filter }) => filter !== null).map(({ id }) => id);
  const added = filtered.length === 0 ? new Set<string>() : await segmentsWithMembers(db, filtered);
  return segments.map((segment) => whole(segment, declared, added.has(segment.id)));
}

const readWrittenFilter = ({ filter }: Pick<SegmentRow, 'filter'>): unknown =>
  filter === null ? null : (JSON.parse(filter) as unknown);

/**
 * Removes properties that have replaced one that the segment was made with: the filter refers to the deleted one, so
 * they must not match.
 */
export function withoutLost(
  { lost_properties: lost }: Pick<SegmentRow, 'lost_properties'>,
  declared: Declared,
): Declared {
  if (lost === null) return declared;
  const keys = new Set(JSON.parse(lost) as string[]);
  return { ...declared, properties: declared.properties.filter(({ key }) => !keys.has(key)) };
}

/** Marks a property as deleted in the segments whose filter names it. */
export async function loseProperty(tx: Executor, teamId: string, key: string): Promise<void> {
  for (const { id, filter, lost_properties: lost } of await liveSegments(tx, teamId)) {
    if (filter === null || !listPropertyKeys(JSON.parse(filter)).has(key)) continue;
    await saveLostProperties(tx, id, [...new Set([...(JSON.parse(lost ?? '[]') as string[]), key])]);
  }
}

function whole(segment: SegmentRow, declared: Declared, hasAdded: boolean): Filter {
  const member: Filter = { kind: 'member', segmentId: segment.id };
  if (segment.filter === null) return member;
  const { filter } = parseFilter(JSON.parse(segment.filter), withoutLost(segment, declared));
  return hasAdded ? { kind: 'any', of: [filter, member] } : filter;
}

/** Finds what filters name and other features have: broadcasts by their ids, and custom events by their names. */
export const findNamedInFilters =
  defineHook<
    (
      db: Executor,
      teamId: string,
      named: { broadcasts: readonly string[]; events: readonly string[] },
    ) => Promise<Pick<Declared, 'broadcasts' | 'events'>>
  >('findNamedInFilters');

/** Segments are looked up level by level; no filter that is accepted has more levels. */
const LEVELS_MAX = 10;

/** Returns what these filters of a team may name, and the time from which their relative times are counted. */
export async function declaredFor(
  db: Executor,
  teamId: string,
  { filters, now }: { filters: readonly unknown[]; now: number },
): Promise<Declared> {
  const segments = new Map<string, DeclaredSegment>();
  const broadcasts = new Set<string>();
  const events = new Set<string>();
  let inputs = filters;
  for (let level = 0; level < LEVELS_MAX && inputs.length > 0; level++) {
    const named = listNamedIn(inputs);
    for (const id of named.broadcasts) broadcasts.add(id);
    for (const name of named.events) events.add(name);
    const found = await declareSegments(
      db,
      teamId,
      named.segments.filter((id) => !segments.has(id)),
    );
    for (const one of found) segments.set(one.id, one);
    inputs = found.map(({ filter }) => filter);
  }
  const named = { broadcasts: [...broadcasts], events: [...events] };
  const isNamed = named.broadcasts.length > 0 || named.events.length > 0;
  const others = isNamed
    ? await findNamedInFilters.call(db, teamId, named)
    : { broadcasts: new Set<string>(), events: new Map<string, string>() };
  return {
    properties: await declaredProperties(db, teamId),
    topics: await liveTopics(db, teamId),
    ...others,
    segments,
    now,
  };
}

async function declareSegments(db: Executor, teamId: string, ids: readonly string[]): Promise<DeclaredSegment[]> {
  if (ids.length === 0) return [];
  const rows = await liveSegments(db, teamId, ids);
  const added = await segmentsWithMembers(db, ids);
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    filter: readWrittenFilter(row),
    lostProperties: new Set(JSON.parse(row.lost_properties ?? '[]') as string[]),
    hasMembers: added.has(row.id),
  }));
}

/** Reference to a segment in a body. */
export type NamedSegment = string | { id: string };

/** Returns the ids of the segments in a body without duplicates. Throws if one does not belong to the team. */
export async function readSegmentIds(db: Executor, teamId: string, given: readonly NamedSegment[]): Promise<string[]> {
  return pickSegmentIds(given, await findKnownSegments(db, teamId, given));
}

const toSegmentId = (one: NamedSegment): string => (typeof one === 'string' ? one : one.id).toLowerCase();

/** Returns the ids of those segments that the team has. */
export async function findKnownSegments(
  db: Executor,
  teamId: string,
  given: readonly NamedSegment[],
): Promise<ReadonlySet<string>> {
  if (given.length === 0) return new Set();
  const rows = await liveSegments(db, teamId, [...new Set(given.map(toSegmentId))]);
  return new Set(rows.map(({ id }) => id));
}

/** Returns the ids of the segments in a body, each once. Refuses one that is not among the known ones. */
export function pickSegmentIds(given: readonly NamedSegment[], known: ReadonlySet<string>): string[] {
  const ids = given.map(toSegmentId);
  const stray = ids.findIndex((id) => !known.has(id));
  if (stray >= 0) throw invalidField(`segments.${stray}`, `segments.${stray} does not match a segment of this team.`);
  return [...new Set(ids)];
}
