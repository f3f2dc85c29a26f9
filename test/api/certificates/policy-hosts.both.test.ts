import https from 'node:https';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { publish } from '../../rig/scene.ts';
import { startWithAuthority, type AuthorityScene } from './authority-scene.ts';

/** Reads the policy of a domain as a mail server does: by https, with a certificate that it trusts. */
function readPolicy({ ca, scene }: AuthorityScene, name: string) {
  const host = `mta-sts.${name}`;
  const port = scene.app.http?.securePorts[0];
  const options = { host: '127.0.0.1', port, servername: host, headers: { host }, ca: [...ca.trust], agent: false };
  return new Promise<{ status: number; body: string }>((resolve, reject) => {
    https
      .get({ ...options, path: '/.well-known/mta-sts.txt' }, (response) => {
        text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
      })
      .on('error', reject);
  });
}

const listCertificates = async (at: AuthorityScene) =>
  (await at.listed()).map(({ kind, name, status }) => [kind, name, status]);

it('a policy host gets its own certificate once it points here, and keeps it while the policy is withdrawn', async () => {
  await using at = await startWithAuthority();
  const { ca, scene } = at;
  const team = await scene.team();
  const name = 'mail.example.com';
  const host = `mta-sts.${name}`;
  scene.dns.set(name, 'MX', ['10 rasket.test']);
  const body = { name, mta_sts: 'testing', capabilities: { receiving: 'enabled' } };
  const { body: created } = await scene.api('POST', '/domains', { key: team.key, body });
  await at.look();
  expect(ca.ordered).toEqual(['rasket.test']);

  publish(scene.dns, created);
  await scene.api('POST', `/domains/${created.id}/verify`, { key: team.key });
  await at.look();
  expect(ca.ordered).toEqual(['rasket.test', host]);
  expect(await listCertificates(at)).toEqual([
    ['host', 'rasket.test', 'issued'],
    ['mta_sts', host, 'issued'],
  ]);
  scene.clock.advance(10_000);
  await expect.poll(async () => (await at.shown(host)).isTrusted).toBe(true);
  expect(await readPolicy(at, name)).toEqual({
    status: 200,
    body: 'version: STSv1\r\nmode: testing\r\nmax_age: 86400\r\nmx: rasket.test\r\n',
  });

  await scene.api('DELETE', `/domains/${created.id}`, { key: team.key });
  await at.renew({ name: host });
  await at.look();
  expect(ca.ordered).toEqual(['rasket.test', host, host]);
  expect(await readPolicy(at, name)).toEqual({
    status: 200,
    body: 'version: STSv1\r\nmode: none\r\nmax_age: 86400\r\n',
  });

  scene.clock.advance(86_400_000);
  expect((await readPolicy(at, name)).status).toBe(404);
  await at.renew({ name: host });
  await at.look();
  expect(await listCertificates(at)).toEqual([['host', 'rasket.test', 'issued']]);
  expect(ca.ordered).toHaveLength(3);
});

it('no certificate is ordered for a policy host that no longer points here', async () => {
  await using at = await startWithAuthority();
  const { ca, scene } = at;
  const team = await scene.team();
  const name = 'moved.example.com';
  scene.dns.set(name, 'MX', ['10 rasket.test']);
  const body = { name, mta_sts: 'testing', capabilities: { receiving: 'enabled' } };
  const { body: created } = await scene.api('POST', '/domains', { key: team.key, body });
  publish(scene.dns, created);
  await scene.api('POST', `/domains/${created.id}/verify`, { key: team.key });
  scene.dns.set(`mta-sts.${name}`, 'CNAME', ['elsewhere.example']);
  scene.clock.advance(600_000);
  await at.look();
  expect(ca.ordered).toEqual(['rasket.test']);
  const moved = (await at.listed()).find(({ kind }) => kind === 'mta_sts');
  expect(moved).toMatchObject({
    status: 'failing',
    last_error: expect.stringMatching(/does not lead to rasket\.test/),
  });
});
