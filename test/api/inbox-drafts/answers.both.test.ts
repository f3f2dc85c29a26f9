import { randomUUID } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import PostalMime from 'postal-mime';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { writingInbox, type WritingInbox } from '../../rig/inbox.ts';
import { createPeople } from '../../rig/people.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
let team: Team;
let inbox: WritingInbox;
beforeAll(async () => {
  scene = await startScene();
  team = await scene.team();
});
afterAll(() => scene.close());
// A sender that gets automatic replies gets them in one inbox only.
beforeEach(async () => {
  inbox = await writingInbox(scene, team, { from_name: 'Grace', signature: 'Grace\nExample Ltd' });
});

const head = (name: string, { headers }: Awaited<ReturnType<typeof PostalMime.parse>>): string | undefined =>
  headers.find(({ key }) => key === name)?.value;

async function arrived(emailId: string) {
  await scene.settled();
  const messages = scene.sink.messages.filter(({ data }) => data.includes(`<${emailId}@`));
  const mail = await PostalMime.parse(messages[0]?.data ?? '');
  return {
    mail,
    rcptTo: messages.flatMap(({ rcptTo }) => rcptTo).sort(),
    raw: messages[0]?.data.toString('latin1') ?? '',
  };
}

async function send(below: string, body: unknown, headers: Record<string, string> = {}): Promise<string> {
  const sent = await inbox.call('POST', below, { body, headers });
  expect(sent.status, sent.text).toBe(200);
  return sent.body.id as string;
}

const PDF = Buffer.alloc(600_000, 'p');
const WITH_FILES = [
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b',
  'Content-Type: text/html; charset=utf-8',
  '',
  '<p>See <b>this</b></p><img src="https://stranger.example/pixel.png"><script>alert(1)</script>',
  '--b',
  'Content-Type: text/plain; name="note.txt"',
  'Content-Disposition: attachment; filename="note.txt"',
  '',
  'a note',
  '--b',
  'Content-Type: application/pdf; name="big.pdf"',
  'Content-Disposition: attachment; filename="big.pdf"',
  'Content-Transfer-Encoding: base64',
  '',
  PDF.toString('base64').replaceAll(/.{76}/g, '$&\r\n'),
  '--b--',
];

