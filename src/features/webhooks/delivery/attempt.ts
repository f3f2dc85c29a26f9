import { stopwatch } from '../../../platform/clock/index.ts';
import { publicEventId } from '../../../mail/events/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { webhookHeaders } from '../../../protocol/webhook-signature/index.ts';
import { sentenceOf } from './fault-sentences.ts';
import { TIMEOUT_MS, type OpenEndpoint } from './open-endpoint.ts';

const ANSWER_BYTES_MAX = 8192;
/** As the contract promises, in every version. */
const USER_AGENT = 'rasket-Webhooks/1.0';

export interface Outcome {
  isSuccess: boolean;
  /** The body of the answer did not end, so the connection was closed. */
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
  const error = sentenceOf(got.fault, TIMEOUT_MS);
  return { isSuccess: false, isCut: false, status: null, response: null, error, ...measured };
}
