import { setTimeout as wait } from 'node:timers/promises';
import type { Client } from '../../cli/client/index.ts';
import type { Field, List } from '../../cli/families/index.ts';

interface Counts {
  contacts: number;
  subscribed: number;
  unsubscribed: number;
}

/** Counting goes through all contacts: once in a while is enough. */
const FRESH_MS = 60_000;
/** Between two questions, so that the rest of the screen has its turn in what a team may ask. */
const PAUSE_MS = 150;
const MOST = 50;

/** Columns that the list of an operation has here beside its own, asked for row by row once the list is there. */
export interface MoreColumns {
  fields: readonly Field<never>[];
  ask: (rows: readonly { id: string }[], signal: AbortSignal) => Promise<void>;
}

export const moreColumnsOf = ({ operation }: List, client: Client, changed: () => void): MoreColumns | undefined =>
  operation === 'listSegments' ? new SegmentCounts(client, changed) : undefined;

/** How many contacts are in each segment that is listed. */
class SegmentCounts implements MoreColumns {
  readonly fields: readonly Field<never>[];
  readonly #client: Client;
  readonly #changed: () => void;
  readonly #known = new Map<string, { counts: Counts; at: number }>();
  #isAsking = false;

  constructor(client: Client, changed: () => void) {
    this.#client = client;
    this.#changed = changed;
    this.fields = (['contacts', 'subscribed', 'unsubscribed'] as const).map((name): Field<{ id: string } & Counts> => {
      const value = ({ id }: { id: string }): number | undefined => this.#known.get(id)?.counts[name];
      return { name, label: `${name[0]?.toUpperCase()}${name.slice(1)}`, kind: 'whole', value };
    });
  }

  async ask(rows: readonly { id: string }[], signal: AbortSignal): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      for (const { id } of rows.slice(0, MOST)) {
        const known = this.#known.get(id);
        if (known && Date.now() - known.at < FRESH_MS) continue;
        const counts = await this.#client.call('getSegmentMetrics', { path: { segment: id } }, signal);
        this.#known.set(id, { counts, at: Date.now() });
        this.#changed();
        await wait(PAUSE_MS, undefined, { signal, ref: false });
      }
    } catch {
      // The list says itself what is wrong with the server; a segment may be gone by now.
    } finally {
      this.#isAsking = false;
    }
  }
}