describe('a reply', () => {
  it('to a format=flowed message quotes its paragraphs joined, with one quote mark per level', async () => {
    const { path: below } = await inbox.arrive({
      content: [
        'Content-Type: text/plain; charset=utf-8; format=flowed',
        '',
        'A line that goes on and ',
        'ends.',
        '> A quoted line that goes on and ',
        '> on and on and ',
        '> ends.',
      ],
    });
    const { body } = await inbox.call('GET', below);
    expect(body.text).toBe('A line that goes on and ends.\n> A quoted line that goes on and on and on and ends.\n');
    const { mail } = await arrived(await send(`${below}/reply`, { text: 'Thanks.' }));
    expect(mail.text).toContain(
      'wrote:\n> A line that goes on and ends.\n>> A quoted line that goes on and on and on and ends.\n',
    );
  });

  it('names and quotes the message, has the signature, and is in the thread with its state', async () => {
    const index = 'AdRkz7mJp1n1Z0b5SVqfW6o1j5w7Bg==';
    const { threadId, path: below } = await inbox.arrive({
      messageId: 'order-1041@example.org',
      headers: ['References: <first@example.org>', `Thread-Index: ${index}`, 'Thread-Topic: Order 1041'],
    });
    const id = await send(`${below}/reply`, { text: 'It is on its way.', html: '<p>It is <b>on its way</b>.</p>' });
    const { mail, rcptTo } = await arrived(id);
    expect(rcptTo).toEqual(['ada@example.org']);
    expect([mail.from, mail.subject]).toEqual([{ name: 'Grace', address: inbox.address }, 'Re: Order 1041']);
    expect(mail.inReplyTo).toBe('<order-1041@example.org>');
    expect(mail.references).toBe('<first@example.org> <order-1041@example.org>');
    expect(head('thread-index', mail)?.startsWith(index.slice(0, 28))).toBe(true);
    expect(mail.replyTo?.[0]?.address).toMatch(/^support\+r[0-9a-v]{42}@/);
    expect(mail.text).toMatch(/^It is on its way\.\n\n-- \nGrace\nExample Ltd\n\nOn .* wrote:\n> Where is it\?\n$/);
    expect(mail.html).toContain('Where is it?');
    const { body: emails } = await inbox.call('GET', `/threads/${threadId}/emails`);
    expect(emails.data).toMatchObject([
      { id, direction: 'outbound', last_event: 'delivered', read: true },
      { direction: 'inbound', read: true },
    ]);
    const [thread] = await inbox.threads();
    expect(thread).toMatchObject({
      id: threadId,
      folder: 'inbox',
      email_count: 2,
      read: true,
      snippet: 'It is on its way.',
    });
    const told = (await scene.events(id)).find(({ type }) => type === 'inbox.email.sent');
    expect(told?.data).toMatchObject({ source: 'api', inbox_id: inbox.id, thread_id: threadId, email_id: id });
    expect(JSON.stringify(told?.data)).not.toContain('on its way');
  });

  it('a reply in HTML alone has a text part, with the message quoted by its levels', async () => {
    const { path: below } = await inbox.arrive({
      content: [
        'Content-Type: text/html; charset=utf-8',
        '',
        '<p>Where <b>is</b> it?</p><blockquote><p>It was sent.</p></blockquote>',
      ],
    });
    const { mail, raw } = await arrived(await send(`${below}/reply`, { html: '<p>It is <b>here</b>.</p>' }));
    expect(raw).toMatch(/^Content-Type: multipart\/alternative/im);
    expect(mail.html).toContain('It is <b>here</b>.');
    expect(mail.text).toMatch(/^It is here\.\n\n-- ?\nGrace\n/);
    expect(mail.text).toMatch(/wrote:\n\n> Where is it\?\n>\n>> It was sent\.\n$/);
  });

  it('is answered into the same thread, by its Message-ID or by the reply address alone', async () => {
    const { threadId, path: below } = await inbox.arrive({});
    const { mail } = await arrived(await send(`${below}/reply`, { text: 'One moment.' }));
    const back = await inbox.arrive({ subject: 'Re: Order 1041', headers: [`In-Reply-To: ${mail.messageId}`] });
    expect(back.threadId).toBe(threadId);
    const to = mail.replyTo?.[0]?.address ?? '';
    const broken = await inbox.arrive({ subject: 'Re: Order 1041', to, for: to });
    expect(broken.threadId).toBe(threadId);
  });

  it('a reply is answered into the same thread with a changed subject, by its id or its reply address', async () => {
    const { threadId, path: below } = await inbox.arrive({ messageId: 'changed@example.org' });
    const { mail } = await arrived(await send(`${below}/reply`, { text: 'One moment.' }));
    const headers = [`In-Reply-To: ${mail.messageId}`];
    const to = mail.replyTo?.[0]?.address ?? '';
    for (const message of [
      { subject: 'RE: Order 1041 - Ticket 77', headers },
      { subject: 'Where is it', headers: [`References: <x@example.org> ${mail.messageId}`] },
      { subject: 'Re: Order [SEC=OFFICIAL]', to, for: to },
    ]) {
      expect((await inbox.arrive(message)).threadId).toBe(threadId);
    }
    const other = { subject: 'An invoice', headers: ['In-Reply-To: <changed@example.org>'] };
    expect((await inbox.arrive(other)).threadId).not.toBe(threadId);
    expect((await inbox.arrive({ subject: 'Mine', from: 'eve@example.net', to, for: to })).threadId).not.toBe(threadId);
  });

  it('to all omits the inbox, accepts further recipients, and goes to Reply-To', async () => {
    const { path: below } = await inbox.arrive({
      to: `Support <${inbox.address}>, Bob <bob@example.org>`,
      headers: [`Cc: carol@example.net, ${inbox.address}`, 'Reply-To: desk@example.org'],
    });
    const more = { text: 'To all.', reply_all: true, cc: 'dave@example.org', bcc: ['eve@example.net'] };
    const { rcptTo, raw } = await arrived(await send(`${below}/reply`, more));
    const all = ['bob@example.org', 'carol@example.net', 'dave@example.org', 'desk@example.org', 'eve@example.net'];
    expect(rcptTo).toEqual(all);
    expect(raw).not.toContain('eve@example.net');
    expect((await arrived(await send(`${below}/reply`, { text: 'To one.' }))).rcptTo).toEqual(['desk@example.org']);
  });

  it('with an idempotency key is sent once, even when requests arrive at once', async () => {
    const { path: below } = await inbox.arrive({});
    const headers = { 'idempotency-key': randomUUID() };
    const id = await send(`${below}/reply`, { text: 'Once.' }, headers);
    expect(await send(`${below}/reply`, { text: 'Once.' }, headers)).toBe(id);
    const other = await inbox.call('POST', `${below}/reply`, { body: { text: 'Twice.' }, headers });
    expect([other.status, other.body.name]).toEqual([409, 'invalid_idempotent_request']);
    const key = { 'idempotency-key': randomUUID() };
    const calls = Array.from({ length: 5 }, () =>
      inbox.call('POST', `${below}/reply`, { body: { text: 'A race' }, headers: key }),
    );
    const answers = await Promise.all(calls);
    expect(new Set(answers.filter(({ status }) => status === 200).map(({ body }) => body.id)).size).toBe(1);
    expect(answers.every(({ status }) => status === 200 || status === 409)).toBe(true);
    const [thread] = await inbox.threads();
    expect(thread?.email_count).toBe(3);
  });

  it('wakes a snoozed thread and takes a thread out of the trash', async () => {
    const { threadId, path: below } = await inbox.arrive({});
    const later = new Date(scene.clock.now() + 86_400_000).toISOString();
    await inbox.call('PATCH', `/threads/${threadId}`, { body: { snoozed_until: later } });
    await send(`${below}/reply`, { text: 'Awake.' });
    expect((await inbox.call('GET', `/threads/${threadId}`)).body).toMatchObject({
      folder: 'inbox',
      snoozed_until: null,
    });
    await inbox.call('PATCH', `/threads/${threadId}`, { body: { folder: 'trash' } });
    await send(`${below}/reply`, { text: 'Kept.' });
    expect((await inbox.call('GET', `/threads/${threadId}`)).body.folder).toBe('inbox');
  });

  it('of a person has the source dashboard', async () => {
    const { path: below } = await inbox.arrive({});
    const person = await createPeople(scene).person({ team });
    const sent = await person.call('POST', `${inbox.path}${below}/reply`, { text: 'By hand.' });
    const told = (await scene.events(sent.body.id)).find(({ type }) => type === 'inbox.email.sent');
    expect(told?.data).toMatchObject({ source: 'dashboard' });
  });

  it('that is written as a draft is in its thread, and the draft is deleted with the thread', async () => {
    const { threadId, emailId, path: below } = await inbox.arrive({});
    const body = { text: 'A draft.', thread_id: threadId, reply_to_email_id: emailId };
    const { body: draft } = await inbox.call('POST', '/drafts', { body });
    expect((await inbox.call('GET', `/drafts/${draft.id as string}`)).body).toMatchObject({ type: 'reply', to: null });
    expect((await inbox.threads())[0]).toMatchObject({ has_draft: true });
    const { mail, rcptTo } = await arrived(await send(`/drafts/${draft.id as string}/send`, undefined));
    expect([mail.subject, rcptTo]).toEqual(['Re: Order 1041', ['ada@example.org']]);
    expect(mail.text).toContain('> Where is it?');
    expect((await inbox.threads())[0]).toMatchObject({ id: threadId, has_draft: false, email_count: 2 });
    await inbox.call('DELETE', `/threads/${threadId}`);
    expect((await inbox.call('GET', `/drafts/${draft.id as string}`)).status).toBe(404);
    expect((await inbox.call('POST', `${below}/reply`, { body: { text: 'Gone' } })).status).toBe(404);
  });

  it('passes every check of mail: suppressions, quotas, fields', async () => {
    const { path: below } = await inbox.arrive({ from: 'Gone <gone@example.org>' });
    await scene.api('POST', '/suppressions', { key: team.key, body: { email: 'gone@example.org' } });
    const id = await send(`${below}/reply`, { text: 'To nobody.' });
    await scene.settled();
    expect((await scene.account(team, id)).state).toBe('suppressed');
    for (const [body, status, says] of [
      [{ html: null }, 400, 'html'],
      [{}, 422, 'html or text'],
      [{ text: 'x', cc: 'nobody' }, 400, 'cc'],
      [{ text: 'x', cc: Array.from({ length: 50 }, (_, i) => `a${i}@example.org`) }, 400, 'at most 50'],
      [{ text: 'x', headers: { 'in-reply-to': '<a@b.example>' } }, 422, 'in-reply-to'],
      [{ text: 'x', headers: { 'X-A': 'one\r\nBcc: x@example.org' } }, 400, 'line break'],
      [{ text: 'x', subject: 'one\ntwo' }, 400, 'one line'],
      [{ text: 'x', attachments: [{ filename: 'a.txt', content: '' }] }, 422, 'empty'],
    ] as const) {
      const refused = await inbox.call('POST', `${below}/reply`, { body });
      expect([refused.status, refused.body.message]).toEqual([status, expect.stringContaining(says)]);
    }
  });

  it('to a message that names nobody but the inbox is refused for lack of a recipient', async () => {
    const { path: below } = await inbox.arrive({ from: inbox.address });
    const refused = await inbox.call('POST', `${below}/reply`, { body: { text: 'To me' } });
    expect([refused.status, refused.body.message]).toEqual([
      422,
      expect.stringContaining('no address to reply to other than the inbox itself'),
    ]);
  });
});

