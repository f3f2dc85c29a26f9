import type { Filter } from './filter.ts';

/** A parsed filter: a condition that names something that does not exist is unknown for every contact. */
export type ReadFilter = Filter | { kind: 'all' | 'any' | 'none'; of: readonly ReadFilter[] } | { kind: 'unknown' };

const NEVER: Filter = { kind: 'never' };

/**
 * Rewrites a three-valued filter as a two-valued one that matches exactly where the first is true. The negation of an
 * unknown condition is unknown as well, so it matches nobody either. A filter without an unknown condition stays as it
 * is.
 */
export function whereTrue(filter: ReadFilter): Filter {
  return isKnown(filter) ? filter : rewrite(filter, true);
}

function isKnown(filter: ReadFilter): filter is Filter {
  return 'of' in filter ? filter.of.every(isKnown) : filter.kind !== 'unknown';
}

/**
 * Returns the filter that matches where this one has the wanted value; contacts for whom it is unknown match neither.
 */
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

/** Omits parts that match nobody, because they would prevent the use of an index for the others. */
function meetAny(parts: readonly Filter[]): Filter {
  const possible = parts.filter(({ kind }) => kind !== 'never');
  return possible.length === 0 ? NEVER : { kind: 'any', of: possible };
}
