import type { PostAnswer } from '../../../platform/fetch/index.ts';
import { fieldOf } from './wire.ts';

/** Why there is no answer. `say` is read by callers and operators, `fault` by the log alone. */
export interface Failure {
  say: string;
  fault: object;
  /** It tells of this question, and nothing of how the model stands. */
  isOfQuestion?: true;
}

const WAIT_SECONDS_MAX = 86_400;

/**
 * Of an answer that is none. Its own words may repeat the key and what it was asked, so that no text of it is repeated: its status, the
 * codes of its error and the seconds of Retry-After are.
 */
export function faultOf(answer: PostAnswer): Failure {
  if (answer.kind === 'failed')
    return { say: FAULTS[answer.fault.kind], fault: { err: answer.because, ...answer.fault } };
  const { status, body, retryAfter } = answer;
  const codes = codesIn(body);
  const seconds = /^\d{1,5}$/.test(retryAfter ?? '') ? Math.min(Number(retryAfter), WAIT_SECONDS_MAX) : undefined;
  const wait = seconds === undefined ? '' : `, for ${seconds} seconds by its own word`;
  return { say: `its server ${wordsOf(status, Object.values(codes))} (${status})${wait}`, fault: { status, ...codes } };
}

function wordsOf(status: number, codes: readonly string[]): string {
  if (status === 402 || codes.some((code) => OUT_OF_MONEY.includes(code))) return 'has no money left for this account';
  if (status === 401 || status === 403) return 'does not accept the key';
  if (status === 404) return 'does not know the model, or nothing is at this address';
  if (status === 429) return 'takes no more requests at the moment';
  if (status === 529 || codes.includes('overloaded_error')) return 'is overloaded';
  return status >= 500 ? 'has a fault' : 'answered something else than it should';
}

/** OpenAI sends the first with 429, which does not end by waiting. */
const OUT_OF_MONEY = ['insufficient_quota', 'billing_error', 'billing_hard_limit_reached'];

const FAULTS = {
  blocked: 'its server has no address that may be reached',
  unreachable: 'its server cannot be reached',
  tls: 'its server has no certificate that can be trusted',
  interrupted: 'its server broke off the connection',
  timeout: 'it took too long',
  unreadable: 'its server answered no HTTP',
} as const;

function codesIn(body: string): Record<string, string> {
  const error = fieldOf(parseJson(body), 'error');
  const codes = ['type', 'code'].map((name) => [name, fieldOf(error, name)] as const);
  const isCode = (code: unknown): code is string => typeof code === 'string' && /^[a-z][a-z_.]{0,79}$/.test(code);
  return Object.fromEntries(codes.filter((entry): entry is readonly [string, string] => isCode(entry[1])));
}

export function parseJson(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return undefined;
  }
}
