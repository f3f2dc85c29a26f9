// POST /emails --> the log: from the id of the request to how its email was delivered
import { expect, it } from 'vitest';
import { mailIn } from '../../flow/mail.ts';
import { startScene } from '../../rig/scene.ts';

it('the line of an accepted email has the id of its answer, and every later line the id of the email', async () => {
  await using scene = await startScene();
  const mail = await mailIn(scene);
  const body = {
    from: `Sender <sender@${mail.domain.name}>`,
    to: ['reader@one.example'],
    subject: 'Hello',
    text: 'Hello',
  };
  const answer = await scene.api('POST', '/emails', { key: mail.team.key, body });
  expect(answer.status).toBe(200);
  await scene.settled();
  const lines = scene.log.map((line) => JSON.parse(line) as Record<string, unknown>);
  const accepted = lines.find(({ requestId }) => requestId === answer.headers.get('x-request-id'));
  expect(accepted).toMatchObject({ msg: 'email accepted', emailId: answer.body.id, recipients: 1 });
  expect(lines.filter(({ emailId }) => emailId === answer.body.id).map(({ msg }) => msg)).toEqual([
    'email accepted',
    'email delivered',
  ]);
});
