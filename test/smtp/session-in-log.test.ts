// a message submitted by SMTP --> the log and the story of its email name the session
import { expect, it } from 'vitest';
import { startScene } from '../rig/scene.ts';
import { connect, logIn, submit } from './dialogue.ts';

it('log lines about submitted mail name its session, and so does the history of the email', async () => {
  await using scene = await startScene({ roles: ['http', 'delivery', 'submission'] });
  const team = await scene.team();
  const { name } = await team.domain();
  const client = await connect(scene, 'tls');
  await logIn(client, team.key);
  const content = `From: me@${name}\r\nSubject: Followed\r\n\r\nx\r\n`;
  const reply = await submit(client, { from: `me@${name}`, to: ['someone@example.net'], content });
  const id = reply.split(' ').at(-1) ?? '';
  await scene.settled();
  client.end();
  const told = scene.log.map((line) => JSON.parse(line) as Record<string, unknown>);
  const [accepted, delivered] = told.filter(({ emailId }) => emailId === id);
  expect(accepted).toMatchObject({ msg: 'email accepted', requestId: expect.stringMatching(/./) });
  expect(delivered).toMatchObject({ msg: 'email delivered', requestId: accepted?.['requestId'] });
  const { body } = await scene.api('GET', `/emails/${id}/attempts`, { key: team.key });
  expect(body.request_id).toBe(accepted?.['requestId']);
});
