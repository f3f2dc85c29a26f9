import { stopwatch, pause } from '../../../platform/clock.ts';
import { publicEventId } from '../../../mail/events/index.ts';
import type { World } from '../../../platform/world.ts';
import { webhookHeaders, webhookKey } from '../../../protocol/webhook-signature.ts';
import type { GroupCommit } from '../../../platform/db/index.ts';
import { recordAttempts, recordHealth, type Attempt } from '../endpoints/webhook-events.store.ts';
import { openSigningSecrets } from '../endpoints/webhooks.ts';
import type { KeyObject } from 'node:crypto';
import type { PostPool, PostFault } from '../../../platform/fetch/index.ts';
import type { EndpointRow } from './endpoints.store.ts';

/**
 * Returns the message for the team. A name that does not exist and one that leads into a private network read alike, or
 * that network could be mapped.
 */
function describeFault(fault: PostFault, timeoutMs: number): string {
  switch (fault.kind) {
    case 'blocked':
      return 'The host of the endpoint has no public address.';
    case 'unreachable':
      return 'The endpoint could not be reached.';
    case 'tls':
      return `The TLS handshake failed: ${fault.code}.`;
    case 'timeout':
      return `The endpoint did not respond within ${timeoutMs / 1000} seconds.`;
    case 'interrupted':
      return 'The endpoint closed the connection before its response was complete.';
    case 'unreadable':
      return fault.wrong === 'syntax' ? `The response is not HTTP/1.1: ${fault.reason}.` : UNREADABLE[fault.wrong];
  }
}

const UNREADABLE = {
  upgrade: 'The endpoint responded with 101 Switching Protocols, which was not requested.',
  interim: 'The endpoint sent more than 16 interim responses (1xx), or one of more than 8 KB, and no final response.',
  endless: 'The endpoint sent more than 128 KB without a complete response.',
  headers: 'The headers of the response are longer than 16 KB.',
  length: 'The Content-Length of the response contradicts itself or does not match the body.',
};

/** Time limit of one attempt, from the connection to the end of the response. */
const TIMEOUT_MS = 10_000;

/** An endpoint with its connections and keys. */
export interface OpenEndpoint {
  row: EndpointRow;
  path: string;
  pool: PostPool;
  /** Keys that sign now, the current one of the endpoint first. */
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

  function findOrOpenPool({ id, endpoint }: EndpointRow): { url: URL; pool: PostPool } {
    const known = pools.get(id);
    const url = new URL(endpoint);
    if (known?.url.href === url.href) return known;
    const connectionsMax = world.config.webhooks.max_in_flight_per_endpoint;
    const opened = { url, pool: world.fetch.pool(url, { connectionsMax, closeMs: TIMEOUT_MS }) };
    // Requests in progress on the old connections still finish.
    void known?.pool.close();
    pools.set(id, opened);
    return opened;
  }

  return {
    open(row) {
      try {
        const keys = openSigningSecrets(world, row, world.clock.now()).map(webhookKey);
        const { url, pool } = findOrOpenPool(row);
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

const ANSWER_BYTES_MAX = 8192;
/** The contract promises this value in every version. */
const USER_AGENT = 'rasket-Webhooks/1.0';

export interface Outcome {
  isSuccess: boolean;
  /** The body of the response did not end, so the connection was closed. */
  isCut: boolean;
  status: number | null;
  response: string | null;
  error: string | null;
  durationMs: number;
  sentAt: number;
}

/** Makes one attempt: a fresh timestamp and signature, the same id and bytes. Never rejects; `signal` ends it early. */
export async function makeAttempt(
  world: World,
  { pool, path, keys }: OpenEndpoint,
  event: { id: string; payload: string },
  signal: AbortSignal,
): Promise<Outcome> {
  const sentAt = world.clock.now();
  const message = { id: publicEventId(event.id), timestampSeconds: Math.floor(sentAt / 1000), body: event.payload };
  const headers = { 'user-agent': USER_AGENT, 'content-type': 'application/json', ...webhookHeaders(keys, message) };
  const elapsedMs = stopwatch();
  const posted = pool.post({ path, headers, body: event.payload }, ANSWER_BYTES_MAX);
  const giveUp = (): void => posted.giveUp();
  const cancel = world.clock.timer(TIMEOUT_MS, giveUp);
  signal.addEventListener('abort', giveUp);
  const got = await posted.answer;
  signal.removeEventListener('abort', giveUp);
  cancel();
  const measured = { durationMs: Math.round(elapsedMs()), sentAt };
  if (got.kind === 'answered') {
    const { status, body, isCut = false } = got;
    return { isSuccess: status >= 200 && status <= 299, isCut, status, response: body, error: null, ...measured };
  }
  world.log.debug({ eventId: event.id, fault: got.fault, err: got.because }, 'a webhook was not answered');
  const error = describeFault(got.fault, TIMEOUT_MS);
  return { isSuccess: false, isCut: false, status: null, response: null, error, ...measured };
}

/** Records an attempt, however long that takes; returns false if it cannot be written and `signal` has fired. */
export type WriteAttempt = (attempt: Attempt, signal: AbortSignal) => Promise<boolean>;

const TRY_AGAIN_MS = 1000;
const LOG_MS = 60_000;

/**
 * Makes a writer that records the attempts of all endpoints together. An attempt is not repeated because the database
 * is down for a while: it is recorded when the database is back.
 */
export function createAttemptWriter({ clock, log, meter, tracer }: World, commits: GroupCommit): WriteAttempt {
  const write = commits.lane<Attempt, void>(async (tx, attempts) => {
    await recordAttempts(tx, attempts);
    await recordHealth(tx, attempts);
    return attempts.map(() => undefined);
  });
  let saidAt = -Infinity;

  /** Logs at most once a minute, because a full disk fails hundreds of writes. */
  function logFailure(error: unknown, { webhookId, eventId }: Attempt): void {
    if (Math.abs(clock.now() - saidAt) < LOG_MS) return;
    saidAt = clock.now();
    log.error({ err: error, webhookId, eventId }, 'could not store attempts to send webhooks');
  }

  return async (attempt, signal) => {
    for (;;) {
      const isLastTry = signal.aborted;
      try {
        await write(attempt);
        meter.count('rasket_webhook_attempts_total', { result: attempt.isSuccess ? 'success' : 'failure' });
        const { id, eventId, webhookId, sentAt, durationMs, status, isSuccess } = attempt;
        tracer.notified({ id, eventId, webhookId, startMs: sentAt, durationMs, status, isSuccess });
        return true;
      } catch (error) {
        logFailure(error, attempt);
      }
      if (isLastTry) return false;
      await pause(clock, TRY_AGAIN_MS, signal);
    }
  };
}
