import type { Executor } from '../../platform/db/index.ts';
import { refuse } from '../../platform/refusal/index.ts';
import { parseFilter, type Declared, type Filter } from '../../protocol/contact-filter/index.ts';
import { hasMembers, segmentsWithMembers, type SegmentRow } from './segments.store.ts';

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

function whole(segment: SegmentRow, declared: Declared, hasAdded: boolean): Filter {
  const member: Filter = { kind: 'member', segmentId: segment.id };
  if (segment.filter === null) return member;
  const { filter } = parseFilter(JSON.parse(segment.filter), declared);
  return hasAdded ? { kind: 'any', of: [filter, member] } : filter;
}
