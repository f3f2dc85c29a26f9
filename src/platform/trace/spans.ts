export interface Span {
  /** 32 hexadecimal digits. */
  traceId: string;
  /** 16 hexadecimal digits. */
  spanId: string;
  parentSpanId?: string | undefined;
  name: string;
  kind: 'server' | 'client' | 'producer' | 'consumer';
  startMs: number;
  endMs: number;
  /** An undefined attribute is omitted. */
  attributes: Record<string, string | number | undefined>;
  isFault: boolean;
}

/** A UUID has as many bits as a trace id, so an email's id, which is easy to find, also identifies its trace. */
const toTraceId = (uuid: string): string => uuid.replaceAll('-', '');

/** Returns the id of the first span of such a trace, which other spans name as their parent without having seen it. */
const toRootSpanId = (uuid: string): string => toTraceId(uuid).slice(16);

interface Parent {
  traceId: string;
  spanId: string;
  isSampled: boolean;
}

/** Parses the `traceparent` header of a request (W3C Trace Context); undefined if it is missing or invalid. */
export function parseTraceParent(header: string | undefined): Parent | undefined {
  const [, version, traceId = '', spanId = '', flags = ''] = FORM.exec(header ?? '') ?? [];
  if (version === undefined || version === 'ff' || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;

/** A completed API request. */
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

/** An attempt at delivery to the recipients of one destination. */
export interface Delivered {
  id: string;
  emailId: string;
  startMs: number;
  durationMs: number;
  attempt: number;
  destination: string;
  mx: string | undefined;
  /** The distinct outcomes for its recipients. */
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

/** Joins the trace of the caller if it names one. */
export const spanOfAnswer = (request: Answered, parent: Parent | undefined, endMs: number): Span => ({
  traceId: parent?.traceId ?? toTraceId(request.id),
  spanId: toRootSpanId(request.id),
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

/** The first span of an email's trace. */
export const spanOfAccept = ({ id, teamId, recipients }: Accepted, at: number): Span => ({
  traceId: toTraceId(id),
  spanId: toRootSpanId(id),
  name: 'accept',
  kind: 'producer',
  startMs: at,
  endMs: at,
  isFault: false,
  attributes: { 'rasket.email_id': id, 'rasket.team_id': teamId, 'rasket.recipients': recipients },
});

const GOOD: ReadonlySet<string> = new Set(['delivered', 'suppressed', 'expanded']);

export const spanOfDelivery = (tried: Delivered): Span => ({
  traceId: toTraceId(tried.emailId),
  spanId: toRootSpanId(tried.id),
  parentSpanId: toRootSpanId(tried.emailId),
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
  traceId: toTraceId(tried.eventId),
  spanId: toRootSpanId(tried.id),
  name: 'webhook',
  kind: 'client',
  startMs: tried.startMs,
  endMs: tried.startMs + tried.durationMs,
  isFault: !tried.isSuccess,
  attributes: {
    'rasket.event_id': tried.eventId,
    'rasket.webhook_id': tried.webhookId,
    'http.response.status_code': tried.status ?? undefined,
  },
});

export const spanOfReceived = ({ id, result, recipients, durationMs }: Received, endMs: number): Span => ({
  traceId: toTraceId(id),
  spanId: toRootSpanId(id),
  name: 'receive',
  kind: 'consumer',
  startMs: endMs - durationMs,
  endMs,
  isFault: false,
  attributes: { 'rasket.received_id': id, 'rasket.result': result, 'rasket.recipients': recipients },
});

const KINDS = { server: 2, client: 3, producer: 4, consumer: 5 } as const;
const STATUS_ERROR = 2;

interface Attribute {
  key: string;
  value: { stringValue: string } | { intValue: string };
}

/** The body of an export, in the JSON of OTLP 1.x: ids are hexadecimal, 64-bit numbers are strings. */
export function formatTraceRequest(spans: readonly Span[], resource: Record<string, string>): string {
  const scopeSpans = [{ scope: { name: 'rasket' }, spans: spans.map(toOtlpSpan) }];
  return JSON.stringify({ resourceSpans: [{ resource: { attributes: toAttributes(resource) }, scopeSpans }] });
}

const toOtlpSpan = (span: Span) => ({
  traceId: span.traceId,
  spanId: span.spanId,
  parentSpanId: span.parentSpanId,
  name: span.name,
  kind: KINDS[span.kind],
  startTimeUnixNano: toNanos(span.startMs),
  endTimeUnixNano: toNanos(span.endMs),
  attributes: toAttributes(span.attributes),
  ...(span.isFault && { status: { code: STATUS_ERROR } }),
});

const toNanos = (ms: number): string => String(BigInt(Math.round(ms * 1000)) * 1000n);

function toAttributes(attributes: Span['attributes']): Attribute[] {
  return Object.entries(attributes).flatMap(([key, value]) => {
    if (value === undefined) return [];
    return [{ key, value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value } }];
  });
}
