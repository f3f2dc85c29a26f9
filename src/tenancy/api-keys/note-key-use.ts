import type { Store } from '../../platform/store/index.ts';
import { noteUse, type KeyUse } from './api-keys.store.ts';

const REFRESH_MS = 60_000;
const KEYS_REMEMBERED_MAX = 10_000;

/**
 * Keeps when a key was used last and for which request, where one is logged, written at most once a minute for a key, and
 * never waited for.
 */
export function createKeyUse(store: Store): (keyId: string, requestId: string | null) => void {
  const written = new Map<string, number>();
  const write = store.commits.lane<KeyUse, void>(async (tx, uses) => {
    const now = store.clock.now();
    await noteUse(tx, [...new Map(uses.map((use) => [use.keyId, use])).values()], now, now - REFRESH_MS);
    return uses.map(() => undefined);
  });
  // A request that is not logged has no entry to point to.
  const { enabled: isLogged } = store.config.logs;
  return (keyId, requestId) => {
    const now = store.clock.now();
    const last = written.get(keyId);
    if (last !== undefined && now - last < REFRESH_MS) return;
    if (written.size >= KEYS_REMEMBERED_MAX) written.clear();
    written.set(keyId, now);
    write({ keyId, requestLogId: isLogged ? requestId : null }).catch((error: unknown) =>
      store.log.warn({ err: error, keyId }, 'could not note the use of a key'),
    );
  };
}
