import type { Executor } from '../../../platform/db/index.ts';
import { refuse } from '../../../platform/refusal/index.ts';
import { listPropertyKeys, parseFilter, type Declared, type Filter } from '../../../protocol/contact-filter/index.ts';
import {
  hasMembers,
  liveSegments,
  saveLostProperties,
  segmentsWithMembers,
  type SegmentRow,
} from './segments.store.ts';

/** A filter of a body; refused with one entry for each condition at fault. */
export function checkedFilter(input: unknown, declared: Declared): Filter {
  const { filter, faults } = parseFilter(input, declared);
  const [first] = faults;
  if (!first) return filter;
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : '';
  throw refuse('validation_error', { status: 422, say: first.message + more, errors: faults });
}

/** Who is in a segment now: what its filter matches, and who was added to it. */
export const filterOf = async (db: Executor, segment: SegmentRow, declared: Declared): Promise<Filter> =>
  whole(segment, declared, segment.filter !== null && (await hasMembers(db, segment.id)));

/** The same of several, in their order. */
export async function filtersOf(db: Executor, segments: readonly SegmentRow[], declared: Declared): Promise<Filter[]> {
  const added = await segmentsWithMembers(
    db,
    segments.map(({ id }) => id),
  );
  return segments.map((segment) => whole(segment, declared, added.has(segment.id)));
}

/** Leaves out the properties that have taken the place of one that the segment was made with: nobody has a value of it yet. */
export function withoutLost(
  { lost_properties: lost }: Pick<SegmentRow, 'lost_properties'>,
  declared: Declared,
): Declared {
  if (lost === null) return declared;
  const keys = new Set(JSON.parse(lost) as string[]);
  return { ...declared, properties: declared.properties.filter(({ key }) => !keys.has(key)) };
}

/** Notes in the segments whose filter names a property that it is being deleted. */
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
