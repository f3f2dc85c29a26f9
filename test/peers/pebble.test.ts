// rasket <-- certificates --> Pebble, the test authority of Let's Encrypt's makers, which refuses half of all nonces here
import { afterEach, expect, test } from 'vitest';
import { lookElsewhere, shownAt } from '../api/certificates/authority-scene.ts';
import { startProofZone } from '../api/certificates/proof-zone.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { CA, planPebble } from './pebble.ts';
import { describePeers } from './peers.ts';

const NAME = 'rasket.test';

describePeers('Pebble', ['pebble'], () => {
  const ends: (() => Promise<void> | void)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).toReversed()) await end();
  });

  /** The scene's ports are known before Pebble starts, and Pebble's before the scene does. */
  async function start(challenge: 'http-01' | 'tls-alpn-01' | 'dns-01') {
    const zone = challenge === 'dns-01' ? await startProofZone(NAME) : undefined;
    if (zone) ends.push(async () => zone[Symbol.asyncDispose]());
    const plan = await planPebble();
    const { trustedCa } = plan;
    const scene = await startScene({
      trustedCa,
      config: {
        acme: {
          directory: plan.directory,
          agree_to_terms: true,
          allow_private: ['127.0.0.0/8'],
          challenge,
          ...(zone ? { names: ['*.rasket.test'], dns_provider: 'office' } : { names: ['api.rasket.test'] }),
        },
        https: { host: '127.0.0.1', ports: [0], redirect_ports: [0] },
        ...zone?.settings,
      },
    });
    ends.push(() => scene.close());
    for (const name of [NAME, 'api.rasket.test', CA]) scene.dns.set(name, 'A', ['127.0.0.1']);
    const { http } = scene.app;
    const { root, stop } = await plan.start({
      httpPort: http?.redirectPorts[0],
      tlsPort: http?.securePorts[0],
      dnsServer: (zone?.shown ?? scene.dns).server,
    });
    ends.push(stop);
    return { scene, root, zone, trustedCa };
  }

  const shown = (scene: Scene, root: string) => shownAt(scene.app.http?.securePorts[0] ?? 0, 'api.rasket.test', [root]);

  test.each(['http-01', 'tls-alpn-01', 'dns-01'] as const)(
    'issues a certificate by %s, and again with the same key',
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
          issued: 1,
          failed: 0,
        });
      scene.clock.advance(10_000);
      await expect.poll(async () => (await shown(scene, root)).serial).not.toBe(first.serial);
      expect(await shown(scene, root)).toMatchObject({ isTrusted: true, key: first.key });
      expect(zone?.primary.records ?? []).toEqual([]);
    },
    60_000,
  );
});
