import type { Authentication } from '../received-emails/index.ts';

export type Checks = Omit<Authentication, 'verdict' | 'spam'>;

export interface CheckOrder {
  mailFrom: string;
  client: { address: string; name: string };
  /** The name of this server. */
  host: string;
}

/**
 * Loads what `authenticate` works with, which takes a fifth of a server's start: with the first message, or before it where
 * somebody waits for that one.
 */
export const loadAuthentication = () => import('mailauth');

/** SPF, DKIM, DMARC and ARC of a message; `resolver` answers as `dns.promises.resolve` would. */
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
      // For MX it takes objects, as Node answers them, which its type leaves out.
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
