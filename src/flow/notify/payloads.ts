import { createGroupCommit } from '../../platform/db/index.ts';
import type { World } from '../../platform/world/index.ts';
import { insertPayloads, payloadsOf, type PayloadRow } from '../../resources/webhooks/index.ts';
import { createKeptTexts } from './kept-texts.ts';
import type { DueEvent } from './notify.store.ts';

/** Events that several endpoints of a team are told of at the same time are rendered once: 16 MB at two bytes each. */
const KEPT_CHARS_MAX = 8 * 1024 * 1024;

/**
 * The bodies of events, by event, stored before they are answered. What was asked for lately is remembered: an event
 * usually goes to every endpoint of its team at about the same time. No commit waits for the disk: what a power cut takes
 * back is rendered again, to the same bytes.
 */
export function createPayloads(
  world: World,
): (teamId: string, events: readonly DueEvent[]) => Promise<Map<string, string>> {
  const write = createGroupCommit({ tx: world.db.txUnsynced }).lane<readonly PayloadRow[], number>(
    async (tx, items) => {
      // Two endpoints may have rendered the same event: each lot is told how many of its own are new.
      const counts: number[] = [];
      for (const rows of items) counts.push(await insertPayloads(tx, rows));
      return counts;
    },
    (rows) => rows.length,
  );
  const kept = createKeptTexts(KEPT_CHARS_MAX);

  return async (teamId, events) => {
    const found = new Map<string, string>();
    const missing: DueEvent[] = [];
    for (const event of events) {
      const payload = kept.get(event.event_id);
      if (payload === undefined) missing.push(event);
      else found.set(event.event_id, payload);
    }
    if (missing.length === 0) return found;
    const orders = missing.map(({ event_id: eventId, type, created_at: at, attempt_count: attempts }) => {
      return { eventId, type, at, isFirst: attempts === 0 };
    });
    for (const [eventId, payload] of await payloadsOf(world, teamId, orders, write)) {
      found.set(eventId, payload);
      kept.keep(eventId, payload);
    }
    return found;
  };
}
