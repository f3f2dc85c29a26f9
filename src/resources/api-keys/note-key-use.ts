import type { World } from '../../platform/world/index.ts';
import { noteUse } from './api-keys.store.ts';

const REFRESH_MS = 60_000;
const KEYS_REMEMBERED_MAX = 10_000;

/** Keeps `last_used_at`, written at most once a minute for a key, and never waited for by a request. */
export function createKeyUse(world: World): (keyId: string) => void {
  const written = new Map<string, number>();
  const write = world.commits.lane<string, void>(async (tx, keyIds) => {
    const now = world.clock.now();
    await noteUse(tx, [...new Set(keyIds)], now, now - REFRESH_MS);
    return keyIds.map(() => undefined);
  });
  return (keyId) => {
    const now = world.clock.now();
    const last = written.get(keyId);
    if (last !== undefined && now - last < REFRESH_MS) return;
    if (written.size >= KEYS_REMEMBERED_MAX) written.clear();
    written.set(keyId, now);
    write(keyId).catch((error: unknown) => world.log.warn({ err: error, keyId }, 'could not note the use of a key'));
  };
}
