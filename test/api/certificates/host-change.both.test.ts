import { expect, it } from 'vitest';
import { createStsPolicies } from '../../../src/mail/tls-policies/index.ts';
import { closeWorld, openWorld } from '../../../src/open-world.ts';
import { beginHostChange, finishHostChange } from '../../../src/tenancy/instance/index.ts';
import { publish } from '../../rig/scene.ts';
import { startWithAuthority, type AuthorityScene } from './authority-scene.ts';

const OLD = 'rasket.test';
const NEW = 'mx.rasket.example';
const DOMAIN = 'mail.example.com';

/** Reads the policy of the domain as a sender does, with the code and the checks of a delivery. */
async function readPolicyAsSender({ ca, scene }: AuthorityScene): Promise<unknown> {
  const { app, clock, dataDir } = scene;
  const { config, log } = app.world;
  const delivery = { ...config.delivery, mta_sts_port: app.http?.securePorts[0] ?? 0 };
  const network = { ...config.network, http_allow_private: ['127.0.0.0/8'] };
  const settings = { ...config, delivery, network };
  const world = await openWorld({ config: settings, dataDir, clock, log, trustedCa: ca.trust });
  try {
    return await createStsPolicies(world).find(DOMAIN, 'a team');
  } finally {
    await closeWorld(world);
  }
}

const run = ({ scene }: AuthorityScene, job: string) => scene.app.jobs.find(({ name }) => name === job)?.run();

it('the certificate and the MTA-STS policy contain both host names during a change, and senders can still read the policy', async () => {
  await using at = await startWithAuthority();
  const { ca, scene } = at;
  const { dns } = scene;
  for (const host of [OLD, NEW]) dns.set(host, 'A', ['127.0.0.1']);
  dns.set(DOMAIN, 'MX', [`10 ${OLD}`]);
  const team = await scene.team();
  const body = { name: DOMAIN, mta_sts: 'testing', capabilities: { receiving: 'enabled' } };
  const { body: created } = await scene.api('POST', '/domains', { key: team.key, body });
  publish(dns, created);
  dns.set(`mta-sts.${DOMAIN}`, 'A', ['127.0.0.1']);
  await scene.api('POST', `/domains/${created.id}/verify`, { key: team.key });
  await scene.api('PATCH', `/domains/${created.id}`, { key: team.key, body: { mta_sts: 'enforce' } });
  const read = async () => (await scene.api('GET', `/domains/${created.id}`, { key: team.key })).body;
  publish(dns, await read());
  await at.look();
  scene.clock.advance(10_000);
  await expect.poll(async () => (await at.shown(`mta-sts.${DOMAIN}`)).isTrusted).toBe(true);
  expect(await readPolicyAsSender(at)).toMatchObject({ kind: 'policy', policy: { mode: 'enforce', mx: [OLD] } });

  await beginHostChange(scene.app.world, { from: OLD, to: NEW });
  await scene.restart({ instance: { ...scene.app.world.config.instance, host: NEW } });
  ca.look.httpPort = scene.app.http?.redirectPorts[0] ?? 0;
  // Until the next certificate has been issued, the present one is in use.
  expect((await at.shown(OLD)).isTrusted).toBe(true);
  scene.clock.advance(60_000);
  for (const job of ['sweep-domains', 'renew-certificates']) await run(at, job);
  scene.clock.advance(10_000);
  for (const host of [OLD, NEW]) await expect.poll(async () => (await at.shown(host)).isTrusted).toBe(true);
  const issued = (await at.listed()).find(({ name }) => name === NEW);
  expect(issued).toMatchObject({ kind: 'host', status: 'issued', names: [NEW, OLD] });

  // The sender has the former policy, and looks for another id in DNS.
  expect(await readPolicyAsSender(at)).toMatchObject({ policy: { mx: [OLD] } });
  dns.set(`_mta-sts.${DOMAIN}`, 'TXT', [
    [(await read()).records.find(({ name }: { name: string }) => name === `_mta-sts.${DOMAIN}`).value],
  ]);
  scene.clock.advance(600_000);
  expect(await readPolicyAsSender(at)).toMatchObject({ policy: { mode: 'enforce', mx: [NEW, OLD] } });
  expect((await read()).status).toBe('verified');

  await finishHostChange(scene.app.world);
  await run(at, 'renew-certificates');
  expect((await at.listed()).find(({ name }) => name === NEW)).toMatchObject({ names: [NEW] });
});
