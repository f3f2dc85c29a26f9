import { afterAll, beforeAll, beforeEach } from 'vitest';
import { CLASSES, toRecordData, type DnsRecord } from '../../../src/protocol/dns/index.ts';
import type { AnyBody, ApiAnswer } from '../../rig/api.ts';
import { startScene, type Scene, type SceneOptions, type Team } from '../../rig/scene.ts';
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

/** Starts a name server with the zone example.com, and an installation whose provider `office` writes there for everybody. */
async function startOffice({ timeoutMs = 20_000 } = {}): Promise<{ scene: Scene; server: UpdateServer }> {
  const server = await startUpdateServer('example.com');
  const config = {
    dns: { timeout_ms: timeoutMs, tries: 2 },
    dns_providers: {
      office: officeAt(server.port),
      gone: { ...officeAt(1), zones: ['example.net'] },
      // Nobody can connect to this address, as when the kernel has no route.
      unreachable: { ...officeAt(1), server: '255.255.255.255', zones: ['example.net'] },
      filed: { ...officeAt(server.port), zones: ['example.edu'], key_secret: '', key_secret_file: 'dns.key' },
      closed: { ...officeAt(server.port), teams: ['somebody-else'] },
    },
  };
  return { server, scene: await startScene({ config: config as unknown as NonNullable<SceneOptions['config']> }) };
}

export interface Office {
  scene: Scene;
  server: UpdateServer;
  /** Each test has a team and a name of its own in the one zone. */
  team: Team;
  host: string;
  create(name: string, key?: string): Promise<AnyBody>;
  configure(id: string, body?: object, key?: string): Promise<ApiAnswer>;
  /** Publishes a record as somebody else. */
  put(...record: Parameters<typeof foreignRecord>): void;
  runJob(): Promise<unknown> | undefined;
}

/**
 * Starts the office of a file's tests, with a timeout that a busy machine does not reach; before each test its zone is
 * empty and everything works.
 */
export function useOffice(options?: { timeoutMs: number }): Office {
  const office = {
    create: async (name, key = office.team.key) =>
      (await office.scene.api('POST', '/domains', { key, body: { name } })).body,
    configure: (id, body, key = office.team.key) =>
      office.scene.api('POST', `/domains/${id}/dns/configure`, { key, ...(body ? { body } : {}) }),
    put: (...record) => void office.server.records.push(foreignRecord(...record)),
    runJob: () => office.scene.app.jobs.find((job) => job.name === 'publish-dns')?.run(),
  } as Office;
  let count = 0;
  beforeAll(async () => {
    Object.assign(office, await startOffice(options));
  });
  beforeEach(async () => {
    const { server, scene } = office;
    server.records = [];
    server.heard = [];
    server.faults = {};
    office.team = await scene.team();
    office.host = `mail${++count}.example.com`;
  });
  afterAll(async () => {
    await office.scene.close();
    await office.server.close();
  });
  return office;
}

/** Returns a record that somebody else has published, with a TTL that is not ours. */
function foreignRecord(name: string, type: string, value: string, priority: number | null = null): DnsRecord {
  return { name, class: CLASSES.IN, ttl: 1234, data: toRecordData({ name, type, value, priority }) };
}
