import { afterAll, beforeAll, expect, test } from 'vitest';
import { startBind, type Bind } from '../rig/bind.ts';
import { startScene, type Scene, type SceneOptions, type Team } from '../rig/scene.ts';
import { describePeers, findProgram } from './peers.ts';

const ZONE = 'example.com';
const NAME = 'mail.example.com';
const HOUR_MS = 3_600_000;

describePeers('with BIND,', ['named', 'nsupdate', 'dig'], () => {
  let bind: Bind;
  let scene: Scene;

  beforeAll(async () => {
    bind = await startBind({
      named: findProgram('named') ?? '',
      zones: { [ZONE]: [`${NAME}. 300 IN TXT "somebody-else=1"`] },
    });
    scene = await startScene({ config: buildConfig(bind) });
  });
  afterAll(async () => {
    await scene.close();
    await bind.close();
  });

  const ask = (team: Team, method: string, target: string, body?: object) =>
    scene.api(method, target, { key: team.key, ...(body ? { body } : {}) });
  const runJob = (name: string) => scene.app.jobs.find((job) => job.name === name)?.run();
  const fetchStatus = async (team: Team, id: string) =>
    (await ask(team, 'GET', `/domains/${id}`)).body.status as string;
  const selectorsIn = (lines: string[]): string[] => [
    ...new Set(lines.flatMap((line) => /^(\S+)\._domainkey\./.exec(line)?.[1] ?? [])),
  ];

  test('a claim publishes and removes its proof, and the former owner’s copy publishes nothing more by itself', async () => {
    const before = await bind.dump(ZONE);
    const first = await scene.team();
    const second = await scene.team();
    const { body: held } = await ask(first, 'POST', '/domains', { name: NAME });
    const { body: registered } = await ask(second, 'POST', '/domains', { name: NAME });
    await ask(first, 'POST', `/domains/${held.id}/dns/configure`);
    await ask(first, 'POST', `/domains/${held.id}/verify`);
    expect(await fetchStatus(first, held.id)).toBe('verified');
    scene.clock.advance(72 * HOUR_MS);
    const owned = await bind.dump(ZONE);

    const target = `/domains/${registered.id}/dns/configure`;
    expect(await ask(second, 'POST', target)).toMatchObject({ status: 409, body: { claimable: true } });
    const { body: claim } = await ask(second, 'POST', '/domains/claim', { name: NAME });
    const { body: made } = await ask(second, 'POST', target);
    expect(made.changes).toMatchObject([{ action: 'create', name: NAME, type: 'TXT', value: claim.record.value }]);
    expect((await bind.dump(ZONE)).length).toBe(owned.length + 1);

    const { body: done } = await ask(second, 'POST', `/domains/${registered.id}/claim/verify`);
    expect(done.status).toBe('completed');
    for (const _ of [1, 2]) {
      await runJob('publish-dns');
      scene.clock.advance(HOUR_MS);
      await runJob('sweep-domains');
    }
    expect([await fetchStatus(first, held.id), await fetchStatus(second, registered.id)]).toEqual([
      'failed',
      'verified',
    ]);
    const zone = await bind.dump(ZONE);
    expect(zone.filter((line) => line.includes(claim.record.value))).toEqual([]);
    expect(selectorsIn(zone).filter((selector) => selectorsIn(owned).includes(selector))).toEqual([]);
    expect(await ask(first, 'POST', `/domains/${held.id}/dns/configure`)).toMatchObject({
      status: 409,
      body: { name: 'resource_locked', claimable: true },
    });

    await ask(second, 'DELETE', `/domains/${registered.id}`);
    await ask(first, 'DELETE', `/domains/${held.id}`);
    await runJob('publish-dns');
    expect(await bind.dump(ZONE)).toEqual(before);
  });
});

function buildConfig(bind: Bind): NonNullable<SceneOptions['config']> {
  const { name, algorithm, secret } = bind.key;
  const office = {
    kind: 'rfc2136',
    zones: [ZONE],
    teams: ['*'],
    server: '127.0.0.1',
    port: bind.port,
    key_name: name,
    key_algorithm: algorithm,
    key_secret: secret,
  };
  const config = {
    dns: { servers: [bind.server], timeout_ms: 2000, tries: 2, authority_port: bind.port },
    network: { mail_allow_private: ['127.0.0.0/8'], dns_allow_private: ['127.0.0.0/8'] },
    dns_providers: { office },
  };
  return config as unknown as NonNullable<SceneOptions['config']>;
}
