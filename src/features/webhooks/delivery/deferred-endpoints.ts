import type { World } from '../../../platform/world/index.ts';

const DEFER_MS = 60_000;
const FORGET_MS = 10 * DEFER_MS;

/** Endpoints that cannot be used because of an internal error: each is tried again after a minute, and logged once. */
export class DeferredEndpoints {
  readonly #world: Pick<World, 'clock' | 'log'>;
  readonly #deferred = new Map<string, { until: number; reason: string }>();

  constructor(world: Pick<World, 'clock' | 'log'>) {
    this.#world = world;
  }

  add(id: string, error: Error): void {
    const now = this.#world.clock.steady();
    for (const [known, { until }] of this.#deferred) if (until + FORGET_MS < now) this.#deferred.delete(known);
    const isKnown = this.#deferred.get(id)?.reason === error.message;
    this.#deferred.set(id, { until: now + DEFER_MS, reason: error.message });
    if (!isKnown) this.#world.log.error({ err: error, webhookId: id }, 'a webhook cannot be sent to and is held back');
  }

  has(id: string): boolean {
    return (this.#deferred.get(id)?.until ?? 0) > this.#world.clock.steady();
  }

  /** Has them all tried again, as a change may have fixed them. */
  retry(): void {
    for (const entry of this.#deferred.values()) entry.until = 0;
  }
}
