import type { DkimKeyRow } from './domain-rows.ts';

export interface TurnedKeys {
  /** The keys as they are from now on, oldest first. */
  keys: DkimKeyRow[];
  activated: DkimKeyRow[];
  retired: DkimKeyRow[];
  /** Retired for long enough: no message that they signed is on its way any more. */
  dropped: DkimKeyRow[];
}

/**
 * Takes a rotation one step further: once the incoming RSA key is seen in DNS the incoming keys sign, and the old ones
 * stay published until what they signed has arrived.
 */
export function turnKeys(
  keys: readonly DkimKeyRow[],
  isSeen: (key: DkimKeyRow) => boolean,
  { now, retireMs }: { now: number; retireMs: number },
): TurnedKeys {
  const isDue = keys.some((key) => key.status === 'incoming' && key.algorithm === 'rsa-sha256' && isSeen(key));
  const activated = isDue ? keys.filter((key) => key.status === 'incoming') : [];
  const retired = isDue ? keys.filter((key) => key.status === 'active') : [];
  const dropped = keys.filter((key) => key.status === 'retiring' && (key.status_at ?? 0) + retireMs <= now);
  const after = keys
    .filter((key) => !dropped.includes(key))
    .map((key): DkimKeyRow => {
      if (activated.includes(key)) return { ...key, status: 'active', status_at: now };
      return retired.includes(key) ? { ...key, status: 'retiring', status_at: now } : key;
    });
  return { keys: after, activated, retired, dropped };
}
