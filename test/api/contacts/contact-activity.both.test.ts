import { expect, it } from 'vitest';
import { startScene } from '../../rig/scene.ts';

it('the activity of a contact lists emails, opens, clicks, topics and consent, newest first', async () => {
  await using scene = await startScene();
  const team = await scene.team();
  const domain = await team.domain();
  await scene.api('PATCH', `/domains/${domain.id}`, {
    key: team.key,
    body: { open_tracking: true, click_tracking: true },
  });
  const call = (method: string, path: string, body?: unknown) =>
    scene.api(method, path, { key: team.key, ...(body === undefined ? {} : { body }) });
  const email = `clicked@simulator.${scene.app.world.config.instance.host}`;
  const topic = (await call('POST', '/topics', { name: 'News', default_subscription: 'opt_in' })).body.id;
  const { id } = (await call('POST', '/contacts', { email })).body;
  const send = async (to: string, subject: string) => {
    scene.clock.advance(1000);
    const html = '<p><a href="https://example.org/x">x</a></p>';
    const sent = await call('POST', '/emails', { from: `a@${domain.name}`, to, subject, html });
    await scene.settled();
    return sent.body.id as string;
  };
  const sent = await send(`Somebody <${email.toUpperCase()}>`, 'For you');
  await send('other@example.org', 'For somebody else');
  scene.clock.advance(1000);
  await call('PATCH', `/contacts/${id}/topics`, { topics: [{ id: topic, subscription: 'opt_out' }] });
  scene.clock.advance(1000);
  await call('PATCH', `/contacts/${id}`, { unsubscribed: true });
  const { body } = await call('GET', `/contacts/${email}/activity`);
  const kinds = body.data.map((entry: { type: string }) => entry.type);
  expect(kinds.slice(0, 2)).toEqual(['unsubscribed', 'topic_opt_out']);
  expect(kinds.at(-1)).toBe('email');
  expect(kinds).toContain('email_clicked');
  expect(body.data.at(-1)).toMatchObject({ id: sent, email_id: sent, subject: 'For you', source: null });
  expect(body.data[0]).toMatchObject({ email_id: null, source: 'api', topic_id: null });
  expect(body.data[1]).toMatchObject({ topic_id: topic });
  const first = (await call('GET', `/contacts/${id}/activity?limit=1`)).body;
  expect([first.data.length, first.has_more]).toEqual([1, true]);
  const next = (await call('GET', `/contacts/${id}/activity?limit=1&after=${first.data[0].id}`)).body;
  expect(next.data[0].type).toBe('topic_opt_out');
});
