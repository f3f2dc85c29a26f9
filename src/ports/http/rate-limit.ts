import type { FastifyRequest } from 'fastify';
import { clientKey } from '../../platform/network/index.ts';
import type { World } from '../../platform/world.ts';
import { batchConcurrentCalls } from '../../platform/db/index.ts';
import { takeFromSharedBuckets, type Taken } from './rate-limit.store.ts';

/** The values of the three rate limit headers. */
export interface RateState {
  limit: number;
  remaining: number;
  /** Seconds until the bucket is full again. */
  resetSeconds: number;
  allowed: boolean;
  retryAfterSeconds: number;
  /** The number of requests per second at which the bucket is refilled. */
  perSecond: number;
}

export interface RateLimit {
  /** Takes a token, if there is one. */
  take(bucket: string): Promise<RateState> | RateState;
  /** The state, without taking a token. */
  peek(bucket: string): RateState;
}

interface Bucket {
  tokens: number;
  at: number;
}

/** The bucket of callers without a credential, by network for IPv6: one customer has a whole network of addresses. */
export const bucketOfAddress = (address: string): string => `address:${clientKey(address)}`;

export const addressBucket = (request: FastifyRequest): string => bucketOfAddress(request.ip);

const BUCKETS_MAX = 50_000;

/**
 * A token bucket for each team's keys, for each person, and for each address of callers without a credential. On PostgreSQL all
 * nodes share the teams' buckets; the others are local to a node.
 */
export function createRateLimit(world: World): RateLimit {
  const { requests_per_second: perSecond, burst } = world.config.rate_limit;
  const buckets = new Map<string, Bucket>();

  /** When a bucket lacks tokens for all who ask together, the first ones get them. */
  const takeShared = batchConcurrentCalls<string, RateState>(async (names) => {
    const now = world.clock.now();
    const wanted = new Map<string, number>();
    for (const name of names) wanted.set(name, (wanted.get(name) ?? 0) + 1);
    const taken = await takeFromSharedBuckets(world.db, wanted, { burst, perSecond, now });
    const before = new Map<string, number>();
    return names.map((name) => {
      const { tokens, count }: Taken = taken.get(name) ?? { tokens: 0, count: 0 };
      const nth = (before.get(name) ?? 0) + 1;
      before.set(name, nth);
      const left = tokens + Math.max(0, count - nth);
      buckets.set(name, { tokens: left, at: now });
      return toState(left, nth <= count);
    });
  });

  function filled(bucket: Bucket | undefined, now: number): number {
    if (!bucket) return burst;
    return Math.min(burst, bucket.tokens + (Math.max(0, now - bucket.at) * perSecond) / 1000);
  }

  function toState(tokens: number, allowed: boolean): RateState {
    return {
      limit: burst,
      remaining: Math.max(0, Math.floor(tokens)),
      resetSeconds: Math.ceil((burst - tokens) / perSecond),
      allowed,
      retryAfterSeconds: Math.max(1, Math.ceil((1 - tokens) / perSecond)),
      perSecond,
    };
  }

  function takeLocal(name: string): RateState {
    const now = world.clock.now();
    const tokens = filled(buckets.get(name), now);
    const allowed = tokens >= 1;
    const left = allowed ? tokens - 1 : tokens;
    if (!buckets.has(name) && buckets.size >= BUCKETS_MAX) forgetFull(now);
    buckets.set(name, { tokens: left, at: now });
    return toState(left, allowed);
  }

  /** Full buckets are forgotten, as a new one is full too; if none is full, the oldest are. */
  function forgetFull(now: number): void {
    for (const [name, bucket] of buckets) if (filled(bucket, now) >= burst) buckets.delete(name);
    for (const name of buckets.keys()) {
      if (buckets.size < BUCKETS_MAX) return;
      buckets.delete(name);
    }
  }

  return {
    take(name) {
      if (world.db.dialect !== 'pg' || !name.startsWith('team:')) return takeLocal(name);
      return takeShared(name);
    },
    peek: (name) => toState(filled(buckets.get(name), world.clock.now()), true),
  };
}
