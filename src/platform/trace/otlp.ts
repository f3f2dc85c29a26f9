import type { Span } from './span.ts';

const KINDS = { server: 2, client: 3, producer: 4, consumer: 5 } as const;
const STATUS_ERROR = 2;

interface Attribute {
  key: string;
  value: { stringValue: string } | { intValue: string };
}

/** The body of an export, in the JSON of OTLP 1.x: ids are hexadecimal, 64-bit numbers are strings. */
export function traceRequestOf(spans: readonly Span[], resource: Record<string, string>): string {
  const scopeSpans = [{ scope: { name: 'rasket' }, spans: spans.map(spanOf) }];
  return JSON.stringify({ resourceSpans: [{ resource: { attributes: attributesOf(resource) }, scopeSpans }] });
}

const spanOf = (span: Span) => ({
  ...{ traceId: span.traceId, spanId: span.spanId, parentSpanId: span.parentSpanId },
  ...{ name: span.name, kind: KINDS[span.kind] },
  ...{ startTimeUnixNano: nanosOf(span.startMs), endTimeUnixNano: nanosOf(span.endMs) },
  attributes: attributesOf(span.attributes),
  ...(span.isFault && { status: { code: STATUS_ERROR } }),
});

const nanosOf = (ms: number): string => String(BigInt(Math.round(ms * 1000)) * 1000n);

function attributesOf(attributes: Span['attributes']): Attribute[] {
  return Object.entries(attributes).flatMap(([key, value]) => {
    if (value === undefined) return [];
    return [{ key, value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value } }];
  });
}
