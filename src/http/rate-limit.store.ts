import type { Executor } from '../platform/db/index.ts';

/**
 * Refills the bucket and takes a token in one statement; the row lock orders the nodes. Nothing is written when there
 * is no token, so that a caller who goes on asking does not keep the bucket empty.
 */
export async function takeFromSharedBucket(
  db: Executor,
  bucket: { name: string; burst: number; perSecond: number; now: number },
): Promise<{ tokens: number; allowed: boolean }> {
  const { name, burst, perSecond, now } = bucket;
  const refilled = `least(?::float8, rate_limits.tokens + greatest(0, ?::bigint - rate_limits.updated_at) * ?::float8 / 1000)`;
  const fill = [burst, now, perSecond];
  const taken = await db.get<{ tokens: number }>(
    `insert into rate_limits (bucket, tokens, updated_at) values (?, ?::float8 - 1, ?::bigint)
       on conflict (bucket) do update
         set tokens = ${refilled} - 1, updated_at = greatest(rate_limits.updated_at, excluded.updated_at)
         where ${refilled} >= 1
       returning tokens`,
    [name, burst, now, ...fill, ...fill],
  );
  if (taken) return { tokens: taken.tokens, allowed: true };
  const left = await db.get<{ tokens: number }>(`select ${refilled} as tokens from rate_limits where bucket = ?`, [
    ...fill,
    name,
  ]);
  return { tokens: left?.tokens ?? 0, allowed: false };
}
