import { createHash, randomUUID } from 'node:crypto';
import PostalMime from 'postal-mime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sweepBlobs } from '../../../src/features/installation/upkeep/remove-orphan-blobs.ts';
import { ALLOWED, startFileServer } from '../../rig/file-server.ts';
import { writingInbox, type WritingInbox } from '../../rig/inbox.ts';
import { runJob } from '../../rig/inboxes.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
let team: Team;
let inbox: WritingInbox;
beforeAll(async () => {
  scene = await startScene();
  team = await scene.team();
  inbox = await writingInbox(scene, team, { from_name: 'Grace from Support', signature: 'Grace\nExample Ltd' });
});
afterAll(() => scene.close());

const create = async (body: unknown): Promise<string> => {
  const made = await inbox.call('POST', '/drafts', { body });
  expect(made.status, made.text).toBe(201);
  expect(made.body).toEqual({ object: 'inbox_draft', id: expect.any(String) });
  return made.body.id as string;
};
const sentAs = (id: string) => scene.sink.messages.filter(({ data }) => data.includes(id));

describe('a draft', () => {
  it('is returned as it was written, changed by field, listed until it is sent, and deleted', async () => {
    const file = {
      filename: 'note.txt',
      content: Buffer.from('a note').toString('base64'),
      content_type: 'text/plain',
    };
    const id = await create({
      to: 'Ada <ada@example.org>',
      cc: ['bob@example.org'],
      subject: 'Hello',
      attachments: [file],
    });
    const read = await inbox.call('GET', `/drafts/${id}`);
    expect(read.body).toMatchObject({
      object: 'inbox_draft',
      id,
      type: 'standalone',
      to: ['Ada <ada@example.org>'],
      cc: ['bob@example.org'],
      bcc: [],
      subject: 'Hello',
      html: null,
      text: null,
      thread_id: null,
      reply_to_email_id: null,
      email_id: null,
      attachments: [{ filename: 'note.txt', content_type: 'text/plain', size: 6 }],
    });
    const changed = await inbox.call('PATCH', `/drafts/${id}`, { body: { cc: null, html: '<p>Some <b>text</b></p>' } });
    expect(changed.body).toEqual({ object: 'inbox_draft', id });
    const { body: page } = await inbox.call('GET', '/drafts');
    const item = page.data.find((one: { id: string }) => one.id === id);
    expect(item).toMatchObject({ to: ['Ada <ada@example.org>'], cc: [], subject: 'Hello', snippet: 'Some text' });
    expect(item).not.toHaveProperty('html');
    expect(item.attachments).toHaveLength(1);
    await inbox.call('PATCH', `/drafts/${id}`, { body: { to: null, attachments: null } });
    expect((await inbox.call('GET', `/drafts/${id}`)).body).toMatchObject({ to: null, attachments: [] });
    expect((await inbox.call('DELETE', `/drafts/${id}`)).body).toEqual({ object: 'inbox_draft', id, deleted: true });
    for (const method of ['GET', 'DELETE']) expect((await inbox.call(method, `/drafts/${id}`)).status).toBe(404);
    const types = (await scene.events(id)).map(({ type }) => type);
    expect(types.filter((type) => type.startsWith('inbox.draft.'))).toEqual([
      'inbox.draft.created',
      'inbox.draft.updated',
      'inbox.draft.updated',
      'inbox.draft.deleted',
    ]);
  });

  it('is sent with its files and signature in a thread of its own, and a repeated send returns the same email', async () => {
    const big = Buffer.alloc(700_000, 'x');
    const attachments = [
      { filename: 'big.bin', content: big.toString('base64'), content_type: 'application/octet-stream' },
    ];
    const id = await create({
      to: ['ada@example.org'],
      bcc: 'secret@example.org',
      subject: 'Your order',
      text: 'On its way.',
      attachments,
    });
    const sent = await inbox.call('POST', `/drafts/${id}/send`, { body: { headers: { 'X-Order': '1041' } } });
    expect(sent.status, sent.text).toBe(200);
    const emailId = sent.body.id as string;
    await scene.settled();
    const [message, ...more] = sentAs(emailId);
    expect(more.length).toBeLessThanOrEqual(1);
    const mail = await PostalMime.parse(message?.data ?? '');
    expect(mail.from).toEqual({ name: 'Grace from Support', address: inbox.address });
    expect(mail.subject).toBe('Your order');
    expect(mail.text).toContain('On its way.');
    expect(mail.text).toContain('Grace\nExample Ltd');
    expect(mail.headers.find(({ key }) => key === 'x-order')?.value).toBe('1041');
    expect(mail.replyTo?.[0]?.address).toMatch(/^support\+r[0-9a-v]+@/);
    const computeHash = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
    expect(mail.attachments.map(({ content }) => computeHash(Buffer.from(content as ArrayBuffer)))).toEqual([
      computeHash(big),
    ]);
    expect((await inbox.call('GET', '/drafts')).body.data.map((one: { id: string }) => one.id)).not.toContain(id);
    expect((await inbox.call('GET', `/drafts/${id}`)).body).toMatchObject({ email_id: emailId });
    const [thread] = await inbox.threads('?folders=sent');
    expect(thread).toMatchObject({ subject: 'Your order', folder: 'sent', read: true, email_count: 1 });
    const { body: emails } = await inbox.call('GET', `/threads/${thread?.id}/emails`);
    expect(emails.data).toMatchObject([{ id: emailId, direction: 'outbound', last_event: 'delivered' }]);
    // It is sent again, with a key, and twice at once.
    const key = { headers: { 'idempotency-key': randomUUID() } };
    const again = await Promise.all([{}, key, {}].map((given) => inbox.call('POST', `/drafts/${id}/send`, given)));
    expect(again.map(({ body }) => body)).toEqual([{ id: emailId }, { id: emailId }, { id: emailId }]);
    await scene.settled();
    expect(new Set(sentAs(emailId).flatMap(({ rcptTo }) => rcptTo)).size).toBe(2);
    const patched = await inbox.call('PATCH', `/drafts/${id}`, { body: { text: 'Other' } });
    expect([patched.status, patched.body.message]).toEqual([422, expect.stringContaining('was sent')]);
    const told = (await scene.events(emailId)).find(({ type }) => type === 'inbox.draft.sent');
    expect(told?.data).toMatchObject({
      source: 'api',
      inbox_id: inbox.id,
      thread_id: thread?.id,
      email_id: emailId,
      draft_id: id,
      draft: { email_id: emailId },
    });
    expect(JSON.stringify(told?.data)).not.toContain('On its way.');
  });

  it('is sent once by two senders at once, in twenty rounds', async () => {
    for (let round = 0; round < 20; round++) {
      const id = await create({ to: 'ada@example.org', subject: `Round ${round}`, text: 'Once.' });
      const both = await Promise.all([0, 1].map(() => inbox.call('POST', `/drafts/${id}/send`)));
      expect(both.map(({ status }) => status)).toEqual([200, 200]);
      expect(both[0]?.body).toEqual(both[1]?.body);
    }
    await scene.settled();
    const rounds = scene.sink.messages.filter(({ data }) => /^Subject: Round \d+\r$/m.test(data.toString('latin1')));
    expect(rounds).toHaveLength(20);
  });

  it('is listed newest first, in pages in both directions', async () => {
    const box = await writingInbox(scene, team);
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) {
      ids.unshift((await box.call('POST', '/drafts', { body: { subject: `Number ${i}` } })).body.id as string);
    }
    const page = async (query: string) => {
      const { body } = await box.call('GET', `/drafts?limit=2${query}`);
      return { ids: (body.data as { id: string }[]).map(({ id }) => id), more: body.has_more as boolean };
    };
    expect(await page('')).toEqual({ ids: ids.slice(0, 2), more: true });
    expect(await page(`&after=${ids[1]}`)).toEqual({ ids: ids.slice(2, 4), more: true });
    expect(await page(`&after=${ids[3]}`)).toEqual({ ids: ids.slice(4), more: false });
    expect(await page(`&before=${ids[4]}`)).toEqual({ ids: ids.slice(2, 4), more: true });
  });

  it('is created once with an idempotency key', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    const body = { subject: 'Kept once' };
    const first = await inbox.call('POST', '/drafts', { body, headers });
    const again = await inbox.call('POST', '/drafts', { body, headers });
    expect([again.status, again.body]).toEqual([first.status, first.body]);
    const other = await inbox.call('POST', '/drafts', { body: { subject: 'Another' }, headers });
    expect([other.status, other.body.name]).toEqual([409, 'invalid_idempotent_request']);
    const { body: page } = await inbox.call('GET', '/drafts?limit=100');
    expect(page.data.filter(({ subject }: { subject: string }) => subject === 'Kept once')).toHaveLength(1);
  });

  it('must be complete to be sent, and the error says what is missing', async () => {
    for (const [body, field] of [
      [{ subject: 'A', text: 'b' }, 'to'],
      [{ to: 'ada@example.org', text: 'b' }, 'subject'],
      [{ to: 'ada@example.org', subject: 'A' }, 'html or text'],
    ] as const) {
      const id = await create(body);
      const sent = await inbox.call('POST', `/drafts/${id}/send`);
      expect([sent.status, sent.body.name]).toEqual([422, 'missing_required_field']);
      expect(sent.body.message).toContain(`lacks ${field};`);
    }
  });

  it.each([
    [{}, 'at least one of to, cc'],
    [{ thread_id: randomUUID(), reply_to_email_id: randomUUID() }, 'at least one of to, cc'],
    [{ to: 'not an address' }, 'to'],
    [{ to: Array.from({ length: 51 }, (_, i) => `a${i}@example.org`) }, 'at most 50'],
    [{ subject: 'two\nlines' }, 'one line'],
    [{ subject: 'x'.repeat(999) }, '998'],
    [{ text: 'x'.repeat(2 * 1024 * 1024 + 1) }, 'at most 2097152 bytes'],
    [{ attachments: [{ filename: 'a.txt', content: 'eA==' }] }, 'content_type is missing'],
    [{ attachments: [{ filename: 'a.txt', content: '', content_type: 'text/plain' }] }, 'empty'],
    [{ attachments: [{ filename: 'a.txt', path: 'http://files.example/a' }] }, 'path'],
    [{ text: 'x', thread_id: randomUUID() }, 'together'],
    [{ text: 'x', thread_id: randomUUID(), reply_to_email_id: randomUUID() }, 'a thread of this inbox'],
  ])('is refused with an invalid body, number %#', async (body, says) => {
    const refused = await inbox.call('POST', '/drafts', { body });
    expect([400, 422]).toContain(refused.status);
    expect(refused.body.message).toContain(says);
  });

  it('may have files of 25 MB in total', async () => {
    const content = Buffer.alloc(13 * 1024 * 1024, 'x').toString('base64');
    const file = { content, content_type: 'text/plain' };
    const body = {
      attachments: [
        { ...file, filename: 'a' },
        { ...file, filename: 'b' },
      ],
    };
    const refused = await inbox.call('POST', '/drafts', { body });
    expect([refused.status, refused.body.name]).toEqual([422, 'invalid_attachment']);
    expect(refused.body.message).toContain('26214400');
  });

  it.each(['In-Reply-To', 'references', 'REPLY-TO'])('cannot set the header %s', async (name) => {
    const id = await create({ to: 'ada@example.org', subject: 'A', text: 'b' });
    const sent = await inbox.call('POST', `/drafts/${id}/send`, { body: { headers: { [name]: '<a@example.org>' } } });
    expect(sent.status).toBe(422);
    expect(sent.body.message).toContain(name);
  });

  it('of another team returns the same as an unknown one', async () => {
    const id = await create({ text: 'Ours' });
    const other = await scene.team();
    for (const path of [`/drafts/${id}`, `/drafts/${randomUUID()}`]) {
      const read = await scene.api('GET', `${inbox.path}${path}`, { key: other.key });
      expect(read.body).toMatchObject({ statusCode: 404, name: 'not_found', message: 'Inbox not found.' });
    }
  });

  it('that was sent is deleted with its email and its files, while an unsent one stays', async () => {
    await using own = await startScene({ config: { plans: { standard: { retention_days: 1 } } as never } });
    const box = await writingInbox(own, await own.team());
    const content = Buffer.alloc(400_000, 'x').toString('base64');
    const attachments = [{ filename: 'a.bin', content, content_type: 'application/octet-stream' }];
    const made: string[] = [];
    for (const subject of ['Sent', 'Kept']) {
      const body = { to: 'ada@example.org', subject, text: 'x', attachments };
      made.push((await box.call('POST', '/drafts', { body })).body.id as string);
    }
    const [sent = '', kept = ''] = made;
    await box.call('POST', `/drafts/${sent}/send`);
    await own.settled();
    own.clock.advance(3 * 86_400_000);
    await runJob(own, 'remove-expired');
    expect((await box.call('GET', `/drafts/${sent}`)).status).toBe(404);
    expect(await box.threads('?folders=sent')).toEqual([]);
    const { body: draft } = await box.call('GET', `/drafts/${kept}`);
    expect(draft.attachments).toHaveLength(1);
    const { db } = own.app.world;
    expect(await db.all('select draft_id from inbox_draft_files')).toEqual([{ draft_id: kept }]);
    // Its files in the blob store are swept; those of the other are not.
    await sweepBlobs(own.app.world, { remove: true });
    const emailId = (await box.call('POST', `/drafts/${kept}/send`)).body.id as string;
    await own.settled();
    const arrived = own.sink.messages.find(({ data }) => data.includes(emailId));
    expect(arrived?.data.length).toBeGreaterThan(500_000);
  });

  it('has files given by URL fetched when it is written', async () => {
    await using files = await startFileServer((_path, response) => void response.end('%PDF-1.7'));
    await using own = await startScene({
      trustedCa: [files.certificate.cert],
      config: { network: { http_allow_private: [`${ALLOWED}/32`] } as never },
    });
    own.dns.set('files.test', 'A', [ALLOWED]);
    const box = await writingInbox(own, await own.team());
    const path = `https://files.test:${files.port}/a.pdf`;
    const made = await box.call('POST', '/drafts', { body: { text: 'x', attachments: [{ filename: 'a.pdf', path }] } });
    expect(made.status, made.text).toBe(201);
    const read = await box.call('GET', `/drafts/${made.body.id as string}`);
    expect(read.body.attachments).toMatchObject([{ filename: 'a.pdf', content_type: 'application/pdf', size: 8 }]);
  });
});