describe('a forward', () => {
  it('includes the message and its files, without a copy of the large one', async () => {
    const { emailId, threadId, path: below } = await inbox.arrive({ content: WITH_FILES });
    const file = { filename: 'mine.txt', content: Buffer.from('mine').toString('base64') };
    const id = await send(`${below}/forward`, {
      to: 'accounts@example.net',
      text: 'Please look.',
      attachments: [file],
    });
    const { mail, rcptTo } = await arrived(id);
    expect([mail.subject, rcptTo]).toEqual(['Fwd: Order 1041', ['accounts@example.net']]);
    expect(mail.text).toContain('Please look.');
    expect(mail.text).toContain('From: Ada Lovelace <ada@example.org>');
    expect(mail.attachments.map(({ filename }) => filename)).toEqual(['mine.txt', 'note.txt', 'big.pdf']);
    const [, , pdf] = mail.attachments;
    expect(Buffer.from(pdf?.content as ArrayBuffer).equals(PDF)).toBe(true);
    // Both names are links to one file.
    const inodes = [emailId, id].map((owner) => {
      const folder = path.join(scene.dataDir, 'blobs', owner.slice(-2), owner);
      const files = readdirSync(folder).map((name) => statSync(path.join(folder, name)));
      return files.find(({ size }) => size === PDF.length)?.ino;
    });
    expect(inodes[0]).toBeDefined();
    expect(inodes[1]).toBe(inodes[0]);
    // Either may be removed without the other.
    await scene.api('DELETE', `/emails/receiving/${emailId}`, { key: team.key });
    const { body: files } = await scene.api('GET', `/emails/${id}/attachments`, { key: team.key });
    const url = (files.data as { filename: string; download_url: string }[]).find(
      ({ filename }) => filename === 'big.pdf',
    )?.download_url;
    const bytes = await fetch(url ?? '', { headers: { 'user-agent': 'rasket-tests/1' } }).then((answer) =>
      answer.arrayBuffer(),
    );
    expect(bytes.byteLength).toBe(PDF.length);
    expect((await inbox.call('GET', `/threads/${threadId}`)).status).toBe(200);
  });

  it('of HTML has no script and no remote image', async () => {
    const { path: below } = await inbox.arrive({ content: WITH_FILES });
    const { mail } = await arrived(await send(`${below}/forward`, { to: 'a@example.net', html: '<p>See below</p>' }));
    expect(mail.html).toContain('See');
    expect(mail.html).not.toMatch(/<script|stranger\.example/i);
  });

  it('a forward with a text alone keeps the HTML of the message', async () => {
    const content = [
      'Content-Type: text/html; charset=utf-8',
      '',
      '<table><tr><td>Total</td><td><b>EUR 12</b></td></tr></table>',
    ];
    const { path: below } = await inbox.arrive({ content });
    for (const body of [{ to: 'c@example.net', text: 'For <you>\nto pay.' }, { to: 'c@example.net' }]) {
      const { mail } = await arrived(await send(`${below}/forward`, body));
      expect(mail.html).toContain('<table><tr><td>Total</td><td><b>EUR 12</b></td></tr></table>');
      expect(mail.text).toContain('Forwarded message');
      if (body.text === undefined) continue;
      expect(mail.html).toContain('<p>For &lt;you&gt;<br>\nto pay.</p>');
      expect(mail.text).toMatch(/^For <you>\nto pay\./);
    }
    const plain = await inbox.arrive({});
    const forwarded = await arrived(await send(`${plain.path}/forward`, { to: 'c@example.net', text: 'See.' }));
    expect(forwarded.mail.html).toBeUndefined();
  });

  it('may have no text of its own', async () => {
    const { path: below } = await inbox.arrive({ content: WITH_FILES });
    expect((await arrived(await send(`${below}/forward`, { to: 'b@example.net' }))).mail.text).toContain(
      'Forwarded message',
    );
  });
});

