// an email accepted by HTTP or SMTP --> the log and the history of the email: from the id of the request to its delivery
import { afterAll, beforeAll, expect, it } from 'vitest';
import { advanceToNextAttempt, mailIn, type Mail } from '../../flow/mail.ts';
import { startScene, type Scene } from '../../rig/scene.ts';

let scene: Scene;
let mail: Mail;
beforeAll(async () => {
  scene = await startScene();
  mail = await mailIn(scene);
});
afterAll(() => scene.close());

const listLines = (id: string) =>
  scene.log
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ emailId, level }) => emailId === id && level !== 'debug')
    .map(({ msg, requestId }) => [msg, requestId]);

async function sendTo(...to: string[]): Promise<{ id: string; requestId: string | null }> {
  const body = { from: `Sender <sender@${mail.domain.name}>`, to, subject: 'Hello', text: 'Hello' };
  const answer = await scene.api('POST', '/emails', { key: mail.team.key, body });
  expect(answer.status).toBe(200);
  await scene.settled();
  return { id: answer.body.id, requestId: answer.headers.get('x-request-id') };
}

it('every log line and the history of an email have the request id of the answer that accepted it', async () => {
  const { id, requestId } = await sendTo('reader@one.example');
  expect(listLines(id)).toEqual([
    ['email accepted', requestId],
    ['email delivered', requestId],
  ]);
  expect((await scene.api('GET', `/emails/${id}/attempts`, { key: mail.team.key })).body.request_id).toBe(requestId);
  const asOperator = { key: await scene.operator() };
  expect((await scene.api('GET', `/operator/queue/emails/${id}`, asOperator)).body.request_id).toBe(requestId);
});

it('every attempt of a deferred delivery and every bounce have the request id', async () => {
  const { id, requestId } = await sendTo('tempfail@later.example', 'permfail@gone.example');
  await advanceToNextAttempt(scene, id);
  const lines = listLines(id);
  expect(lines).toEqual(lines.map(([msg]) => [msg, requestId]));
  expect(lines.map(([msg]) => msg)).toContain('email bounced');
  expect(lines.filter(([msg]) => msg === 'delivery deferred').length).toBeGreaterThan(1);
});

it('mail stored before request ids were has none in logs and attempts', async () => {
  const { id } = await sendTo('tempfail@old.example');
  await scene.app.world.db.run('update emails set request_id = null where id = ?', [id]);
  await scene.app.world.db.run('update deliveries set request_id = null where email_id = ?', [id]);
  await advanceToNextAttempt(scene, id);
  expect(listLines(id).at(-1)).toEqual(['delivery deferred', undefined]);
  expect((await scene.api('GET', `/emails/${id}/attempts`, { key: mail.team.key })).body.request_id).toBeNull();
});
