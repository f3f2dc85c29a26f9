import { readHttpsUrl } from '../https-url/index.ts';
import { AcmeFault, inOneLine } from './fault.ts';
import { readRetryAfter } from './retry-after.ts';

/** What came over the line, read whole; its reader has held it to a size. */
export interface RawAnswer {
  status: number;
  contentType: string;
  retryAfter: string | undefined;
  body: Buffer;
}

export type Fields = Readonly<Record<string, unknown>>;

/** The fields of an answer in JSON. `what` names it in the fault. */
export function readFields(what: string, { status, contentType, body }: RawAnswer): Fields {
  const type = mediaType(contentType);
  if (type !== 'application/json' && type !== 'application/problem+json')
    throw new AcmeFault(`${what}: status ${status} with ${type || 'no content type'}, where JSON is the rule`);
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch {
    throw new AcmeFault(`${what}: status ${status} with JSON that cannot be read`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new AcmeFault(`${what}: status ${status} with JSON that is no object`);
  return value as Fields;
}

export const mediaType = (contentType: string): string =>
  inOneLine((contentType.split(';')[0] ?? '').toLowerCase(), 100);

/** The fault that a refusing answer is: its problem document (RFC 7807) as far as there is one. */
export function readRefusal(what: string, answer: RawAnswer, now: number): AcmeFault {
  const waitMs = readRetryAfter(answer.retryAfter, now);
  if (mediaType(answer.contentType) !== 'application/problem+json')
    return new AcmeFault(`${what}: status ${answer.status} without a reason`, { waitMs });
  try {
    return problemFault(`${what}: `, readFields(what, answer), waitMs);
  } catch (error) {
    return error instanceof AcmeFault ? error : new AcmeFault(`${what}: status ${answer.status}`, { waitMs });
  }
}

const PROBLEM = 'urn:ietf:params:acme:error:';
const SUBPROBLEMS_SHOWN = 3;

/** `before` stands in front of what the problem says. */
export function problemFault(before: string, fields: Fields, waitMs?: number): AcmeFault {
  const { type, detail, subproblems } = fields;
  const problem = typeof type === 'string' && type.startsWith(PROBLEM) ? type.slice(PROBLEM.length) : '';
  const says = typeof detail === 'string' && detail !== '' ? detail : problem || 'no reason is given';
  const parts = Array.isArray(subproblems) ? (subproblems as unknown[]).filter(isFields) : [];
  const more = parts.slice(0, SUBPROBLEMS_SHOWN).map(({ detail: each }) => (typeof each === 'string' ? each : ''));
  const name = /^[A-Za-z]{1,60}$/.test(problem) ? problem : '';
  return new AcmeFault(`${before}${[says, ...more].filter(Boolean).join('; ')}${name && ` (${name})`}`, {
    problem: name,
    waitMs,
  });
}

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

export const fieldsIn = (value: unknown): Fields => (isFields(value) ? value : {});

/** An address to ask next: https, so that a host on the way neither reads nor changes what is said. */
export function readUrl(what: string, value: unknown): string {
  const url = typeof value === 'string' ? readHttpsUrl(value) : 'is missing.';
  if (typeof url === 'string') throw new AcmeFault(`${what} ${url}`);
  return url.href;
}
