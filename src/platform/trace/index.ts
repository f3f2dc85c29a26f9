/**
 * Spans of what this process did, for an OpenTelemetry collector: API requests, accepted emails, attempts at deliveries
 * and webhook events, received mail. Nothing ever waits for tracing: spans that find no room in the buffer are dropped
 * and counted. A span contains no address of a person; of recipients it has the domain.
 */
export { createTracer, SPANS_MAX, type Tracer } from './tracer.ts';
export { formatTraceRequest, type Span } from './spans.ts';
