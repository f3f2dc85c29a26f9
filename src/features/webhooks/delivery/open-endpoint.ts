import type { KeyObject } from 'node:crypto';
import type { PostPool } from '../../../platform/fetch/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { webhookKey } from '../../../protocol/webhook-signature/index.ts';
import { signingSecretsOf } from '../endpoints/index.ts';
import type { EndpointRow } from './endpoints.store.ts';

/** The time of one attempt, from the connection to the end of the answer. */
export const TIMEOUT_MS = 10_000;

/** An endpoint with its connections and keys. */
export interface OpenEndpoint {
  row: EndpointRow;
  path: string;
  pool: PostPool;
  /** The keys that sign now, the endpoint's present one first. */
  keys: readonly KeyObject[];
}

export interface Endpoints {
  /** Opens the endpoint of a row; connections are kept as long as its URL is the same. */
  open(row: EndpointRow): OpenEndpoint;
  /** Closes the connections of all other endpoints. */
  closeAllBut(ids: ReadonlySet<string>): void;
  close(): Promise<void>;
}

/** The endpoint cannot be used because of an internal error, such as a secret that was sealed with another key. */
export class UnusableEndpoint extends Error {}

/** Keeps the connections of each endpoint, so that successive events share one. */
export function createEndpoints(world: World): Endpoints {
  const pools = new Map<string, { url: URL; pool: PostPool }>();

  function poolOf({ id, endpoint }: EndpointRow): { url: URL; pool: PostPool } {
    const known = pools.get(id);
    const url = new URL(endpoint);
    if (known?.url.href === url.href) return known;
    const connectionsMax = world.config.webhooks.max_in_flight_per_endpoint;
    const opened = { url, pool: world.fetch.pool(url, { connectionsMax, closeMs: TIMEOUT_MS }) };
    // Requests under way on the old connections still end.
    void known?.pool.close();
    pools.set(id, opened);
    return opened;
  }

  return {
    open(row) {
      try {
        const keys = signingSecretsOf(world, row, world.clock.now()).map(webhookKey);
        const { url, pool } = poolOf(row);
        return { row, path: url.pathname + url.search, pool, keys };
      } catch (error) {
        throw new UnusableEndpoint(String(error), { cause: error });
      }
    },
    closeAllBut(ids) {
      for (const [id, { pool }] of pools) {
        if (ids.has(id)) continue;
        pools.delete(id);
        void pool.close();
      }
    },
    async close() {
      await Promise.all([...pools.values()].map(({ pool }) => pool.cut()));
    },
  };
}
