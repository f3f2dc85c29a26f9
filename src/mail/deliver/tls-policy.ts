import { createHash } from 'node:crypto';
import type { HostDane, SecureLookup, MxRecord } from '../../platform/resolver/index.ts';
import { eachLimit } from '../../platform/limits/index.ts';
import type { TlsaRecord } from '../../protocol/dns/index.ts';
import { matchesStsPattern, writeStsPolicy, type StsPolicy } from '../../protocol/mta-sts.ts';
import type { DeliveryJob } from './delivery-job.ts';

/** The MTA-STS policy of a recipient's domain (RFC 8461), as far as it is known. */
export type StsState =
  | { kind: 'none' }
  /** The domain announces a policy that could not be read, and none is stored. */
  | { kind: 'unreadable'; fault: string; result: StsResult }
  | { kind: 'policy'; policy: StsPolicy };

/** Why a policy cannot be used, as TLS reports tell it apart (RFC 8460 §4.3). */
export type StsResult = 'sts-policy-fetch-error' | 'sts-policy-invalid' | 'sts-webpki-invalid';

/** Look-ups whose answers DNSSEC has validated (RFC 7672). */
export interface DaneLookUps {
  /** The resolver that is asked, as `dns.dnssec_resolver` names it. */
  server: string;
  /** The resolver has passed its test, so that what it calls secure is proven. Until then, it only adds demands. */
  isTested: boolean;
  mx(domain: string): Promise<SecureLookup<MxRecord[]>>;
  findTlsa(host: string): Promise<HostDane>;
}

/** Finds the TLS policies of recipients' domains. */
export interface TlsPolicies {
  /** The operator has decided to ignore the policies of this domain. */
  isExempt(domain: string): boolean;
  /** Finds the policy of a domain for mail of a team. Rejects if stored policies cannot be read. */
  findSts(domain: string, teamId: string): Promise<StsState>;
  /** Returns the look-ups for mail of a team; undefined without a resolver that validates. */
  findDane(teamId: string): DaneLookUps | undefined;
}

/** The TLS that a mail server must offer before it gets mail. */
export interface HostDemand {
  /** Names the policy without its domain, because domains of several teams share connections. */
  because: string;
  /** The name that the certificate must be valid for; "any" certificate will do if none of the TLSA records can be used. */
  verify: 'any' | 'name' | { records: TlsaRecord[]; names: string[] };
  /** The name that is sent in the handshake, if it is not that of the host. */
  serverName?: string;
}

export type HostTls =
  /** The policies demand nothing. */
  | { kind: 'free' }
  | { kind: 'demand'; demand: HostDemand }
  /** No mail may go to this host. */
  | { kind: 'refused'; detail: string };

/** One policy of a domain, as it is counted in TLS reports (RFC 8460 §4.4). */
export interface CountedPolicy {
  type: 'tlsa' | 'sts' | 'no-policy-found';
  /** The policy in text; empty without one. */
  strings: string[];
  /** The servers that the policy names. */
  mxHosts: string[];
  /** The fault that the policy itself has, or that it finds in the host before any connection. */
  fault?: SessionFault;
}

/** Why a certificate is not valid, as TLS reports tell it apart (RFC 8460 §4.3), and in words. */
export interface CertificateFault {
  kind: 'certificate-host-mismatch' | 'certificate-expired' | 'certificate-not-trusted' | 'validation-failure';
  words: string;
}

/** A fault of TLS on a connection (RFC 8460 §4.3), with details in words. */
export interface TlsFault {
  kind: CertificateFault['kind'] | 'starttls-not-supported' | 'tlsa-invalid';
  words?: string | undefined;
}

/** A fault of TLS on a connection, or of a policy by itself. */
export interface SessionFault {
  kind: TlsFault['kind'] | 'dnssec-invalid' | StsResult;
  words?: string | undefined;
}

/** The TLS policies that hold for mail to a domain, applied to its mail servers. */
export interface DomainTls {
  /** Mail under policies that demand different things never shares a connection. */
  key: string;
  /** DNSSEC or MTA-STS prove that these are the domain's mail servers, which REQUIRETLS needs (RFC 8689 §4.2.1). */
  isProven: boolean;
  forHost(host: string): HostTls;
  /** The hosts that policies forbid, with the reason. */
  refusedHosts: readonly { host: string; detail: string }[];
  /**
   * Returns the policies that a connection to the host counts for, and what is wrong with them by themselves; none if the
   * policies of the domain were not looked up.
   */
  countedFor(host: string): CountedPolicy[];
}

const FREE: HostTls = { kind: 'free' };

/** The number of mail servers of a domain whose TLSA records are looked up at one time. */
const HOSTS_AT_ONCE = 4;

const WITHOUT_POLICY: CountedPolicy = { type: 'no-policy-found', strings: [], mxHosts: [] };

/** Mail to servers of our own, to an address in brackets, or of a sender who wants no policy to hold it up. */
export const WITHOUT_POLICIES: DomainTls = {
  key: '',
  isProven: false,
  forHost: () => FREE,
  refusedHosts: [],
  countedFor: () => [],
};

export interface PolicyInput {
  job: Pick<DeliveryJob, 'domain' | 'tls'>;
  /** The mail servers of the domain. */
  found: { records: readonly MxRecord[]; isSecure: boolean; canonicalName?: string | undefined };
  sts: StsState;
  dane: DaneLookUps | undefined;
}

