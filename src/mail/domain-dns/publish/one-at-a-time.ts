import type { World } from '../../../platform/world/index.ts';

/** By what a node has one of: the store of a request may be one that adds an entry to the audit log. */
const underWay = new WeakMap<World['commits'], Set<string>>();
/** Each may wait for a provider that does not answer, and holds a socket for every question. */
export const AT_ONCE_MAX = 16;

/** Runs `work` unless the same domain is being worked on, or too many are; the word says which. */
export async function oneAtATime<T>(
  world: World,
  domainId: string,
  work: () => Promise<T>,
): Promise<T | 'busy' | 'full'> {
  const ids = underWay.get(world.commits) ?? new Set();
  underWay.set(world.commits, ids);
  if (ids.has(domainId)) return 'busy';
  if (ids.size >= AT_ONCE_MAX) return 'full';
  ids.add(domainId);
  try {
    return await work();
  } finally {
    ids.delete(domainId);
  }
}
