import type { World } from '../../../platform/world/index.ts';
import { readProviderUrl } from '../sso/index.ts';
import { ProviderFault } from './provider-fault.ts';

/** Of one answer; the keys of large providers are a tenth of it. */
const ANSWER_BYTES_MAX = 256 * 1024;
/** Statuses whose answer has no body (RFC 9110 §6.4.1). */
const BODILESS = new Set([204, 205, 304]);

export interface ProviderRequest {
  method?: string;
  headers?: Record<string, string>;
  body?: string | undefined;
}

/**
 * One request to a provider, wherever its documents say that its endpoints are: to addresses that the guard lets through, with
 * bounds on time and size, without following redirects.
 */
export async function askProvider(world: World, text: string, request: ProviderRequest = {}): Promise<Response> {
  const url = readProviderUrl(text);
  if (typeof url === 'string') throw new ProviderFault('wrong', `the address ${text.slice(0, 200)} ${url}`);
  const stop = new AbortController();
  const cancel = world.clock.timer(world.config.sso.answer_seconds * 1000, () => stop.abort());
  let left = ANSWER_BYTES_MAX;
  const mayTake = (bytes: number): boolean => (left -= bytes) >= 0;
  try {
    const method = request.method === 'POST' ? 'POST' : 'GET';
    const headers = { accept: 'application/json', ...request.headers };
    const send = { method, url, headers, body: request.body } as const;
    const answer = await world.providers.send(send, { signal: stop.signal, mayTake });
    if (answer.kind === 'failed') {
      const { kind } = answer.fault;
      const isWrong = kind === 'too_large' || kind === 'encoded';
      throw new ProviderFault(isWrong ? 'wrong' : 'down', `${url.host}: ${kind}`, answer.because);
    }
    const { status, headers: got, body } = answer;
    if (status < 200 || status > 599) throw new ProviderFault('wrong', `${url.host} answered ${status}`);
    const kept = Object.entries(got).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
    return new Response(BODILESS.has(status) ? null : new Uint8Array(body), { status, headers: kept });
  } finally {
    cancel();
  }
}
