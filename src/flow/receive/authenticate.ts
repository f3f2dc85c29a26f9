import type { World } from '../../platform/world/index.ts';
import type { Lookup } from '../../platform/resolver/index.ts';
import type { Authentication } from '../../resources/received-emails/index.ts';
import type { Arrival } from './inbound-message.ts';

export type Checks = Omit<Authentication, 'verdict' | 'spam'>;

/** Who signs more than this does not want to be believed, and each signature costs a hash of the message. */
const SIGNATURES_MAX = 20;

/** SPF, DKIM, DMARC and ARC of a message. What cannot be found out is said as such and never an error. */
export async function authenticate(world: World, { raw, mailFrom, client }: Arrival): Promise<Checks> {
  if (countSignatures(raw) > SIGNATURES_MAX) return NOTHING_KNOWN;
  // Loaded with the first message: sending mail needs none of it.
  const mailauth = await import('mailauth');
  const { dkim, spf, dmarc, arc } = await mailauth.authenticate(raw, {
    ip: client.address,
    helo: client.name,
    sender: mailFrom,
    mta: world.config.instance.host,
    disableBimi: true,
    // Of MX records it takes objects, as Node answers them, which its type leaves out.
    resolver: (name: string, type: string) => answerOf(world, name, type) as Promise<string[]>,
  });
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
      : { result: 'none', domain: null, policy: null },
    arc: { result: arc ? arc.status.result : 'none' },
  };
}

export const NOTHING_KNOWN: Checks = {
  spf: { result: 'temperror', domain: null },
  dkim: [],
  dmarc: { result: 'temperror', domain: null, policy: null },
  arc: { result: 'none' },
};

function countSignatures(raw: Buffer): number {
  const end = raw.indexOf('\r\n\r\n');
  const head = raw.toString('latin1', 0, end < 0 ? raw.length : end);
  return head.match(/^(?:dkim-signature|arc-message-signature)[ \t]*:/gim)?.length ?? 0;
}

/** As `dns.promises.resolve` would: an answer, or an error with a code. */
async function answerOf({ resolver }: World, name: string, type: string): Promise<unknown> {
  switch (type) {
    case 'TXT':
      return found(await resolver.txt(name)).map((text) => [text]);
    case 'MX':
      return found(await resolver.mx(name)).map(({ host, preference }) => ({ exchange: host, priority: preference }));
    case 'A':
      return someOf(found(await resolver.addresses(name)).v4);
    case 'AAAA':
      return someOf(found(await resolver.addresses(name)).v6);
    default:
      throw withCode('ENOTFOUND');
  }
}

function found<T>(answer: Lookup<T>): T {
  if (answer.kind === 'found') return answer.records;
  if (answer.kind === 'none') throw withCode(answer.why === 'nxdomain' ? 'ENOTFOUND' : 'ENODATA');
  throw withCode(answer.reason === 'timeout' ? 'ETIMEOUT' : 'ESERVFAIL');
}

function someOf(addresses: string[]): string[] {
  if (addresses.length === 0) throw withCode('ENODATA');
  return addresses;
}

const withCode = (code: string): Error => Object.assign(new Error(`DNS: ${code}`), { code });
