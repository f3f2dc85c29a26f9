/**
 * Spans of what this process did, for an OpenTelemetry collector: answered requests, accepted emails, attempts at deliveries and
 * webhook events, received mail. It promises that nothing waits for it: what finds no room in its buffer is dropped and counted.
 * A span holds no address of a person; of recipients there is the domain.
 */
export { createTracer, SPANS_MAX, type Tracer } from './tracer.ts';
export { traceRequestOf, type Span } from './spans.ts';
