/** The store does not answer, or not as it must. What waited for it is tried again later: no message is at fault. */
export class ObjectStoreFault extends Error {
  override readonly name = 'ObjectStoreFault';
  readonly code = 'OBJECT_STORE';
  /** Whether the same request may fare better in a moment. */
  readonly isTransient: boolean;

  constructor(message: string, { isTransient, cause }: { isTransient: boolean; cause?: unknown }) {
    super(message, cause === undefined ? {} : { cause });
    this.isTransient = isTransient;
  }
}

/** Of 4xx answers, those that another try may change. */
const TRANSIENT_CODES: ReadonlySet<string> = new Set([
  'RequestTimeout',
  'SlowDown',
  'Throttling',
  'TooManyRequests',
  'OperationAborted',
  'BadDigest',
  'IncompleteBody',
]);

export interface Refused {
  method: string;
  status: number;
  body: string;
  /** The `date` of the answer. */
  date: string | undefined;
  region: string | undefined;
}

/** An answer that is no success, in one line for the log, the findings and the operator. */
export function refusedBy(store: string, refused: Refused, nowMs: number): ObjectStoreFault {
  const { method, status, body } = refused;
  const code = elementOf(body, 'Code') ?? '';
  const says = [`${status}`, code].filter(Boolean).join(' ');
  const message = elementOf(body, 'Message')?.slice(0, 300);
  const hint = hintFor(code, refused, nowMs);
  const isTransient = status >= 500 || status === 429 || status === 408 || TRANSIENT_CODES.has(code);
  return new ObjectStoreFault(
    `${store} refuses ${method}: ${says}${message === undefined ? '' : `: ${message}`}${hint === undefined ? '' : ` (${hint})`}`,
    { isTransient },
  );
}

function hintFor(code: string, { status, date, region }: Refused, nowMs: number): string | undefined {
  if (code === 'RequestTimeTooSkewed') {
    const offsetMs = nowMs - Date.parse(date ?? '');
    if (Number.isNaN(offsetMs)) return 'the clocks of this machine and of the store differ';
    const seconds = Math.round(Math.abs(offsetMs) / 1000);
    return `the clock of this machine is ${seconds} s ${offsetMs < 0 ? 'behind' : 'ahead of'} that of the store`;
  }
  if ([301, 307, 308].includes(status) || code === 'AuthorizationHeaderMalformed') {
    return region === undefined ? 'look at blobs.endpoint and blobs.region' : `the bucket is in region ${region}`;
  }
  if (code === 'SignatureDoesNotMatch') return 'look at the secret key and blobs.region';
  return undefined;
}

/** The text of the first element of this name. Answers of S3 have neither attributes nor sections in what is read here. */
export function elementOf(xml: string, name: string): string | undefined {
  const found = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return found?.replaceAll(
    /&(?:(amp|lt|gt|quot|apos)|#(x?[0-9a-f]{1,6}));/gi,
    (whole, named: string, number: string) => {
      if (named !== undefined) return NAMED[named.toLowerCase()] ?? whole;
      const point = /^x/i.test(number) ? Number.parseInt(number.slice(1), 16) : Number.parseInt(number, 10);
      return point <= 0x10ffff ? String.fromCodePoint(point) : whole;
    },
  );
}

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
