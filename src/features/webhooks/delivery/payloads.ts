import type { GroupCommit } from '../../../platform/db/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { insertPayloads, payloadsOf, type PayloadRow } from '../endpoints/index.ts';
import type { DueEvent } from './endpoints.store.ts';

/** The exact bodies of a team's events, by event; they are stored before they are returned. */
export type Payloads = (teamId: string, events: readonly DueEvent[]) => Promise<Map<string, string>>;

export function createPayloads(world: World, commits: GroupCommit): Payloads {
  const write = commits.lane<readonly PayloadRow[], number>(
    async (tx, items) => {
      // Two endpoints may have rendered the same event: each gets the number of its own that are new.
      const counts: number[] = [];
      for (const rows of items) counts.push(await insertPayloads(tx, rows));
      return counts;
    },
    (rows) => ({ weight: rows.length }),
  );
  return (teamId, events) => {
    const orders = events.map(({ event_id: eventId, type, created_at: at }) => ({ eventId, type, at }));
    return payloadsOf(world, teamId, orders, write);
  };
}