describe('a catch-all inbox', () => {
  it('replies from the address that was written to, and starts no conversation', async () => {
    const all = await scene.api('POST', '/inboxes', {
      key: team.key,
      body: { email_address: `*@${inbox.domain.name}` },
    });
    const sales = `sales@${inbox.domain.name}`;
    const box: WritingInbox = { ...inbox, id: all.body.id as string, path: `/inboxes/${all.body.id as string}` };
    const call: WritingInbox['call'] = (method, below, given) =>
      scene.api(method, `${box.path}${below}`, { ...given, key: team.key });
    await inbox.receive({ for: [sales], to: sales });
    const [thread] = (await call('GET', '/threads')).body.data as { id: string }[];
    const { body: emails } = await call('GET', `/threads/${thread?.id}/emails`);
    const below = `/threads/${thread?.id}/emails/${emails.data[0].id as string}`;
    const { body: sent } = await call('POST', `${below}/reply`, { body: { text: 'From sales.' } });
    expect((await arrived(sent.id as string)).mail.from?.address).toBe(sales);
    const { body: draft } = await call('POST', '/drafts', { body: { to: 'a@example.org', subject: 'New', text: 'x' } });
    const refused = await call('POST', `/drafts/${draft.id as string}/send`);
    expect([refused.status, refused.body.message]).toEqual([422, expect.stringContaining('only reply to mail')]);
  });
});

