// Two programs that reply to each other, neither of which says that it is one.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { writingInbox, type WritingInbox } from '../../rig/inbox.ts';
import { createPeople } from '../../rig/people.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
let team: Team;
let inbox: WritingInbox;
beforeAll(async () => {
  scene = await startScene();
  team = await scene.team();
  inbox = await writingInbox(scene, team);
});
afterAll(() => scene.close());

let mails = 0;
/** Receives new mail in one thread; returns its path. */
async function next(subject: string): Promise<string> {
  const first = `${subject.replaceAll(' ', '-')}@example.org`;
  const isFirst = (await inbox.threads('?limit=100')).every((thread) => thread.subject !== subject);
  const message = isFirst
    ? { subject, messageId: first }
    : { subject: `Re: ${subject}`, messageId: `next-${++mails}@example.org`, headers: [`In-Reply-To: <${first}>`] };
  return (await inbox.arrive(message)).path;
}
const reply = (below: string, body: object = { text: 'Thank you for your mail.' }) =>
  inbox.call('POST', `${below}/reply`, { body });

it('automatic replies stop after ten rounds within an hour, as the thread shows, while a person can go on', async () => {
  const subject = 'A loop';
  let below = '';
  for (let round = 0; round < 10; round++) {
    below = await next(subject);
    expect((await reply(below)).status).toBe(200);
    scene.clock.advance(60_000);
  }
  below = await next(subject);
  const threadPath = below.replace(/\/emails\/.*/, '');
  const { answers_paused: paused } = (await inbox.call('GET', threadPath)).body;
  expect(paused).toEqual({ address: 'ada@example.org', until: expect.any(String) });
  const threadId = threadPath.replace('/threads/', '');
  const body = { text: 'As a draft.', thread_id: threadId, reply_to_email_id: below.replace(/.*\//, '') };
  const { id: draft } = (await inbox.call('POST', '/drafts', { body })).body;
  for (const refused of [
    await reply(below),
    await inbox.call('POST', `${below}/forward`, { body: { to: 'bob@example.org' } }),
    await inbox.call('POST', `/drafts/${draft as string}/send`),
  ]) {
    expect([refused.status, refused.body.name]).toEqual([422, 'validation_error']);
    expect(refused.body.message).toContain('ada@example.org got 10 replies within an hour in this thread');
    expect(refused.body.message).toContain(paused.until);
  }
  const sent = (await scene.api('GET', '/emails?limit=100', { key: team.key })).body.data;
  expect(sent.filter((one: { subject: string }) => one.subject === `Re: ${subject}`)).toHaveLength(10);
  // Other threads, and people, are not stopped.
  expect((await reply(await next('Another'))).status).toBe(200);
  const person = await createPeople(scene).person({ team });
  expect((await person.call('POST', `${inbox.path}${below}/reply`, { text: 'By hand.' })).status).toBe(200);
  scene.clock.advance(Date.parse(paused.until) - scene.clock.now() + 600_000);
  expect((await inbox.call('GET', threadPath)).body.answers_paused).toBeNull();
  expect((await reply(await next(subject))).status).toBe(200);
});

it('many replies to one email are not a loop', async () => {
  const below = await next('One mail');
  for (let i = 0; i < 12; i++) expect((await reply(below, { text: `Number ${i}` })).status).toBe(200);
});

it('several replies at once after nine rounds send one before they stop', async () => {
  const subject = 'At once';
  for (let round = 0; round < 9; round++) await reply(await next(subject));
  const last = await next(subject);
  expect((await reply(last)).status).toBe(200);
  const after = await next(subject);
  const answers = await Promise.all(Array.from({ length: 5 }, (_, i) => reply(after, { text: `${i}` })));
  expect(answers.map(({ status }) => status)).toEqual([422, 422, 422, 422, 422]);
});