/**
 * Applies the policies of a domain to its mail servers. DANE decides where a server has usable TLSA records, or where it is not
 * known whether it has some (RFC 8461 §2); otherwise MTA-STS does.
 */
export async function applyPolicies({ job, found, sts, dane }: PolicyInput): Promise<DomainTls> {
  const hosts = [...new Set(found.records.map(({ host }) => host))];
  const policy = sts.kind === 'policy' ? sts.policy : undefined;
  const tlsa = new Map<string, HostDane>();
  if (dane !== undefined && found.isSecure)
    await eachLimit(hosts, HOSTS_AT_ONCE, async (host) => tlsa.set(host, await dane.findTlsa(host)));
  const mode = policy?.mode === 'testing' && job.tls === 'proven' ? 'enforce' : (policy?.mode ?? 'none');

  const nextHops = [job.domain, ...(found.canonicalName === undefined ? [] : [found.canonicalName])];
  const forHost = (host: string): HostTls => {
    const byDane = applyDane(tlsa.get(host) ?? { kind: 'none' }, nextHops);
    const decides = byDane.kind === 'refused' || (byDane.kind === 'demand' && byDane.demand.verify !== 'any');
    if (decides) return byDane;
    // Records that cannot be used say nothing about the certificate, but an MTA-STS policy does.
    const bySts = applySts(host, policy, mode);
    return bySts.kind === 'free' ? byDane : bySts;
  };
  const rules = new Map(hosts.map((host) => [host, forHost(host)]));
  return {
    key: [...rules].flatMap(([host, rule]) => (rule.kind === 'free' ? [] : [toKey(host, rule)])).join(' '),
    isProven: (found.isSecure && dane?.isTested === true) || (policy !== undefined && policy.mode !== 'none'),
    forHost: (host) => rules.get(host) ?? FREE,
    refusedHosts: [...rules].flatMap(([host, rule]) =>
      rule.kind === 'refused' ? [{ host, detail: rule.detail }] : [],
    ),
    countedFor: (host) => listCounted(host, tlsa.get(host), sts),
  };
}

function applySts(host: string, policy: StsPolicy | undefined, mode: StsPolicy['mode']): HostTls {
  if (policy === undefined || mode !== 'enforce') return FREE;
  if (!matchesStsPattern(host, policy.mx))
    return {
      kind: 'refused',
      detail: `${host}: not tried, because the MTA-STS policy of the recipient's domain (mode enforce) does not name this mail server`,
    };
  const because = "the MTA-STS policy of the recipient's domain (mode enforce)";
  return { kind: 'demand', demand: { because, verify: 'name' } };
}

function applyDane(dane: HostDane, nextHops: readonly string[]): HostTls {
  switch (dane.kind) {
    case 'none':
      return FREE;
    case 'failed':
      return { kind: 'refused', detail: `DANE: ${dane.detail}` };
    case 'unusable':
      return {
        kind: 'demand',
        demand: { because: `the TLSA records of ${dane.base}`, verify: 'any', serverName: dane.base },
      };
    case 'records': {
      const { base, records } = dane;
      // Names matter to the records of authorities only; the domain itself is one of them (RFC 7672 §3.2.2).
      const names = records.some(({ usage }) => usage === 2) ? [...new Set([base, ...nextHops])] : [base];
      return {
        kind: 'demand',
        demand: { because: `the TLSA records of ${base}`, verify: { records, names }, serverName: base },
      };
    }
  }
}

/** Returns a text that differs if something else is demanded of the host. */
function toKey(host: string, rule: Exclude<HostTls, { kind: 'free' }>): string {
  if (rule.kind === 'refused') return `${host}=refused`;
  const { verify, serverName = '' } = rule.demand;
  if (typeof verify === 'string') return `${host}=${verify}:${serverName}`;
  const hash = createHash('sha256').update(JSON.stringify([serverName, verify.names]));
  for (const { usage, selector, matching, association } of verify.records)
    hash.update(`${usage} ${selector} ${matching} ${association.toString('hex')}\n`);
  return `${host}=dane:${hash.digest('base64url').slice(0, 16)}`;
}

function listCounted(host: string, dane: HostDane | undefined, sts: StsState): CountedPolicy[] {
  const counted: CountedPolicy[] = [];
  if (dane?.kind === 'records') counted.push({ type: 'tlsa', strings: dane.records.map(writeTlsa), mxHosts: [host] });
  if (dane?.kind === 'unusable') counted.push({ type: 'tlsa', strings: [], mxHosts: [host] });
  if (dane?.kind === 'failed')
    counted.push({ type: 'tlsa', strings: [], mxHosts: [host], fault: { kind: 'dnssec-invalid', words: dane.detail } });
  if (sts.kind === 'unreadable') {
    counted.push({ type: 'sts', strings: [], mxHosts: [], fault: { kind: sts.result, words: sts.fault } });
  }
  if (sts.kind === 'policy' && sts.policy.mode !== 'none') {
    const { mx } = sts.policy;
    const strings = writeStsPolicy(sts.policy).trimEnd().split('\r\n');
    const isNamed = matchesStsPattern(host, mx);
    const fault = { kind: 'validation-failure' as const, words: `the policy does not name ${host}` };
    counted.push({ type: 'sts', strings, mxHosts: mx, ...(isNamed ? {} : { fault }) });
  }
  return counted.length === 0 ? [WITHOUT_POLICY] : counted;
}

const writeTlsa = ({ usage, selector, matching, association }: TlsaRecord): string =>
  `${usage} ${selector} ${matching} ${association.toString('hex')}`;
