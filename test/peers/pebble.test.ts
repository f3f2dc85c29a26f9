// rasket <-- certificates --> Pebble, the test authority of Let's Encrypt's makers, which refuses half of all nonces here
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import { lookElsewhere, shownAt } from '../api/certificates/authority-scene.ts';
import { startProofZone } from '../api/certificates/proof-zone.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { scratchFolder } from '../rig/scratch.ts';
import { makeCertificate } from '../rig/tls.ts';
import { freePort } from '../rig/free-port.ts';
import { describePeers, findProgram } from './peers.ts';

const NAME = 'rasket.test';
const CA = 'ca.test';

const read = (url: string, ca: string): Promise<string> =>
  new Promise((resolve, reject) => {
    https.get(url, { ca, servername: CA, agent: false }, (answer) => resolve(text(answer))).on('error', reject);
  });

describePeers('Pebble', ['pebble'], () => {
  const ends: (() => Promise<void> | void)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).toReversed()) await end();
  });

  /** The scene's ports are known before Pebble starts, and Pebble's before the scene does. */
  async function start(challenge: 'http-01' | 'tls-alpn-01' | 'dns-01') {
    const zone = challenge === 'dns-01' ? await startProofZone(NAME) : undefined;
    if (zone) ends.push(async () => zone[Symbol.asyncDispose]());
    const folder = scratchFolder('rasket-pebble-');
    ends.push(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));
    const own = makeCertificate({ names: [CA] });
    const [port, management] = [await freePort(), await freePort()];
    const scene = await startScene({
      trustedCa: [own.cert],
      config: {
        acme: {
          ...{
            directory: `https://${CA}:${port}/dir`,
            agree_to_terms: true,
            allow_private: ['127.0.0.0/8'],
            challenge,
          },
          ...(zone ? { names: ['*.rasket.test'], dns_provider: 'office' } : { names: ['api.rasket.test'] }),
        },
        https: { host: '127.0.0.1', ports: [0], redirect_ports: [0] },
        ...zone?.settings,
      },
    });
    ends.push(() => scene.close());
    for (const name of [NAME, 'api.rasket.test', CA]) scene.dns.set(name, 'A', ['127.0.0.1']);
    for (const [name, content] of Object.entries({ 'cert.pem': own.cert, 'key.pem': own.key }))
      writeFileSync(path.join(folder, name), content);
    const pebble = {
      ...{ listenAddress: `127.0.0.1:${port}`, managementListenAddress: `127.0.0.1:${management}` },
      ...{ certificate: path.join(folder, 'cert.pem'), privateKey: path.join(folder, 'key.pem') },
      ...{ httpPort: scene.app.http?.redirectPorts[0], tlsPort: scene.app.http?.securePorts[0], ocspResponderURL: '' },
    };
    writeFileSync(path.join(folder, 'config.json'), JSON.stringify({ pebble }));
    const args = [
      '-config',
      path.join(folder, 'config.json'),
      '-strict',
      '-dnsserver',
      (zone?.shown ?? scene.dns).server,
    ];
    const env = { ...process.env, PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '50', PEBBLE_AUTHZREUSE: '0' };
    const child: ChildProcess = spawn(findProgram('pebble') ?? '', args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (bytes: Buffer) => (said += bytes.toString()));
    ends.push(async () => {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    });
    await expect.poll(() => said).toContain('ACME directory available');
    const root = await read(`https://127.0.0.1:${management}/roots/0`, own.cert);
    return { scene, root, zone, trustedCa: [own.cert] };
  }

  const shown = (scene: Scene, root: string) => shownAt(scene.app.http?.securePorts[0] ?? 0, 'api.rasket.test', [root]);

  test.each(['http-01', 'tls-alpn-01', 'dns-01'] as const)(
    'issues by %s, and again with the same key',
    async (challenge) => {
      const { scene, root, zone, trustedCa } = await start(challenge);
      expect(await lookElsewhere(scene, { trustedCa }), scene.log.join('\n')).toEqual({ issued: 1, failed: 0 });
      scene.clock.advance(10_000);
      await expect.poll(async () => (await shown(scene, root)).isTrusted).toBe(true);
      const first = await shown(scene, root);
      const key = await scene.operator();
      await scene.api('POST', '/operator/certificates/renew', { key, body: {} });
      // Pebble's time is the machine's, which the scene's clock has left behind by ten seconds.
      await expect
        .poll(() => lookElsewhere(scene, { trustedCa }), { interval: 500 })
        .toEqual({
          ...{ issued: 1, failed: 0 },
        });
      scene.clock.advance(10_000);
      await expect.poll(async () => (await shown(scene, root)).serial).not.toBe(first.serial);
      expect(await shown(scene, root)).toMatchObject({ isTrusted: true, key: first.key });
      expect(zone?.primary.records ?? []).toEqual([]);
    },
    60_000,
  );
});
