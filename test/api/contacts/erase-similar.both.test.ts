import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findTraces } from '../../rig/every-table.ts';
import { createInbox, type Inbox } from '../../rig/inboxes.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { connect, logIn, submit } from '../../smtp/dialogue.ts';

const ERASED = 'erased@erased.invalid';

let scene: Scene;
let team: Team;
let from: string;
let inbox: Inbox;
beforeAll(async () => {
  scene = await startScene({ roles: ['http', 'delivery', 'submission'], sink: { smtpUtf8: true } });
  team = await scene.team();
  from = `Shop <shop@${(await team.domain()).name}>`;
  inbox = await createInbox(scene, team);
});
afterAll(() => scene.close());

const call = (method: string, url: string, body?: object) =>
  scene.api(method, url, { key: team.key, ...(body ? { body } : {}) });
const send = async (input: object): Promise<string> => {
  const sent = await call('POST', '/emails', { from, ...input });
  expect(sent.status, sent.text).toBe(200);
  return sent.body.id;
};
const erase = async (email: string) => {
  const { status, body, text } = await call('POST', '/contacts/erase', { email, with_mail: true });
  expect(status, text).toBe(200);
  return body;
};

describe('POST /contacts/erase with mail', () => {
  it('POST /contacts/erase erases an address with accents from the search of inboxes, which is without them', async () => {
    await inbox.receive({ subject: 'Copies', cc: 'José <josé@example.org>, Bob <bob@example.org>' });
    const find = async (query: string) =>
      (await inbox.call('GET', `/threads/search?${query}`)).body.data.map((one: { subject: string }) => one.subject);
    expect(await find('cc=jose@example.org')).toEqual(['Copies']);
    await erase('josé@example.org');
    expect([await find('cc=jose'), await find('query=jos%C3%A9@example.org')]).toEqual([[], []]);
    expect(await find('cc=bob@example.org')).toEqual(['Copies']);
  });

  it('leaves drafts, recipients, events and import rows of addresses that contain the erased one', async () => {
    const shared = await send({
      to: ['al@example.org', 'hal@example.org', 'cal@example.org'],
      subject: 's',
      text: 't',
    });
    const other = await send({ to: ['hal@example.org', 'al@example.org.uk'], subject: 's', text: 't' });
    await scene.settled();
    const draft = async (to: string[]): Promise<string> =>
      (await inbox.call('POST', '/drafts', { to, subject: 'd', text: 't' })).body.id;
    const toHal = await draft(['Hal <hal@example.org>', 'x-al@example.org']);
    const toBoth = await draft(['al@example.org', 'Boss <boss@example.org>']);
    const toAl = await draft(['Al <AL@example.org>']);
    const { db, ids } = scene.app.world;
    const importId = ids.uuid();
    await db.insertMany(
      'contact_imports',
      ['id', 'team_id', 'status', 'options', 'created_at'],
      [[importId, team.id, 'completed', '{}', 1]],
    );
    await db.insertMany(
      'contact_import_failures',
      ['import_id', 'row', 'reason', 'value'],
      ['hal@example.org', 'Al <al@example.org>', 'al@example.org,'].map((value, at) => [importId, at, 'x', value]),
    );
    expect(await erase('al@example.org')).toMatchObject({ emails: 1, drafts: 2, canceled: 0 });
    const events = JSON.stringify((await call('GET', `/emails/${shared}/events`)).body);
    expect(events).toContain('hal@example.org');
    expect(events).not.toMatch(/"al@|[hc]erased/);
    expect((await call('GET', `/emails/${shared}`)).body.to).toEqual(['hal@example.org', 'cal@example.org']);
    expect((await call('GET', `/emails/${other}`)).body.to).toEqual(['hal@example.org', 'al@example.org.uk']);
    const attempts = JSON.stringify((await call('GET', `/emails/${other}/attempts`)).body);
    expect(attempts).not.toContain('erased');
    expect((await inbox.call('GET', `/drafts/${toHal}`)).body.to).toEqual([
      'Hal <hal@example.org>',
      'x-al@example.org',
    ]);
    expect((await inbox.call('GET', `/drafts/${toBoth}`)).body).toMatchObject({
      to: ['Boss <boss@example.org>'],
      text: 't',
    });
    expect((await inbox.call('GET', `/drafts/${toAl}`)).status).toBe(404);
    const failures = await db.all('select value from contact_import_failures where import_id = ?', [importId]);
    expect(failures).toEqual([{ value: 'hal@example.org' }]);
    expect(await erase('al@example.org')).toMatchObject({ emails: 0, drafts: 0 });
  });

  it('keeps a thread that somebody else began, with its notes, and empties a thread of the person alone', async () => {
    await inbox.receive({
      from: 'Eve <eve@example.org>',
      id: 'began@example.org',
      subject: 'Printer',
      text: 'It is on fire',
      cc: 'zed@example.org',
      mailFrom: 'eve@example.org',
    });
    await inbox.receive({
      from: 'Zed Secret <zed@example.org>',
      subject: 'Re: Printer',
      headers: ['In-Reply-To: <began@example.org>'],
      text: 'My secret',
      mailFrom: 'zed@example.org',
    });
    await inbox.receive({
      from: 'Zed Secret <zed@example.org>',
      subject: 'Alone',
      text: 'x',
      mailFrom: 'zed@example.org',
    });
    const [alone, shared] = await inbox.threads();
    if (!alone || !shared) throw new Error(`${alone ? 1 : 0} threads found instead of two`);
    expect(shared.email_count).toBe(2);
    for (const { id } of [alone, shared])
      await inbox.call('PATCH', `/threads/${id}`, { notes: 'Ask zed@example.org, not dezed@example.org' });
    expect(await erase('zed@example.org')).toMatchObject({ received_emails: 3 });
    const list = async (id: string) => (await inbox.threads()).find((thread) => thread.id === id);
    const read = async (id: string) => (await inbox.call('GET', `/threads/${id}`)).body;
    const kept = await list(shared.id);
    expect(kept).toMatchObject({ subject: 'Printer', snippet: 'It is on fire' });
    expect(JSON.stringify(kept)).toContain('eve@example.org');
    expect((await read(shared.id)).notes).toBe(`Ask ${ERASED}, not dezed@example.org`);
    expect(await read(alone.id)).toMatchObject({ subject: '(erased)', notes: null });
    expect(JSON.stringify(kept)).not.toMatch(/[^e]zed@|Secret|secret/);
  });

  it('names a thread that the person began by the mail of somebody else that remains', async () => {
    await inbox.receive({
      from: 'Yve <yve@example.org>',
      id: 'yve@example.org',
      subject: 'Secret offer',
      cc: 'bob@example.org',
      mailFrom: 'yve@example.org',
    });
    await inbox.receive({
      from: 'Bob <bob@example.org>',
      cc: 'yve@example.org',
      subject: 'Re: Secret offer',
      headers: ['In-Reply-To: <yve@example.org>'],
      text: 'I agree',
      mailFrom: 'bob@example.org',
    });
    await erase('yve@example.org');
    const [thread] = await inbox.threads();
    expect(thread).toMatchObject({ subject: 'Re: Secret offer', snippet: 'I agree' });
    expect(JSON.stringify(thread)).toContain('bob@example.org');
    expect(JSON.stringify(thread)).not.toContain('yve@');
  });

  it('refuses an address from which the team sends, and erases one of its domain that only gets mail', async () => {
    const { domain } = inbox;
    const own = `shop@${from.split('@')[1]?.replace('>', '')}`;
    const sent = await send({ to: 'kim@example.org', subject: 'Kept', text: 't' });
    for (const address of [own, own.toUpperCase(), inbox.address]) {
      const refused = await call('POST', '/contacts/erase', { email: address, with_mail: true });
      expect(refused.status, refused.text).toBe(422);
      expect(refused.body.message).toContain(`this team sends mail from ${address.toLowerCase()}`);
    }
    expect((await call('GET', `/emails/${sent}`)).body).toMatchObject({ subject: 'Kept', to: ['kim@example.org'] });
    expect((await call('POST', '/contacts/erase', { email: own })).status).toBe(200);
    expect(await erase(`reader@${domain.name}`)).toMatchObject({ emails: 0 });
    await scene.settled();
  });

  it.each([
    ['ada@bücher.example', 'ADA@XN--BCHER-KVA.example'],
    ['eda@xn--bcher-kva.example', 'eda@Bücher.example'],
    ['Äda@example.org', 'a\u0308da@example.org'],
    ['ЖЖ@example.org', 'жж@example.org'],
    ['"o\\"x"@example.org', '"O\\"X"@example.org'],
    ['"plain"@example.org', 'plain@example.org'],
  ])('finds mail to %s when it erases %s', async (written, erased) => {
    const word = 'jabberwocky';
    const alone = await send({ to: written, subject: word, text: word });
    const shared = await send({ to: [written, 'bob@example.org'], subject: 's', text: 't' });
    await scene.settled();
    const at = new Date(scene.clock.now() + 86_400_000).toISOString();
    const waiting = await send({ to: `Somebody <${written}>`, subject: word, text: word, scheduled_at: at });
    const draft = (await inbox.call('POST', '/drafts', { to: [written], subject: word, text: word })).body.id;
    await inbox.receive({ from: `Somebody <${written}>`, subject: word, text: word });
    expect(await erase(erased)).toMatchObject({ emails: 3, canceled: 1, received_emails: 1, drafts: 1 });
    expect((await call('GET', `/emails/${alone}`)).body).toMatchObject({ to: [ERASED], subject: '(erased)' });
    expect((await call('GET', `/emails/${shared}`)).body).toMatchObject({ to: ['bob@example.org'] });
    expect((await call('GET', `/emails/${waiting}`)).body).toMatchObject({ last_event: 'canceled', to: [ERASED] });
    expect((await inbox.call('GET', `/drafts/${draft}`)).status).toBe(404);
    const left = Object.keys(
      await findTraces(scene.app.world.db, [word, written, JSON.stringify(written).slice(1, -1)]),
    );
    expect(left.filter((table) => table !== 'audit_log')).toEqual([]);
    expect(await erase(erased)).toMatchObject({ emails: 0, received_emails: 0, drafts: 0 });
  });

  it('removes the address and its name from the header of mail that was submitted by SMTP', async () => {
    const client = await connect(scene, 'tls');
    await logIn(client, team.key);
    const content = [
      `From: ${from}`,
      'To: Zoe Secret <zoe@example.org>, yan@example.org,',
      ' "Secret, Zoe" <ZOE@example.org>',
      'X-Contact: zoe@example.org dezoe@example.org',
      'Subject: For both',
      '',
      'Hello',
      '',
    ].join('\r\n');
    const sender = from.slice(from.indexOf('<') + 1, -1);
    const reply = await submit(client, { from: sender, to: ['zoe@example.org', 'yan@example.org'], content });
    client.end();
    const id = /Accepted as (\S+)/.exec(reply)?.[1] ?? reply;
    await scene.settled();
    expect(await erase('zoe@example.org')).toMatchObject({ emails: 1 });
    const { db } = scene.app.world;
    const message = await db.get<{ head: string }>('select head from email_messages where email_id = ?', [id]);
    expect(message?.head).toContain('To: yan@example.org\r\n');
    expect(message?.head).toContain(`X-Contact: ${ERASED} dezoe@example.org\r\n`);
    const left = await findTraces(db, ['zoe secret', 'secret, zoe', '<zoe@', '"zoe@']);
    expect(Object.keys(left).filter((table) => table !== 'audit_log')).toEqual([]);
  });
});
