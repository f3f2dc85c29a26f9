import { textsIn, type Executor } from '../../platform/db/index.ts';

export interface BucketForm {
  burst: number;
  perSecond: number;
  now: number;
}

/** The tokens that remain in a bucket, and the number of tokens taken. */
export interface Taken {
  tokens: number;
  count: number;
}

/**
 * Refills buckets and takes as many tokens from each as are wanted and available, in one statement; the row locks order
 * the nodes, and the names order the locks. A bucket without a token is not written, so that a caller who goes on
 * asking does not keep it empty.
 */
export async function takeFromSharedBuckets(
  db: Executor,
  wanted: ReadonlyMap<string, number>,
  { burst, perSecond, now }: BucketForm,
): Promise<Map<string, Taken>> {
  const refilled = `least(?::float8, rate_limits.tokens + greatest(0, ?::bigint - rate_limits.updated_at) * ?::float8 / 1000)`;
  const fill = [burst, now, perSecond];
  const rows = await db.all<{ bucket: string; tokens: number; taken: number }>(
    `insert into rate_limits (bucket, tokens, updated_at, taken)
       select key, ?::float8 - least(value::integer, floor(?::float8)), ?::bigint, least(value::integer, floor(?::float8))
         from jsonb_each_text(?::jsonb) order by key
       on conflict (bucket) do update
         set taken = least(excluded.taken, floor(${refilled})), tokens = ${refilled} - least(excluded.taken, floor(${refilled})),
           updated_at = greatest(rate_limits.updated_at, excluded.updated_at)
         where ${refilled} >= 1
       returning bucket, tokens, taken`,
    [burst, burst, now, burst, JSON.stringify(Object.fromEntries(wanted)), ...fill, ...fill, ...fill, ...fill],
  );
  const taken = new Map(rows.map(({ bucket, tokens, taken: count }) => [bucket, { tokens, count }]));
  const empty = [...wanted.keys()].filter((name) => !taken.has(name));
  if (empty.length === 0) return taken;
  const names = textsIn('pg', 'bucket', empty);
  const left = await db.all<{ bucket: string; tokens: number }>(
    `select bucket, ${refilled} as tokens from rate_limits where ${names.sql}`,
    [...fill, names.value],
  );
  for (const { bucket, tokens } of left) taken.set(bucket, { tokens, count: 0 });
  return taken;
}
