import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findTraces, findTracesInFiles } from '../../rig/every-table.ts';
import { MESSAGE, receiveMail } from '../../rig/received-mail.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const ADA = 'ada@wonderland.example';
const BOB = 'bob@bystander.example';
const WORDS = 'the jabberwock burbles';
/** Its entries cannot be changed. */
const LOGS = new Set(['audit_log']);

let scene: Scene;
let team: Team;
let from: string;
beforeAll(async () => {
  scene = await startScene();
  team = await scene.team();
  from = `Shop <shop@${(await team.domain()).name}>`;
});
afterAll(() => scene.close());

const call = (method: string, url: string, body?: object) =>
  scene.api(method, url, { key: team.key, ...(body ? { body } : {}) });
const send = async (input: object): Promise<string> => (await call('POST', '/emails', { from, ...input })).body.id;
const attachments = [{ filename: 'poem.txt', content: Buffer.from(WORDS.repeat(9000)).toString('base64') }];
const erase = (body: object) => call('POST', '/contacts/erase', body);

describe('POST /contacts/erase with mail', () => {
  it('leaves nothing of the address and of what was written to and by it, and other recipients keep their mail', async () => {
    const { db } = scene.app.world;
    await call('POST', '/contacts', { email: ADA, first_name: 'Ada' });
    const alone = await send({
      to: `Ada <${ADA}>`,
      subject: WORDS,
      text: WORDS,
      attachments,
      tags: [{ name: 'of', value: 'ada' }],
    });
    const shared = await send({ to: [BOB, ADA], cc: [ADA], subject: 'For both', text: 'The same mail' });
    const at = new Date(scene.clock.now() + 86_400_000).toISOString();
    const waiting = await send({ to: ADA, subject: WORDS, html: `<p>${WORDS}</p>`, scheduled_at: at });
    const toBob = await send({ to: BOB, subject: 'Only for Bob', text: 'Hello' });
    await scene.settled();
    const raw = MESSAGE.replaceAll('someone@example.org', ADA).replace('Does it work?', WORDS);
    const received = await receiveMail(scene, team, { raw, mailFrom: ADA });
    const copied = await receiveMail(scene, team, {
      raw: MESSAGE.replace('Message-ID: <question', `Cc: ${ADA}\r\nMessage-ID: <copied`),
    });
    const before = await call('GET', '/emails/metrics');
    const { status, body } = await erase({ email: 'Ada@Wonderland.Example', with_mail: true });
    expect(status).toBe(200);
    expect(body).toMatchObject({ object: 'erasure', emails: 3, canceled: 1, received_emails: 2, skipped: 0 });
    expect(body).toMatchObject({ contact: expect.stringMatching(/^[\da-f-]{36}$/), is_suppressed: false });
    const found = await findTraces(db, [ADA, WORDS, Buffer.from(WORDS).toString('base64')]);
    expect(Object.keys(found).filter((table) => !LOGS.has(table))).toEqual([]);
    expect(findTracesInFiles(path.join(scene.dataDir, 'blobs'), [ADA, WORDS])).toEqual([]);
    expect((await call('GET', `/emails/${alone}`)).body).toMatchObject({
      to: ['erased@erased.invalid'],
      subject: '(erased)',
      last_event: 'delivered',
    });
    expect((await call('GET', `/emails/${waiting}`)).body).toMatchObject({ last_event: 'canceled' });
    expect((await call('GET', `/emails/${shared}`)).body).toMatchObject({
      to: [BOB],
      subject: 'For both',
      text: 'The same mail',
    });
    expect((await call('GET', `/emails/${toBob}`)).body).toMatchObject({ to: [BOB], subject: 'Only for Bob' });
    expect((await call('GET', `/emails/receiving/${received}`)).body).toMatchObject({ subject: '(erased)', raw: null });
    expect((await call('GET', `/emails/receiving/${copied}`)).body).toMatchObject({ subject: 'A question', raw: null });
    expect((await call('GET', '/emails/metrics')).body).toEqual(before.body);
    scene.clock.advance(2 * 86_400_000);
    await scene.settled();
    expect(scene.sink.messages.filter(({ rcptTo }) => rcptTo.includes(ADA))).toHaveLength(2);
    expect((await erase({ email: ADA, with_mail: true })).body).toMatchObject({
      contact: null,
      emails: 0,
      received_emails: 0,
    });
  });

  it('erases the contact alone without with_mail, and refuses what is no address', async () => {
    await call('POST', '/contacts', { email: BOB });
    const id = await send({ to: BOB, subject: 'Kept', text: 'x' });
    await call('POST', '/suppressions', { email: BOB });
    expect((await erase({ email: BOB })).body).toMatchObject({ emails: 0, is_suppressed: true });
    expect((await call('GET', `/contacts/${BOB}`)).status).toBe(404);
    expect((await call('GET', `/emails/${id}`)).body).toMatchObject({ to: [BOB], subject: 'Kept' });
    expect((await erase({ email: 'nobody' })).status).toBe(422);
    await scene.settled();
  });
});
