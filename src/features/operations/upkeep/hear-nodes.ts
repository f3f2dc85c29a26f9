import type { World } from '../../../platform/world/index.ts';
import { findingOf } from '../findings/index.ts';
import type { Node } from './node.ts';

/** A restart of the database, or a fail-over, is over by then. */
const DEAF_MS_MAX = 5 * 60_000;

/**
 * Hears what other processes commit, so that this one looks at once; it works as well by polling alone, only later. Answers
 * what ends it.
 */
export function hearOtherNodes(world: World, node: Pick<Node, 'watch'>): () => Promise<void> {
  const { db, log, config, random, clock, meter } = world;
  const hearing = db.hear({
    ...{ url: config.database.listen_url, random },
    onFault: (err) =>
      log.warn({ err }, 'does not hear other nodes, and finds what they commit by polling until it does'),
  });
  let outage: { of: number; since: number } | undefined;
  node.watch(() => {
    const deafSince = hearing.deafSince();
    if (deafSince === undefined) outage = undefined;
    else if (outage?.of !== deafSince) outage = { of: deafSince, since: clock.now() };
    const isLong = outage !== undefined && clock.now() - outage.since >= DEAF_MS_MAX;
    return isLong && outage ? [findingOf('nodes_not_heard', { since: outage.since })] : [];
  });
  meter.watch('rasket_nodes_heard', () => [{ value: hearing.deafSince() === undefined ? 1 : 0 }]);
  return () => hearing.close();
}
