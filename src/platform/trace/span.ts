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
  /** undefined leaves an attribute out. */
  attributes: Record<string, string | number | undefined>;
  isFault: boolean;
}

/** A UUID has as many bits as a trace needs, so that the id of an email, which everybody has at hand, finds its trace. */
export const traceIdOf = (uuid: string): string => uuid.replaceAll('-', '');

/** The first span of such a trace, which its others name as their parent without having seen it. */
export const rootSpanIdOf = (uuid: string): string => traceIdOf(uuid).slice(16);

export interface Parent {
  traceId: string;
  spanId: string;
  isSampled: boolean;
}

/** What the caller of a request was doing, as its `traceparent` header says (W3C Trace Context); undefined without a valid one. */
export function parentOf(header: string | undefined): Parent | undefined {
  const [, version, traceId = '', spanId = '', flags = ''] = FORM.exec(header ?? '') ?? [];
  if (version === undefined || version === 'ff' || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;
