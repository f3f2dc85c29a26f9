// rasket --> TXT records by signed updates --> BIND <-- asks Pebble, which issues the certificate: DNS-01 with nothing of ours between
import { expect, onTestFinished, test } from 'vitest';
import { lookElsewhere, shownAt } from '../api/certificates/authority-scene.ts';
import { startBind, type Bind } from '../rig/bind.ts';
import { startScene, type Scene, type SceneOptions } from '../rig/scene.ts';
import { CA, planPebble } from './pebble.ts';
import { describePeers, findProgram } from './peers.ts';

const ZONE = 'rasket.test';
const BROKEN = 'broken.test';
const READER = 'may-only-read';
const PROOF = `_acme-challenge.${ZONE}`;
/** Somebody else's proof at the same name: it has to stay. */
const FOREIGN = `${PROOF}. 300 IN TXT "of somebody else"`;

type Config = Scene['app']['world']['config'];

describePeers('with BIND and Pebble,', ['named', 'dig', 'nsupdate', 'pebble'], () => {
  async function start() {
    const bind = await startBind({
      named: findProgram('named') ?? '',
      zones: { [ZONE]: [`${ZONE}. 300 IN A 127.0.0.1`, FOREIGN], [CA]: [`${CA}. 300 IN A 127.0.0.1`] },
      broken: [BROKEN],
      reader: READER,
    });
    onTestFinished(() => bind.close());
    const plan = await planPebble();
    const scene = await startScene({ trustedCa: plan.trustedCa, config: buildConfig(bind, plan.directory) });
    onTestFinished(() => scene.close());
    const { root, stop } = await plan.start({ dnsServer: bind.server });
    onTestFinished(stop);
    const operator = await scene.operator();
    const { config } = scene.app.world;
    return {
      bind,
      scene,
      root,
      config,
      look: (how: Config) => lookElsewhere(scene, { trustedCa: plan.trustedCa, config: how }),
      lastError: async (): Promise<string | null> =>
        (await scene.api('GET', '/operator/certificates', { key: operator })).body.certificates[0].last_error,
      renew: () => scene.api('POST', '/operator/certificates/renew', { key: operator, body: {} }),
    };
  }

  test('a wildcard certificate is issued once BIND accepts the proofs, and the zone ends unchanged', async () => {
    const { bind, scene, root, config, look, lastError, renew } = await start();
    const before = await bind.dump(ZONE);
    const withOffice = (change: object): Config =>
      ({ ...config, dns_providers: { office: { ...config.dns_providers.office, ...change } } }) as unknown as Config;
    const faults: [change: object, says: RegExp][] = [
      [
        { key_secret: Buffer.alloc(32, 'wrong').toString('base64') },
        /the signature with the key rasket-test \(BADSIG\)/,
      ],
      [{ key_name: 'another-key' }, /does not know the key another-key with hmac-sha256 \(BADKEY\)/],
      [{ key_name: READER }, /REFUSED/],
      [{ zones: ['test'] }, /NOTAUTH/],
    ];
    for (const [change, says] of faults) {
      expect(await look(withOffice(change)), `${says}`).toEqual({ issued: 0, failed: 1 });
      expect(await lastError()).toMatch(says);
      expect(await bind.dump(ZONE)).toEqual(before);
      expect((await renew()).status).toBe(200);
    }

    expect(await look(config), scene.log.join('\n')).toEqual({ issued: 1, failed: 0 });
    scene.clock.advance(10_000);
    const shown = (name: string) => shownAt(scene.app.http?.securePorts[0] ?? 0, name, [root]);
    await expect.poll(async () => (await shown(ZONE)).isTrusted).toBe(true);
    expect((await shown(`any.${ZONE}`)).isTrusted).toBe(true);
    expect(await bind.dump(ZONE)).toEqual(before);
  });

  test('a zone that BIND cannot load is named, and proofs of other names are removed again', async () => {
    const { bind, config, look, lastError, renew } = await start();
    const before = await bind.dump(ZONE);
    const office = { ...config.dns_providers.office, zones: [ZONE, BROKEN] };
    const names = [`api.${BROKEN}`];
    const more = { ...config, acme: { ...config.acme, names }, dns_providers: { office } } as unknown as Config;
    expect(await look(more)).toEqual({ issued: 0, failed: 1 });
    expect(await lastError()).toMatch(/SERVFAIL/);
    await renew();
    expect(await look(config)).toEqual({ issued: 1, failed: 0 });
    expect(await bind.dump(ZONE)).toEqual(before);
  });
});

function buildConfig(bind: Bind, directory: string): NonNullable<SceneOptions['config']> {
  const office = {
    kind: 'rfc2136',
    zones: [ZONE],
    teams: [],
    server: '127.0.0.1',
    port: bind.port,
    key_name: bind.key.name,
    key_algorithm: bind.key.algorithm,
    key_secret: bind.key.secret,
  };
  const config = {
    acme: {
      directory,
      agree_to_terms: true,
      allow_private: ['127.0.0.0/8'],
      challenge: 'dns-01',
      dns_provider: 'office',
      names: [`*.${ZONE}`],
    },
    https: { host: '127.0.0.1', ports: [0], redirect_ports: [0] },
    // The name server is the resolver as well, and remembers nothing.
    dns: { servers: [bind.server], timeout_ms: 2000, tries: 2, authority_port: bind.port },
    network: { dns_allow_private: ['127.0.0.0/8'] },
    dns_providers: { office },
  };
  return config as unknown as NonNullable<SceneOptions['config']>;
}
