import * as spans from './spans.ts';
import { parseTraceParent, type Span } from './spans.ts';

export interface Tracer {
  answered(request: spans.Answered): void;
  accepted(email: spans.Accepted): void;
  delivered(attempt: spans.Delivered): void;
  notified(attempt: spans.Notified): void;
  received(mail: spans.Received): void;
  /** Takes up to `count` spans out of the buffer, the oldest first. */
  take(count: number): Span[];
  /** Puts spans that could not be exported back into the buffer, if there is room. */
  requeue(spans: readonly Span[]): void;
}

/**
 * If a collector is unavailable for a minute on a busy machine, some spans are lost; the buffer takes a few megabytes
 * at most.
 */
export const SPANS_MAX = 8192;

export interface TracerOptions {
  /** Percentage of traces that are kept; 0 records nothing. */
  percent: number;
  now(): number;
  /** Counts spans that found no room. */
  drop(count: number): void;
}

export function createTracer({ percent, now, drop }: TracerOptions): Tracer {
  let buffer: Span[] = [];

  function add(more: readonly Span[]): void {
    const room = SPANS_MAX - buffer.length;
    buffer.push(...more.slice(0, room));
    if (more.length > room) drop(more.length - room);
  }

  /**
   * Decides by the random end of the id, so that all processes decide alike and a trace is kept completely or not at
   * all.
   */
  const isKept = (uuid: string): boolean =>
    percent > 0 && Number.parseInt(uuid.slice(-8), 16) < (percent / 100) * 2 ** 32;

  return {
    answered(request) {
      const parent = percent > 0 ? parseTraceParent(request.traceparent) : undefined;
      if (parent ? parent.isSampled : isKept(request.id)) add([spans.spanOfAnswer(request, parent, now())]);
    },
    accepted(email) {
      if (isKept(email.id)) add([spans.spanOfAccept(email, now())]);
    },
    delivered(attempt) {
      if (isKept(attempt.emailId)) add([spans.spanOfDelivery(attempt)]);
    },
    notified(attempt) {
      if (isKept(attempt.eventId)) add([spans.spanOfWebhook(attempt)]);
    },
    received(mail) {
      if (isKept(mail.id)) add([spans.spanOfReceived(mail, now())]);
    },
    take: (count) => buffer.splice(0, count),
    requeue(older) {
      const newer = buffer;
      buffer = [];
      add([...older, ...newer]);
    },
  };
}
