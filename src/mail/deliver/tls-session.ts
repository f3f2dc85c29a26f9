import type { Target } from './mx-route.ts';
import type { Destination } from './pool.ts';
import type { Opened } from './smtp-session.ts';
import { WITHOUT_POLICIES, type CountedPolicy, type SessionFault } from './tls-policy.ts';

/** How TLS went with one mail server, under each policy of the recipient's domain. */
export interface TlsSession {
  domain: string;
  host: string;
  /** The address of the server; undefined if a policy forbids it. */
  address?: string;
  /** Our address on the connection, if one was established. */
  localAddress?: string | undefined;
  /** Why mail did not go to this server, if a policy of the recipient's domain keeps it from going there. */
  unmet?: string | undefined;
  results: { policy: CountedPolicy; fault: SessionFault | undefined }[];
}

/** Describes how TLS went on a connection that was opened, or was to be, for mail to one of the domains that use it. */
export function describeSession(
  { domain, policies = WITHOUT_POLICIES }: Destination,
  { host, address, demand }: Target,
  opened: Opened,
): TlsSession {
  // A server that could not be reached, or refused us, says nothing about TLS; nor does one with which TLS was not tried again.
  const isAboutTls = opened.tlsFault !== undefined || (opened.kind === 'open' && opened.session.tls !== null);
  const results = policies
    .countedFor(host)
    .map((policy) => ({ policy, fault: policy.fault ?? findFault(policy.type, opened) }));
  const unmet = demand && opened.kind === 'failed' && opened.tlsFault ? opened.detail : undefined;
  const { localAddress } = opened.kind === 'open' ? opened.session.connection : opened;
  return { domain, host, address, localAddress, unmet, results: isAboutTls ? results : [] };
}

function findFault(type: CountedPolicy['type'], opened: Opened): SessionFault | undefined {
  const { tlsFault } = opened;
  if (tlsFault && (tlsFault.kind !== 'tlsa-invalid' || type === 'tlsa')) return tlsFault;
  if (type !== 'sts' || opened.kind !== 'open') return undefined;
  // In the mode testing, the certificate was not required to be valid.
  const { certificateFault } = opened.session.connection;
  return certificateFault;
}

/** Describes the mail servers that the policies of a domain forbid. */
export function describeRefusals({ domain, policies = WITHOUT_POLICIES }: Destination): TlsSession[] {
  return policies.refusedHosts.map(({ host, detail }) => {
    const counted = policies.countedFor(host);
    const results = counted.flatMap((policy) => (policy.fault ? [{ policy, fault: policy.fault }] : []));
    return { domain, host, unmet: detail, results };
  });
}
