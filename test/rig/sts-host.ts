import type { DnsRig } from './dns.ts';
import { ALLOWED, startFileServer, type FileServer } from './file-server.ts';
import { makeCertificate } from './tls.ts';

export interface PublishedPolicy {
  id: string;
  /** The lines of the file; none: the host answers 404. */
  lines?: readonly string[];
  status?: number;
  headers?: Record<string, string>;
  /** Keeps connections open and never answers. */
  isSilent?: true;
}

/** The host that publishes the MTA-STS policy of one domain. */
export interface StsHost extends FileServer {
  /** Publishes a policy for the domain, or for another one that its certificate is for. */
  publish(dns: DnsRig, policy: PublishedPolicy, of?: string): void;
  /** Removes the record, and the file. */
  withdraw(dns: DnsRig): void;
}

export const policyLines = (mode: string, mx: readonly string[], maxAge = 604_800): string[] => [
  'version: STSv1',
  `mode: ${mode}`,
  ...mx.map((host) => `mx: ${host}`),
  `max_age: ${maxAge}`,
];

export async function startStsHost(domain: string, names = [`mta-sts.${domain}`]): Promise<StsHost> {
  let published: PublishedPolicy | undefined;
  const server = await startFileServer(
    (path, response) => {
      if (published?.isSilent) return;
      const isThere = published?.lines !== undefined && path === '/.well-known/mta-sts.txt';
      response.writeHead(published?.status ?? (isThere ? 200 : 404), {
        'content-type': 'text/plain',
        ...published?.headers,
      });
      response.end(isThere ? published?.lines?.map((line) => `${line}\r\n`).join('') : '');
    },
    { certificate: makeCertificate({ names }) },
  );
  return Object.assign(server, {
    publish(dns: DnsRig, policy: PublishedPolicy, of = domain) {
      published = policy;
      dns.set(`_mta-sts.${of}`, 'TXT', [`v=STSv1; id=${policy.id};`]);
      dns.set(`mta-sts.${of}`, 'A', [ALLOWED]);
    },
    withdraw(dns: DnsRig) {
      published = undefined;
      dns.set(`_mta-sts.${domain}`, 'TXT', 'NXDOMAIN');
    },
  });
}