describe('an automatic reply', () => {
  const AUTO = { text: 'We have your mail.', headers: { 'Auto-Submitted': 'auto-replied' } };
  const answer = async (below: string) => {
    const { status, body } = await inbox.call('POST', `${below}/reply`, { body: AUTO });
    return [status, status === 200 ? '' : (body.message as string)];
  };

  it('is marked as automatic, and is sent once per message and thread', async () => {
    const { path: below } = await inbox.arrive({ from: 'new@example.org' });
    const { mail } = await arrived(await send(`${below}/reply`, AUTO));
    expect(['auto-submitted', 'x-auto-response-suppress', 'x-loop'].map((name) => head(name, mail))).toEqual([
      'auto-replied',
      'All',
      inbox.address,
    ]);
    expect(await answer(below)).toEqual([
      422,
      expect.stringContaining('an automatic reply to this email was already sent'),
    ]);
    const again = await inbox.arrive({
      from: 'new@example.org',
      subject: 'Re: Order 1041',
      headers: [`In-Reply-To: ${mail.messageId}`],
    });
    expect(await answer(again.path)).toEqual([422, expect.stringContaining('nobody has written in it since')]);
    // A person has replied, and may do what a program may not.
    await send(`${again.path}/reply`, { text: 'A person.' });
    const third = await inbox.arrive({
      from: 'new@example.org',
      subject: 'Re: Order 1041',
      headers: [`In-Reply-To: ${mail.messageId}`],
    });
    expect(await answer(third.path)).toEqual([200, '']);
  });

  it('is sent to one sender at most four times a day', async () => {
    for (let i = 0; i < 4; i++)
      expect((await answer((await inbox.arrive({ from: 'often@example.org' })).path))[0]).toBe(200);
    const fifth = await inbox.arrive({ from: 'often@example.org' });
    expect(await answer(fifth.path)).toEqual([422, expect.stringContaining('4 automatic replies within 24 hours')]);
    scene.clock.advance(86_400_000 + 60_000);
    expect((await answer(fifth.path))[0]).toBe(200);
  });

  it.each([
    ['a notice', { mailFrom: '' }, 'no envelope sender'],
    ['a no-reply address', { from: 'Shop <no-reply@shop.example>' }, 'does not accept replies'],
    ['an automatic answer', { headers: ['Auto-Submitted: auto-replied'] }, 'a program sent it'],
    ['a list', { headers: ['List-Id: <news.example.org>'] }, 'mailing list'],
    ['bulk mail', { headers: ['Precedence: bulk'] }, 'is bulk mail'],
    ['mail that does not name the inbox', { to: 'somebody@example.org' }, 'does not name the inbox'],
  ])('is never sent to %s', async (_what, message, says) => {
    const { path: below } = await inbox.arrive(message);
    expect(await answer(below)).toEqual([422, expect.stringContaining(says)]);
    // A person may still answer.
    expect((await inbox.call('POST', `${below}/reply`, { body: { text: 'By hand.' } })).status).toBe(200);
  });

  it('is never sent to another inbox of this installation, so that two of them stop at once', async () => {
    const other = await writingInbox(scene, await scene.team());
    const { path: below } = await inbox.arrive({ from: other.address });
    expect(await answer(below)).toEqual([422, expect.stringContaining('is itself an inbox')]);
    const tagged = await inbox.arrive({ from: `Support <support+tag@${other.domain.name}>` });
    expect(await answer(tagged.path)).toEqual([422, expect.stringContaining('is itself an inbox')]);
  });

  it('is subject to the same rules as a draft', async () => {
    const { threadId, emailId } = await inbox.arrive({ from: 'noreply@shop.example' });
    const body = { text: 'A draft.', thread_id: threadId, reply_to_email_id: emailId };
    const { body: draft } = await inbox.call('POST', '/drafts', { body });
    const refused = await inbox.call('POST', `/drafts/${draft.id as string}/send`, { body: { headers: AUTO.headers } });
    expect([refused.status, refused.body.message]).toEqual([422, expect.stringContaining('does not accept replies')]);
    expect((await inbox.call('GET', `/drafts/${draft.id as string}`)).body.email_id).toBeNull();
  });
});
