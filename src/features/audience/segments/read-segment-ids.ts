import type { Executor } from '../../../platform/db/index.ts';
import { invalidField } from '../../../platform/refusal/index.ts';
import { liveSegments } from './segments.store.ts';

/** A segment as a body names it. */
export type NamedSegment = string | { id: string };

/** The ids of a body's segments, each once, all of them the team's. */
export async function readSegmentIds(db: Executor, teamId: string, given: readonly NamedSegment[]): Promise<string[]> {
  if (given.length === 0) return [];
  const ids = given.map((one) => (typeof one === 'string' ? one : one.id).toLowerCase());
  const known = new Set((await liveSegments(db, teamId, ids)).map(({ id }) => id));
  const stray = ids.findIndex((id) => !known.has(id));
  if (stray >= 0) throw invalidField(`segments.${stray}`, `segments.${stray} names no segment of this team.`);
  return [...new Set(ids)];
}
