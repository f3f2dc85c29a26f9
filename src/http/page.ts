import type { Page } from '../platform/db/index.ts';
import { refuse } from '../platform/refusal/index.ts';

const LIMIT_DEFAULT = 20;

/** The page parameters of every list, their types already checked. */
export function pageOf(query: Record<string, unknown>): Page {
  const { limit = LIMIT_DEFAULT, after, before } = query as Partial<Page>;
  if (after !== undefined && before !== undefined) {
    throw refuse('invalid_parameter', { say: 'Give only one of after and before; they exclude each other.' });
  }
  return { limit, after, before };
}
