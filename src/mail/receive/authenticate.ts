import type { Authentication } from '../received-emails/index.ts';
import type { Lookup, Resolver } from '../../platform/resolver/index.ts';
import type { RawField } from '../../protocol/mime-read/index.ts';

export type Checks = Omit<Authentication, 'verdict' | 'spam'>;

export interface CheckOrder {
  mailFrom: string;
  client: { address: string; name: string };
  /** The name of this server. */
  host: string;
}

/**
 * Loads the library for `authenticate`, which takes a fifth of a server's start: with the first message, or earlier if
 * that message must not wait for it.
 */
export const loadAuthentication = () => import('mailauth');

/** Checks SPF, DKIM, DMARC and ARC of a message; `resolver` returns what `dns.promises.resolve` would. */
export async function authenticate(
  { raw, mailFrom, client, host }: CheckOrder & { raw: Uint8Array },
  resolver: (name: string, type: string) => Promise<unknown>,
): Promise<Checks> {
  const { authenticate: check } = await loadAuthentication();
  const { dkim, spf, dmarc, arc, dmarcSkipReason } = (await check(
    Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength),
    {
      ip: client.address,
      helo: client.name,
      sender: mailFrom,
      mta: host,
      disableBimi: true,
      // For MX the library takes objects, as Node returns them, which its type leaves out.
      resolver: (name: string, type: string) => resolver(name, type) as Promise<string[]>,
    },
  )) as Awaited<ReturnType<typeof check>> & { dmarcSkipReason?: string };
  return {
    spf: spf ? { result: spf.status.result, domain: spf.domain ?? null } : { result: 'none', domain: null },
    dkim: (dkim.results ?? [])
      .filter((one) => one.status.result !== 'none')
      .map((one) => ({
        result: one.status.result,
        domain: one.signingDomain ?? null,
        selector: one.selector ?? null,
      })),
    dmarc: dmarc
      ? { result: dmarc.status.result, domain: dmarc.domain ?? null, policy: dmarc.policy ?? null }
      : // With several domains in From, or none that can be parsed, DMARC has no domain to check.
        { result: dmarcSkipReason === undefined ? 'none' : 'permerror', domain: null, policy: null },
    arc: { result: arc ? arc.status.result : 'none' },
  };
}

export interface DnsQuestion {
  name: string;
  type: string;
}
/** The codes are those of `dns.promises.resolve`. */
export type DnsAnswer = { records: unknown } | { code: string };

/** Resolves a DNS query of a check; never rejects. */
export async function answerQuestion(resolver: Resolver, { name, type }: DnsQuestion): Promise<DnsAnswer> {
  switch (type) {
    case 'TXT':
      return toDnsAnswer(await resolver.txt(name), (texts) => texts.map((text) => [text]));
    case 'MX':
      return toDnsAnswer(await resolver.mx(name), (servers) =>
        servers.map(({ host, preference }) => ({ exchange: host, priority: preference })),
      );
    case 'A':
      return toDnsAnswer(await resolver.addresses(name), ({ v4 }) => v4);
    case 'AAAA':
      return toDnsAnswer(await resolver.addresses(name), ({ v6 }) => v6);
    default:
      return { code: 'ENOTFOUND' };
  }
}

function toDnsAnswer<T>(answer: Lookup<T>, present: (records: T) => unknown[]): DnsAnswer {
  if (answer.kind === 'none') return { code: answer.why === 'nxdomain' ? 'ENOTFOUND' : 'ENODATA' };
  if (answer.kind === 'failed') return { code: answer.reason === 'timeout' ? 'ETIMEOUT' : 'ESERVFAIL' };
  const records = present(answer.records);
  return records.length > 0 ? { records } : { code: 'ENODATA' };
}

/**
 * Reports whether a received field claims to be a result of this server: Authentication-Results of `host` (RFC 8601
 * §5), or Received-SPF, which names no server.
 */
export function claimsToBeOurs({ lower, value }: Pick<RawField, 'lower' | 'value'>, host: string): boolean {
  if (lower === 'received-spf') return true;
  return lower === 'authentication-results' && serverNamed(value) === host.toLowerCase();
}

/** Returns the headers of a message, by name in lower case and a line for each field, without such claims. */
export function withoutOwnClaims(headers: Readonly<Record<string, string>>, host: string): Record<string, string> {
  // Without a prototype, so that a header called `__proto__` is kept.
  const kept = Object.create(null) as Record<string, string>;
  for (const [lower, values] of Object.entries(headers)) {
    const theirs = values.split('\n').filter((value) => !claimsToBeOurs({ lower, value }, host));
    if (theirs.length > 0) kept[lower] = theirs.join('\n');
  }
  return kept;
}

/** Returns the authserv-id, without the comments and quotes around it. */
function serverNamed(value: string): string {
  let depth = 0;
  let text = '';
  for (let at = 0; at < value.length; at++) {
    const char = value.charAt(at);
    if (char === ';' && depth === 0) break;
    if (char === '(') depth++;
    else if (char === ')') depth = Math.max(0, depth - 1);
    else if (char === '\\') at++;
    if (depth === 0 && char !== ')') text += char === '\\' ? value.charAt(at) : char;
  }
  const [name = ''] = text.trim().split(/\s+/);
  return name.replaceAll('"', '').replace(/\.$/, '').toLowerCase();
}
