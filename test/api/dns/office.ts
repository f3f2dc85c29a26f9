import { CLASSES, recordDataOf, type DnsRecord } from '../../../src/protocol/dns/index.ts';
import { startScene, type Scene, type SceneOptions } from '../../rig/scene.ts';
import { startUpdateServer, type UpdateServer } from '../../rig/update-server.ts';

const officeAt = (port: number) => ({
  kind: 'rfc2136',
  zones: ['example.com', 'deep.example.com'],
  teams: ['*'],
  server: '127.0.0.1',
  port,
  key_name: 'rasket-key',
  key_secret: Buffer.alloc(32, 9).toString('base64'),
});

/** A name server with the zone example.com, and an installation whose provider `office` writes there for everybody. */
export async function startOffice({ timeoutMs = 300 } = {}): Promise<{ scene: Scene; server: UpdateServer }> {
  const server = await startUpdateServer('example.com');
  const config = {
    dns: { timeout_ms: timeoutMs, tries: 2 },
    dns_providers: {
      office: officeAt(server.port),
      gone: { ...officeAt(1), zones: ['example.net'] },
      filed: { ...officeAt(server.port), zones: ['example.edu'], key_secret: '', key_secret_file: 'dns.key' },
      closed: { ...officeAt(server.port), teams: ['somebody-else'] },
    },
  };
  return { server, scene: await startScene({ config: config as unknown as NonNullable<SceneOptions['config']> }) };
}

/** What somebody else has published; its ttl is not ours. */
export function foreignRecord(name: string, type: string, value: string, priority: number | null = null): DnsRecord {
  return { name, class: CLASSES.IN, ttl: 1234, data: recordDataOf({ name, type, value, priority }) };
}
