import type { Filter } from './filter.ts';

/** A filter as it was read: a condition that names what does not exist is unknown of every contact. */
export type ReadFilter = Filter | { kind: 'all' | 'any' | 'none'; of: readonly ReadFilter[] } | { kind: 'unknown' };

const NEVER: Filter = { kind: 'never' };

/**
 * Rewrites a filter of three values as one of two, which is met exactly where the first is true. The negation of what is
 * unknown is unknown as well, so that it matches nobody either. A filter without an unknown condition stays as it is.
 */
export function whereTrue(filter: ReadFilter): Filter {
  return isKnown(filter) ? filter : rewrite(filter, true);
}

function isKnown(filter: ReadFilter): filter is Filter {
  return 'of' in filter ? filter.of.every(isKnown) : filter.kind !== 'unknown';
}

/** The filter that is met where this one has the wanted value; both exclude the contacts of whom it is unknown. */
function rewrite(filter: ReadFilter, wanted: boolean): Filter {
  switch (filter.kind) {
    case 'unknown':
      return NEVER;
    case 'all':
    case 'any': {
      const parts = filter.of.map((part) => rewrite(part, wanted));
      return (filter.kind === 'all') === wanted ? meetAll(parts) : meetAny(parts);
    }
    case 'none': {
      const parts = filter.of.map((part) => rewrite(part, !wanted));
      return wanted ? meetAll(parts) : meetAny(parts);
    }
    default:
      return wanted ? filter : { kind: 'none', of: [filter] };
  }
}

const meetAll = (parts: readonly Filter[]): Filter =>
  parts.some(({ kind }) => kind === 'never') ? NEVER : { kind: 'all', of: parts };

/** Parts that nobody meets are left out, because they would keep the others from being found by an index. */
function meetAny(parts: readonly Filter[]): Filter {
  const possible = parts.filter(({ kind }) => kind !== 'never');
  return possible.length === 0 ? NEVER : { kind: 'any', of: possible };
}
