import { createHash } from 'node:crypto';
import { isUniqueViolation, type Executor } from '../../platform/db/index.ts';
import { refuse } from '../../platform/refusal.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { findAnswer, insertAnswers } from './idempotency.store.ts';
import type { World } from '../../platform/world.ts';

export interface Idempotency {
  key: string;
  requestHash: string;
}

/** No client can send this character within a header, so no key of a team equals one of an app, nor one of ours. */
const APP_KEYS = '\u0002';

/**
 * Returns the idempotency of a request, undefined if it has no key. An app has its own keys for each person who
 * authorized it: it must neither use up the keys of the team's programs or of other apps, nor receive their responses.
 * A new grant of the same app keeps them.
 */
export function readIdempotency(
  { actor }: Pick<Ctx, 'actor'>,
  header: { 'Idempotency-Key'?: string } | undefined,
  { operation, said }: { operation: string; said: unknown },
): Idempotency | undefined {
  const given = header?.['Idempotency-Key'];
  if (given === undefined) return undefined;
  const key = actor.kind === 'oauth_grant' ? `${APP_KEYS}${actor.clientId} ${actor.userId} ${given}` : given;
  return { key, requestHash: hashRequest(operation, said) };
}

const KEPT_MS = 24 * 3_600_000;

/** Hashes a request. Two requests are the same if they have the same content, in whatever order of fields. */
export function hashRequest(operation: string, body: unknown): string {
  return createHash('sha256').update(operation).update('\n').update(canonicalJson(body)).digest('hex');
}

/** Deeper than any send; a batch whose entries are refused one by one is hashed before its depth is checked. */
const DEPTH_MAX = 100;

function canonicalJson(value: unknown, depth = 0): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (depth > DEPTH_MAX) {
    throw refuse('validation_error', { status: 400, say: `The body is nested deeper than ${DEPTH_MAX} levels.` });
  }
  const inside = (field: unknown): string => canonicalJson(field, depth + 1);
  if (Array.isArray(value)) return `[${value.map(inside).join(',')}]`;
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${inside(field)}`).join(',')}}`;
}

/**
 * Returns the stored response to this request, undefined if the key is new. Refuses if the key was used for another
 * request.
 */
async function storedAnswer<T>(
  db: Executor,
  teamId: string,
  idempotency: Idempotency,
  now: number,
): Promise<T | undefined> {
  const row = await findAnswer(db, teamId, idempotency.key, now);
  if (!row) return undefined;
  if (row.request_hash === idempotency.requestHash) return JSON.parse(row.response) as T;
  throw refuse('invalid_idempotent_request', {
    say: 'This Idempotency-Key was used with a different request in the last 24 hours; use a new key for a new request.',
  });
}

export const keepAnswers = (
  tx: Executor,
  answers: { teamId: string; idempotency: Idempotency; response: unknown }[],
  now: number,
): Promise<void> =>
  insertAnswers(
    tx,
    answers.map(({ teamId, idempotency, response }) => ({
      team_id: teamId,
      key: idempotency.key,
      request_hash: idempotency.requestHash,
      response: JSON.stringify(response),
      expires_at: now + KEPT_MS,
    })),
    now,
  );

/** Stores a response for requests that repeat this one, in the transaction of the work that it reports. */
export type KeepAnswer = (tx: Executor, answer: unknown) => Promise<void>;

/** Processes one request at a time for each idempotency key; a repeated request gets the response to the first. */
export function createIdempotent(world: World) {
  const inFlight = new Set<string>();

  const answered = <Answer>(ctx: Ctx, idempotency: Idempotency | undefined): Promise<Answer | undefined> =>
    idempotency
      ? storedAnswer<Answer>(world.db, ctx.teamId, idempotency, world.clock.now())
      : Promise.resolve(undefined);

  async function withIdempotency<Answer>(
    ctx: Ctx,
    idempotency: Idempotency | undefined,
    work: () => Promise<Answer>,
  ): Promise<Answer> {
    if (!idempotency) return work();
    const key = `${ctx.teamId} ${idempotency.key}`;
    if (inFlight.has(key)) {
      throw refuse('concurrent_idempotent_requests', {
        say: 'A request with this Idempotency-Key is still being processed; wait for its response and try again.',
      });
    }
    inFlight.add(key);
    try {
      return (await answered<Answer>(ctx, idempotency)) ?? (await work());
    } finally {
      inFlight.delete(key);
    }
  }

  /**
   * Runs an operation that sends no email: `work` writes in a transaction of its own, and stores its response there.
   */
  async function writeIdempotently<Answer>(
    ctx: Ctx,
    idempotency: Idempotency | undefined,
    work: (keep: KeepAnswer) => Promise<Answer>,
  ): Promise<Answer> {
    const { teamId } = ctx;
    const keep: KeepAnswer = async (tx, response) => {
      if (idempotency) await keepAnswers(tx, [{ teamId, idempotency, response }], world.clock.now());
    };
    return withIdempotency(ctx, idempotency, async () => {
      try {
        return await work(keep);
      } catch (error) {
        const stored = isUniqueViolation(error) ? await answered<Answer>(ctx, idempotency) : undefined;
        if (stored === undefined) throw error;
        return stored;
      }
    });
  }

  return { withIdempotency, writeIdempotently, answered };
}
