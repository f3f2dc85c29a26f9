import { rootSpanIdOf, traceIdOf, type Parent, type Span } from './span.ts';

/** A request of the API that was answered. */
export interface Answered {
  id: string;
  traceparent: string | undefined;
  method: string;
  route: string | undefined;
  operation: string;
  status: number;
  durationMs: number;
}

export interface Accepted {
  id: string;
  teamId: string;
  recipients: number;
}

/** An attempt at the recipients of one destination. */
export interface Delivered {
  id: string;
  emailId: string;
  startMs: number;
  durationMs: number;
  attempt: number;
  destination: string;
  mx: string | undefined;
  /** How it ended for its recipients, each outcome once. */
  outcomes: readonly string[];
}

/** An attempt at a webhook event. */
export interface Notified {
  id: string;
  eventId: string;
  webhookId: string;
  startMs: number;
  durationMs: number;
  status: number | null;
  isSuccess: boolean;
}

export interface Received {
  id: string;
  result: string;
  recipients: number;
  durationMs: number;
}

/** It belongs to its caller's trace where it names one. */
export const spanOfAnswer = (request: Answered, parent: Parent | undefined, endMs: number): Span => ({
  traceId: parent?.traceId ?? traceIdOf(request.id),
  spanId: rootSpanIdOf(request.id),
  parentSpanId: parent?.spanId,
  name: request.route === undefined ? request.method : `${request.method} ${request.route}`,
  kind: 'server',
  startMs: endMs - request.durationMs,
  endMs,
  attributes: {
    'http.request.method': request.method,
    'http.route': request.route,
    'http.response.status_code': request.status,
    'rasket.operation': request.operation,
    'rasket.request_id': request.id,
  },
  isFault: request.status >= 500,
});

/** The first of an email's trace. */
export const spanOfAccept = ({ id, teamId, recipients }: Accepted, at: number): Span => ({
  ...{ traceId: traceIdOf(id), spanId: rootSpanIdOf(id), name: 'accept', kind: 'producer' },
  ...{ startMs: at, endMs: at, isFault: false },
  attributes: { 'rasket.email_id': id, 'rasket.team_id': teamId, 'rasket.recipients': recipients },
});

const GOOD: ReadonlySet<string> = new Set(['delivered', 'suppressed', 'expanded']);

export const spanOfDelivery = (tried: Delivered): Span => ({
  traceId: traceIdOf(tried.emailId),
  spanId: rootSpanIdOf(tried.id),
  parentSpanId: rootSpanIdOf(tried.emailId),
  name: 'deliver',
  kind: 'client',
  startMs: tried.startMs,
  endMs: tried.startMs + tried.durationMs,
  attributes: {
    'rasket.email_id': tried.emailId,
    'rasket.attempt': tried.attempt,
    'rasket.destination': tried.destination,
    'rasket.outcome': tried.outcomes.join(','),
    'server.address': tried.mx,
  },
  isFault: tried.outcomes.some((outcome) => !GOOD.has(outcome)),
});

export const spanOfWebhook = (tried: Notified): Span => ({
  ...{ traceId: traceIdOf(tried.eventId), spanId: rootSpanIdOf(tried.id), name: 'webhook', kind: 'client' },
  ...{ startMs: tried.startMs, endMs: tried.startMs + tried.durationMs, isFault: !tried.isSuccess },
  attributes: {
    'rasket.event_id': tried.eventId,
    'rasket.webhook_id': tried.webhookId,
    'http.response.status_code': tried.status ?? undefined,
  },
});

export const spanOfReceived = ({ id, result, recipients, durationMs }: Received, endMs: number): Span => ({
  ...{ traceId: traceIdOf(id), spanId: rootSpanIdOf(id), name: 'receive', kind: 'consumer' },
  ...{ startMs: endMs - durationMs, endMs, isFault: false },
  attributes: { 'rasket.received_id': id, 'rasket.result': result, 'rasket.recipients': recipients },
});
