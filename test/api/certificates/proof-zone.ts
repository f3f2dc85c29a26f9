import type { Config, DeepPartial } from '../../../src/platform/config/index.ts';
import { plainRecord } from '../../../src/protocol/dns/index.ts';
import { startDns, type DnsRig } from '../../rig/dns.ts';
import { startUpdateServer, type UpdateServer } from '../../rig/update-server.ts';

/** A zone whose primary takes updates and whose name server shows the proofs in it, at once or when `publish` is called. */
export interface ProofZone extends AsyncDisposable {
  primary: UpdateServer;
  /** The name server, which is also everybody's resolver. */
  shown: DnsRig;
  settings: DeepPartial<Config>;
  isLate: boolean;
  publish(): void;
  /** Returns the values of TXT records of the primary. */
  written(name: string): string[];
  /** Returns the values that the name server shows. */
  visible(name: string): readonly string[];
}

export async function startProofZone(name: string): Promise<ProofZone> {
  const primary = await startUpdateServer(name);
  const shown = await startDns({
    [name]: { A: ['127.0.0.1'], SOA: [`ns.${name} admin.${name} 1 900`], NS: [`ns.${name}`] },
    [`ns.${name}`]: { A: ['127.0.0.1'] },
    'ca.test': { A: ['127.0.0.1'] },
  });
  const office = {
    kind: 'rfc2136',
    zones: [name],
    teams: [],
    server: '127.0.0.1',
    port: primary.port,
    key_name: 'rasket-key',
    key_secret: Buffer.alloc(32, 9).toString('base64'),
  };
  const proof = `_acme-challenge.${name}`;
  const written = (owner: string): string[] =>
    primary.records
      .map(plainRecord)
      .filter((record) => record.type === 'TXT' && record.name === owner)
      .map(({ value }) => value);
  let now: string[] = [];
  const zone: ProofZone = {
    primary,
    shown,
    written,
    isLate: false,
    settings: {
      dns_providers: { office },
      dns: { servers: [shown.server], timeout_ms: 20_000, tries: 1, authority_port: shown.port },
      network: { dns_allow_private: ['127.0.0.0/8'] },
    } as unknown as DeepPartial<Config>,
    publish() {
      now = written(proof);
      shown.set(proof, 'TXT', now);
    },
    visible: (owner) => (owner === proof ? now : []),
    async [Symbol.asyncDispose]() {
      await shown.close();
      await primary.close();
    },
  };
  primary.faults.beforeUpdate = () => void queueMicrotask(() => !zone.isLate && zone.publish());
  return zone;
}
