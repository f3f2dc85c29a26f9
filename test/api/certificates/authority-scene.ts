import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import tls from 'node:tls';
import { expect } from 'vitest';
import { renewCertificates } from '../../../src/features/installation/certificate-renewal/renew-certificates.ts';
import { closeWorld, openWorld } from '../../../src/open-world.ts';
import type { Clock } from '../../../src/platform/clock.ts';
import type { Config, DeepPartial } from '../../../src/platform/config/index.ts';
import { issuedVersions } from '../../../src/features/installation/certificates/certificates.store.ts';
import { readShown } from '../../../src/features/installation/certificates/certificates.ts';
import { startAcmeServer, type AcmeServer } from '../../rig/acme-server.ts';
import type { DnsRig } from '../../rig/dns.ts';
import { publish, startScene, type Scene } from '../../rig/scene.ts';

export interface AuthorityScene extends AsyncDisposable {
  scene: Scene;
  ca: AcmeServer;
  operator: string;
  /** Runs the job of the scheduler once. */
  look(): Promise<void>;
  /** Returns the operator's list of all certificates. */
  listed(): Promise<Listed[]>;
  renew(body?: object): Promise<void>;
  /** Returns the certificate that a client gets at the HTTPS port; trusted, unless the result says why not. */
  shown(servername?: string): Promise<Shown>;
}

export interface Listed {
  id: string;
  name: string;
  kind: string;
  status: string;
  names: string[];
  starts_at: string | null;
  ends_at: string | null;
  next_try_at: string;
  failing_since: string | null;
  last_error: string | null;
}

export interface Shown {
  serial: string;
  isTrusted: boolean;
  key: string;
}

export async function startWithAuthority(
  acme: DeepPartial<Config>['acme'] = {},
  more: DeepPartial<Config> = {},
): Promise<AuthorityScene> {
  const ca = await startAcmeServer();
  const settings = { directory: ca.directory, agree_to_terms: true, allow_private: ['127.0.0.0/8'], ...acme };
  const scene = await startScene({
    trustedCa: ca.trust,
    roles: ['http', 'delivery', 'submission'],
    config: { acme: settings, https: { host: '127.0.0.1', ports: [0], redirect_ports: [0] }, ...more },
  });
  scene.dns.set('ca.test', 'A', ['127.0.0.1']);
  ca.look.httpPort = scene.app.http?.redirectPorts[0] ?? 0;
  ca.look.tlsPort = scene.app.http?.securePorts[0] ?? 0;
  const operator = await scene.operator();

  const shown = (servername = 'rasket.test'): Promise<Shown> =>
    shownAt(scene.app.http?.securePorts[0] ?? 0, servername, ca.trust);

  async function look(): Promise<void> {
    const job = scene.app.jobs.find(({ name }) => name === 'renew-certificates');
    await job?.run();
    const [row] = await issuedVersions(scene.app.world.db).then((all) => all.filter(({ kind }) => kind === 'host'));
    const issued = row && (await readShown(scene.app.world, row.id));
    // It is served once it was read.
    if (issued)
      await expect.poll(async () => (await shown()).serial).toBe(new X509Certificate(issued.cert).serialNumber);
  }

  return {
    scene,
    ca,
    operator,
    look,
    shown,
    async listed() {
      const { body } = await scene.api('GET', '/operator/certificates', { key: operator });
      return body.certificates as Listed[];
    },
    async renew(body = {}) {
      const { status } = await scene.api('POST', '/operator/certificates/renew', { key: operator, body });
      if (status !== 200) throw new Error(`renewing was answered with ${status}`);
    },
    async [Symbol.asyncDispose]() {
      await scene.close();
      await ca.close();
    },
  };
}

/** Creates a verified domain with a tracking host, and returns the host; published in the scene's DNS, or in another. */
export async function trackedDomain({ scene }: AuthorityScene, name: string, dns: DnsRig = scene.dns): Promise<string> {
  const team = await scene.team();
  const body = { name, click_tracking: true, tracking_subdomain: 'links' };
  const created = await scene.api('POST', '/domains', { key: team.key, body });
  publish(dns, created.body);
  await scene.api('POST', `/domains/${created.body.id}/verify`, { key: team.key });
  return `links.${name}`;
}

/** Runs the job on another node, with the system's clock unless another is given. */
export async function lookElsewhere(
  { app, dataDir }: Scene,
  { trustedCa, clock, config = app.world.config }: { trustedCa: readonly string[]; clock?: Clock; config?: Config },
): Promise<{ issued: number; failed: number }> {
  const world = await openWorld({ config, dataDir, trustedCa, log: app.world.log, ...(clock ? { clock } : {}) });
  try {
    return await renewCertificates(world);
  } finally {
    await closeWorld(world);
  }
}

export async function shownAt(port: number, servername: string, ca: readonly string[]): Promise<Shown> {
  const socket = tls.connect({ host: '127.0.0.1', port, servername, ca: [...ca], rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { serialNumber: serial, pubkey } = socket.getPeerCertificate();
  const seen = { serial, isTrusted: socket.authorized, key: (pubkey as Buffer).toString('base64') };
  socket.destroy();
  return seen;
}
