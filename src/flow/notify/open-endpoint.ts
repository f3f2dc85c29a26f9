import type { PostLine } from '../../platform/fetch/index.ts';
import type { World } from '../../platform/world/index.ts';
import type { HmacSha256 } from '../../protocol/hmac/index.ts';
import { webhookKey } from '../../protocol/webhook-signature/index.ts';
import { signingSecretsOf } from '../../resources/webhooks/index.ts';
import { TIMEOUT_MS } from './attempt.ts';
import type { EndpointRow } from './notify.store.ts';

/** An endpoint with its connections and keys. */
export interface OpenEndpoint {
  row: EndpointRow;
  url: string;
  path: string;
  line: PostLine;
  /** Those that sign now, its own first. */
  keys(): readonly HmacSha256[];
}

/** Opens what a row says; connections are kept as long as the address is the same, and keys as long as the secrets are. */
export function openEndpoint(
  world: World,
  row: EndpointRow,
  { before, connectionsMax }: { before: OpenEndpoint | undefined; connectionsMax: number },
): OpenEndpoint {
  const keys = before && hasSecretsOf(before.row, row) ? before.keys : keysOf(world, row);
  if (before?.url === row.endpoint) return { ...before, row, keys };
  // What is under way there still ends.
  void before?.line.close();
  const url = new URL(row.endpoint);
  const line = world.fetch.line(url, { connectionsMax, closeMs: TIMEOUT_MS });
  return { row, url: row.endpoint, path: url.pathname + url.search, line, keys };
}

const hasSecretsOf = (one: EndpointRow, other: EndpointRow): boolean =>
  one.secret_sealed === other.secret_sealed &&
  one.previous_secret_sealed === other.previous_secret_sealed &&
  one.previous_secret_until === other.previous_secret_until;

/** Unsealed once, and again only when the time of the secret before is over. */
function keysOf(world: World, row: EndpointRow): () => readonly HmacSha256[] {
  let keys: readonly HmacSha256[] | undefined;
  let until = 0;
  return () => {
    const now = world.clock.now();
    if (keys && now < until) return keys;
    keys = signingSecretsOf(world, row, now).map(webhookKey);
    until = keys.length > 1 ? (row.previous_secret_until ?? Infinity) : Infinity;
    return keys;
  };
}
