// mail servers and applications --> a server that is being stopped while deliveries end
import { expect, it } from 'vitest';
import type { AnyBody } from '../rig/api.ts';
import { bringMail, createReceivingDomain } from '../rig/mx.ts';
import { startScene } from '../rig/scene.ts';
import { connect, logIn, submit } from './dialogue.ts';

const RAW = 'From: a@good.example\r\nSubject: Meanwhile\r\nMessage-ID: <m@good.example>\r\n\r\nHello\r\n';

it('a stopping server accepts mail while deliveries end, which is stored and sent after the next start', async () => {
  await using scene = await startScene({ roles: ['http', 'delivery', 'submission', 'receiving'] });
  const team = await scene.team();
  const domain = (await createReceivingDomain(scene, team)).name;
  const list = async (path: string): Promise<AnyBody[]> => (await scene.api('GET', path, { key: team.key })).body.data;
  const rule = { pattern: '*', action: 'forward', forward_to: ['office@dest.example.org'] };
  expect((await scene.api('POST', '/inbound-rules', { key: team.key, body: rule })).status).toBe(201);
  const body = { from: `a@${domain}`, to: 'slow@dest.example.org', subject: 'Under way', text: 'x' };
  expect((await scene.api('POST', '/emails', { key: team.key, body })).status).toBe(200);
  await scene.sink.waitFor(({ counts }) => counts.data === 1);

  const stopped = scene.app.close(60_000);
  // The first port to close is that of the API.
  await expect
    .poll(() =>
      fetch(scene.url).then(
        () => true,
        () => false,
      ),
    )
    .toBe(false);
  expect(await bringMail(scene, { from: 'a@good.example', to: [`in@${domain}`], raw: RAW })).toMatch(/^250 /);
  const client = await connect(scene, 'tls');
  await logIn(client, team.key);
  const content = `From: a@${domain}\r\nSubject: Submitted meanwhile\r\n\r\nHello\r\n`;
  expect(await submit(client, { from: `a@${domain}`, to: ['b@dest.example.org'], content })).toMatch(/^250 /);
  expect(scene.sink.counts.accepted).toBe(0);

  scene.sink.openGate();
  // A connected client is asked to try again.
  expect((await client.reply()).join()).toMatch(/^421 4\.3\.2 /);
  client.end();
  await stopped;
  await expect(bringMail(scene, { to: [`in@${domain}`], raw: RAW })).resolves.toBe('closed');

  await scene.restart();
  await scene.settled();
  expect(await list('/emails/receiving')).toMatchObject([{ subject: 'Meanwhile' }]);
  expect((await list('/emails')).map((one) => [one.subject, one.last_event]).sort()).toEqual([
    ['Meanwhile', 'delivered'],
    ['Submitted meanwhile', 'delivered'],
    ['Under way', 'delivered'],
  ]);
  expect(scene.sink.messages.map(({ rcptTo }) => rcptTo.join()).sort()).toEqual([
    'b@dest.example.org',
    'office@dest.example.org',
    'slow@dest.example.org',
  ]);
});

it('a client in the middle of its message can end it although deliveries used all of the grace period', async () => {
  await using scene = await startScene({ roles: ['http', 'delivery', 'submission'] });
  const team = await scene.team();
  const from = `a@${(await team.domain()).name}`;
  const body = { from, to: 'slow@dest.example.org', subject: 'Under way', text: 'x' };
  await scene.api('POST', '/emails', { key: team.key, body });
  await scene.sink.waitFor(({ counts }) => counts.data === 1);
  const client = await connect(scene, 'tls');
  await logIn(client, team.key);
  await client.say(`MAIL FROM:<${from}>`);
  await client.say('RCPT TO:<b@dest.example.org>');
  expect(await client.say('DATA')).toMatch(/^354 /);
  const stopped = scene.app.close(16_000);
  await expect.poll(() => scene.sink.open).toBe(0);
  client.send(`From: ${from}\r\nSubject: Late\r\n\r\nHello\r\n.\r\n`);
  expect((await client.reply()).join()).toMatch(/^250 /);
  expect((await client.reply()).join()).toMatch(/^421 4\.3\.2 /);
  client.end();
  await stopped;
});
