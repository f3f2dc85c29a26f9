import { afterAll, beforeAll, expect, it } from 'vitest';
import { administerTeam } from '../../src/tenancy/teams/index.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { connect, logIn } from './dialogue.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ roles: ['http', 'delivery', 'submission'] });
});
afterAll(() => scene.close());

it.each([
  ['its key is revoked', '535 5.7.8 This API key has been revoked.'],
  ['its team is suspended', '535 5.7.13 This API key or its team is suspended.'],
])('a message is refused when %s while its content arrives', async (what, says) => {
  const team = await scene.team();
  const from = `me@${(await team.domain()).name}`;
  const made = await scene.api('POST', '/api-keys', { key: team.key, body: { name: 'Short' } });
  const client = await connect(scene, 'tls');
  await logIn(client, made.body.token as string);
  await client.say(`MAIL FROM:<${from}>`);
  await client.say('RCPT TO:<someone@example.net>');
  expect(await client.say('DATA')).toMatch(/^354 /);
  client.send(`From: ${from}\r\n\r\nHello\r\n`);
  if (what === 'its key is revoked') await scene.api('DELETE', `/api-keys/${made.body.id}`, { key: team.key });
  else await administerTeam(scene.app.world, team.id, { riskState: 'suspended' });
  client.send('.\r\n');
  expect((await client.reply()).join()).toBe(says);
  client.end();
  expect(await scene.app.world.db.get('select id from emails where team_id = ?', [team.id])).toBeUndefined();
});

it('a login with a key of Resend is told how to create a key of this server', async () => {
  const client = await connect(scene, 'tls');
  client.send('EHLO client.example\r\n');
  await client.reply();
  const token = Buffer.from('\0rasket\0re_123456789').toString('base64');
  expect(await client.say(`AUTH PLAIN ${token}`)).toMatch(
    /^535 5\.7\.8 This is a Resend API key .+ rasket api-keys create NAME$/,
  );
  client.end();
});
