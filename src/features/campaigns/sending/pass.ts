import type { Filter } from '../../../protocol/contact-filter/index.ts';

/** A walk through those members of a segment who are due. */
export interface Pass {
  /** The moment at which they are due; null where all are due when it is sent. */
  at: number | null;
  filter: Filter;
  /** The pass behind it, and when it is due; undefined behind the last one. */
  next: { at: number; dueAt: number } | undefined;
}
