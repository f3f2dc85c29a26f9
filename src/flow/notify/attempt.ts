import { stopwatch } from '../../platform/clock/index.ts';
import type { Posted, PostFault, PostLine } from '../../platform/fetch/index.ts';
import type { World } from '../../platform/world/index.ts';
import type { HmacSha256 } from '../../protocol/hmac/index.ts';
import { webhookHeaders } from '../../protocol/webhook-signature/index.ts';
import { publicEventId } from '../../resources/webhooks/index.ts';

/** What one attempt may take, from the connection to the end of the answer. */
export const TIMEOUT_MS = 10_000;
const ANSWER_BYTES_MAX = 8192;
/** What the contract promises, whatever version this is. */
const USER_AGENT = 'rasket-Webhooks/1.0';

export interface Outcome {
  isSuccess: boolean;
  status: number | null;
  response: string | null;
  error: string | null;
  durationMs: number;
  sentAt: number;
}

/** Ends what is under way when the time of a stop is over. A listener for each attempt would cost more than its signature. */
export interface Interrupt {
  signal: AbortSignal;
  underWay: Set<Posted>;
}

export function createInterrupt(signal: AbortSignal): Interrupt {
  const underWay = new Set<Posted>();
  signal.addEventListener('abort', () => underWay.forEach((posted) => posted.giveUp()), { once: true });
  return { signal, underWay };
}

export interface Sending {
  line: PostLine;
  path: string;
  /** Each of them signs; the endpoint's own first. */
  keys: readonly HmacSha256[];
  eventId: string;
  payload: string;
  /** Ends it as if it had not been made. */
  interrupt: Interrupt;
}

/**
 * One attempt: a fresh timestamp and signature over the same id and bytes. `tell` is called once, never before this has
 * returned: with the outcome, or with undefined when it was interrupted.
 */
export function attempt(world: World, sending: Sending, tell: (outcome: Outcome | undefined) => void): void {
  const { line, path, keys, eventId, payload, interrupt } = sending;
  if (interrupt.signal.aborted) return queueMicrotask(() => tell(undefined));
  const sentAt = world.clock.now();
  const message = { id: publicEventId(eventId), timestampSeconds: Math.floor(sentAt / 1000), body: payload };
  const headers = { 'user-agent': USER_AGENT, 'content-type': 'application/json', ...webhookHeaders(keys, message) };
  const elapsedMs = stopwatch();
  const posted = line.post({ path, headers, body: payload }, ANSWER_BYTES_MAX, (answer) => {
    cancel();
    interrupt.underWay.delete(posted);
    const measured = { durationMs: Math.round(elapsedMs()), sentAt };
    if (answer.kind === 'answered') {
      const { status, body } = answer;
      const isSuccess = status >= 200 && status <= 299;
      return tell({ isSuccess, status, response: body, error: null, ...measured });
    }
    if (interrupt.signal.aborted) return tell(undefined);
    world.log.debug({ eventId, fault: answer.fault, err: answer.because }, 'a webhook was not answered');
    tell({ isSuccess: false, status: null, response: null, error: inWords(answer.fault), ...measured });
  });
  const cancel = world.clock.timer(TIMEOUT_MS, () => posted.giveUp());
  interrupt.underWay.add(posted);
}

/** A name that does not exist and one that leads into a private network read alike, or that network could be mapped. */
function inWords(fault: PostFault): string {
  switch (fault.kind) {
    case 'blocked':
      return 'The host of the endpoint has no public address.';
    case 'unreachable':
      return 'The endpoint could not be reached.';
    case 'tls':
      return `The TLS handshake failed: ${fault.code}.`;
    case 'timeout':
      return `The endpoint did not answer within ${TIMEOUT_MS / 1000} seconds.`;
    case 'interrupted':
      return 'The endpoint closed the connection before its answer was complete.';
    case 'unreadable':
      return whyUnreadable(fault);
  }
}

function whyUnreadable(fault: PostFault & { kind: 'unreadable' }): string {
  switch (fault.wrong) {
    case 'upgrade':
      return 'The endpoint answered 101 Switching Protocols, which it was not asked for.';
    case 'interim':
      return 'The endpoint sent more than 16 interim answers (1xx), or one of more than 8 KB, and no final one.';
    case 'endless':
      return 'The endpoint sent more than 128 KB that did not make an answer.';
    case 'headers':
      return 'The headers of the answer are longer than 16 KB.';
    case 'length':
      return 'The Content-Length of the answer contradicts itself or does not fit its body.';
    case 'syntax':
      return `The answer is not HTTP/1.1: ${fault.reason}.`;
  }
}
