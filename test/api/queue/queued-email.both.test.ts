import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { HOUR, mailIn, type Mail } from '../../flow/mail.ts';
import { startScene, type Scene } from '../../rig/scene.ts';

let scene: Scene;
let mail: Mail;
let token: string;
beforeAll(async () => {
  scene = await startScene();
  mail = await mailIn(scene);
  token = await scene.operator();
});
afterAll(() => scene.close());

const as = async (key: string, path: string) => scene.api('GET', `/operator/queue${path}`, { key });
const listed = async (query: string) => (await as(token, `/deliveries?${query}`)).body.data;
const later = (): string => new Date(scene.clock.now() + HOUR).toISOString();

it('a queued delivery shows its team, sender, size and a hash that tells equal subjects apart from others', async () => {
  const destination = 'sizes.example';
  const send = (more: object) => mail.send(`x@${destination}`, { scheduled_at: later(), ...more });
  await send({ subject: 'Your invoice', text: 'Grüße' });
  await send({ subject: 'Your invoice', text: 'a'.repeat(20_000), html: '<p>b</p>' });
  await send({ subject: 'Long', text: 'd'.repeat(300_000) });
  const attachments = [{ filename: 'a.bin', content: Buffer.alloc(3000).toString('base64') }];
  await send({ subject: 'Another', text: 'c', attachments });
  const [third, long, second, first] = await listed(`destination=${destination}`);
  const { slug } = (await scene.app.world.db.get<{ slug: string }>('select slug from teams where id = ?', [
    mail.team.id,
  ])) ?? { slug: '' };
  const from = `Sender <sender@${mail.domain.name}>`;
  expect([first, second, third]).toMatchObject([
    { team: slug, from, subject: null, size: 7 },
    { team: slug, from, subject: null, size: 20_008 },
    { team: slug, from, subject: null, size: 3001 },
  ]);
  expect(long.size).toBe(300_000);
  expect(first.subject_hash).toMatch(/^[0-9a-f]{16}$/);
  expect(second.subject_hash).toBe(first.subject_hash);
  expect(third.subject_hash).not.toBe(first.subject_hash);
  expect(JSON.stringify(await listed(`destination=${destination}`))).not.toContain('invoice');
});

it('the history of an email shows its attempts and the next one, by its own id and by that of its delivery', async () => {
  const id = await mail.send('tempfail@story.example', { subject: 'Secret', text: 'Nobody but you' });
  await scene.settled();
  const [delivery] = await listed('destination=story.example');
  const { status, body, text } = await as(token, `/emails/${id}`);
  expect(status).toBe(200);
  expect(body).toMatchObject({
    object: 'queued_email',
    id,
    team_id: mail.team.id,
    to: ['tempfail@story.example'],
    cc: [],
    bcc: [],
    subject: null,
    subject_hash: delivery.subject_hash,
    size: 14,
    last_event: 'delivery_delayed',
    is_cut: false,
    pending: [{ destination: 'story.example', state: 'waiting', attempts: 1 }],
  });
  expect(body.events.map(({ type }: { type: string }) => type)).toEqual([
    'email.delivery_delayed',
    'email.sent',
    'email.queued',
  ]);
  expect(body.attempts).toMatchObject([{ attempt: 1, recipients: [{ reply: '451 4.3.0 Try again later' }] }]);
  expect(body.attempts[0].transcript.length).toBeGreaterThan(3);
  for (const word of ['Secret', 'Nobody but you']) expect(text).not.toContain(word);
  expect((await as(token, `/emails/${delivery.id.toUpperCase()}`)).body).toEqual(body);
});

it('the history of an email is available after it has left the queue, and not to teams', async () => {
  const id = await mail.send('x@gone.example');
  await scene.settled();
  const done = await as(token, `/emails/${id}`);
  expect(done).toMatchObject({ status: 200, body: { last_event: 'delivered', pending: [] } });
  expect(await as(mail.team.key, `/emails/${id}`)).toMatchObject({ status: 403 });
  expect(await as(token, `/emails/${randomUUID()}`)).toMatchObject({ status: 404, body: { name: 'not_found' } });
});

it('the history of an email does not show who opened or clicked', async () => {
  const id = await mail.send('x@read.example');
  await scene.settled();
  const { world } = scene.app;
  const events = (await scene.events(id)).length;
  await scene.app.world.db.run("update events set type = 'email.opened' where subject_id = ? and type = 'email.sent'", [
    id,
  ]);
  const { body } = await as(token, `/emails/${id}`);
  expect(body.events).toHaveLength(events - 1);
  expect(await world.db.all("select 1 from events where subject_id = ? and type = 'email.opened'", [id])).toHaveLength(
    1,
  );
});

it.each([
  ['text', { subject: 'Your invoice', subject_hash: null }],
  ['none', { subject: null, subject_hash: null }],
] as const)('operators.subjects = "%s" applies to list and history', async (subjects, shown) => {
  const other = await startScene({ config: { operators: { subjects } } });
  try {
    const theirs = await mailIn(other);
    const key = await other.operator();
    const scheduled_at = new Date(other.clock.now() + HOUR).toISOString();
    const id = await theirs.send('x@example.org', { subject: 'Your invoice', scheduled_at });
    const list = await other.api('GET', '/operator/queue/deliveries', { key });
    expect(list.body.data).toMatchObject([{ email_id: id, ...shown }]);
    expect((await other.api('GET', `/operator/queue/emails/${id}`, { key })).body).toMatchObject(shown);
  } finally {
    await other.close();
  }
});
