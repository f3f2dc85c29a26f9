import { rmSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { newInstanceKey, readInstanceKeys, writeInstanceKeys } from '../../src/platform/secrets/index.ts';
import { sealAnew } from '../../src/tenancy/instance/index.ts';
import { SEALED_COLUMNS } from '../../src/sealed-columns.ts';
import { Browser, enrolled } from '../api/mfa/authenticator.ts';
import { createPeople } from '../rig/people.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { signInBySso, teamWithSso } from '../rig/sso.ts';
import { startStandInProvider } from '../rig/stand-in-provider.ts';

async function teamWithSecrets(scene: Scene) {
  const team = await scene.team();
  const domain = await team.domain();
  const made = await scene.api('POST', '/webhooks', {
    key: team.key,
    body: { endpoint: 'https://hooks.test/', events: ['email.sent'] },
  });
  return { team, domain, secret: made.body.signing_secret as string, webhookId: made.body.id as string };
}

it('a new instance key seals each secret once, and everything sealed is read and used as before', async () => {
  await using scene = await startScene();
  const { team, domain, secret, webhookId } = await teamWithSecrets(scene);
  const { current } = readInstanceKeys(scene.dataDir);
  writeInstanceKeys(scene.dataDir, { current: newInstanceKey(), former: [current] });
  await scene.restart();
  const first = await sealAnew(scene.app.world, SEALED_COLUMNS);
  expect(first).toMatchObject({ unreadable: 0 });
  expect(first.sealed).toBeGreaterThanOrEqual(3);
  expect(await sealAnew(scene.app.world, SEALED_COLUMNS)).toEqual({ sealed: 0, unreadable: 0 });
  // The key before is needed by nothing that is sealed any more.
  writeInstanceKeys(scene.dataDir, { current: readInstanceKeys(scene.dataDir).current, former: [] });
  await scene.restart();
  expect((await scene.api('GET', `/webhooks/${webhookId}`, { key: team.key })).body.signing_secret).toBe(secret);
  const sent = await scene.api('POST', '/emails', {
    key: team.key,
    body: { from: `a@${domain.name}`, to: 'x@example.org', subject: 'Hello', text: 'Hello' },
  });
  await scene.settled();
  expect((await scene.account(team, sent.body.id as string)).state).toBe('delivered');
});

it('the authenticator app of a person shows the same codes after a new instance key, and a used code stays used', async () => {
  await using scene = await startScene();
  const person = await enrolled(scene);
  const { current } = readInstanceKeys(scene.dataDir);
  writeInstanceKeys(scene.dataDir, { current: newInstanceKey(), former: [current] });
  await scene.restart();
  expect(await sealAnew(scene.app.world, SEALED_COLUMNS)).toMatchObject({ unreadable: 0 });
  writeInstanceKeys(scene.dataDir, { current: readInstanceKeys(scene.dataDir).current, former: [] });
  await scene.restart();
  const browser = new Browser(scene);
  const { challenge_token } = (await browser.logIn(person.email)).body;
  const verify = (code: string) => browser.call('POST', '/auth/mfa/verify', { challenge_token, code });
  expect((await verify(person.code())).status).toBe(422);
  expect((await verify(person.code(1))).status).toBe(200);
});

it('a team still signs in through its provider after a new instance key', async () => {
  await using scene = await startScene({ config: { sso: { allow_private: ['127.0.0.0/8'] } }, roles: ['http'] });
  const provider = await startStandInProvider(() => scene.clock.now());
  try {
    const { domain } = await teamWithSso(scene, createPeople(scene), provider);
    const { current } = readInstanceKeys(scene.dataDir);
    writeInstanceKeys(scene.dataDir, { current: newInstanceKey(), former: [current] });
    await scene.restart();
    expect(await sealAnew(scene.app.world, SEALED_COLUMNS)).toMatchObject({ unreadable: 0 });
    writeInstanceKeys(scene.dataDir, { current: readInstanceKeys(scene.dataDir).current, former: [] });
    await scene.restart();
    const email = `ada@${domain}`;
    provider.person = { sub: 'subject 1', email, email_verified: true, name: 'Ada' };
    expect((await signInBySso(scene, email)).location).toBe('/account');
  } finally {
    await provider.close();
  }
});

it('a database from before installation ids is adopted when its key opens the sealed values', async () => {
  await using scene = await startScene();
  await teamWithSecrets(scene);
  await scene.app.world.db.run(`delete from instance_settings where name = 'installation'`);
  for (const folder of ['', 'blobs']) rmSync(path.join(scene.dataDir, folder, 'installation.id'), { force: true });
  await scene.restart();
  expect(await scene.app.world.db.all(`select 1 from instance_settings where name = 'installation'`)).toHaveLength(1);
});
