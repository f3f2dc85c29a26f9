import type { GroupCommit } from '../../platform/db/index.ts';
import type { World } from '../../platform/world/index.ts';
import { insertPayloads, payloadsOf, type PayloadRow } from '../../resources/webhooks/index.ts';
import type { DueEvent } from './endpoints.store.ts';

/** The exact bodies of a team's events, by event; they stand in the database before they are answered. */
export type Payloads = (teamId: string, events: readonly DueEvent[]) => Promise<Map<string, string>>;

/** Of bodies that are kept in memory; an entry counts as if it had a few more. 16 MB at two bytes each. */
const KEPT_CHARS_MAX = 8 * 1024 * 1024;
const CHARS_AN_ENTRY = 256;

/** An event usually goes to every endpoint of its team at about the same time: it is rendered for the first one alone. */
export function createPayloads(world: World, commits: GroupCommit): Payloads {
  const store = commits.lane<readonly PayloadRow[], number>(
    async (tx, items) => {
      // Two endpoints may have rendered the same event: each is told how many of its own are new.
      const counts: number[] = [];
      for (const rows of items) counts.push(await insertPayloads(tx, rows));
      return counts;
    },
    (rows) => rows.length,
  );
  const kept = new Map<string, string>();
  let keptChars = 0;

  function keep(eventId: string, payload: string): void {
    keptChars += payload.length + CHARS_AN_ENTRY;
    if (keptChars > KEPT_CHARS_MAX) {
      kept.clear();
      keptChars = payload.length + CHARS_AN_ENTRY;
    }
    kept.set(eventId, payload);
  }

  return async (teamId, events) => {
    const orders = events
      .filter((event) => !kept.has(event.event_id))
      .map(({ event_id: eventId, type, created_at: at, attempt_count: count }) => {
        return { eventId, type, at, isFirst: count === 0 };
      });
    const made = await payloadsOf(world, teamId, orders, store);
    const found = new Map(made);
    for (const { event_id: eventId } of events) {
      const payload = kept.get(eventId);
      if (payload !== undefined) found.set(eventId, payload);
    }
    for (const [eventId, payload] of made) keep(eventId, payload);
    return found;
  };
}
