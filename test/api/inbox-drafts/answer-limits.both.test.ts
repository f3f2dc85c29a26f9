import PostalMime from 'postal-mime';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { writingInbox, type WritingInbox } from '../../rig/inbox.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const LIMIT_BYTES = 27 * 1024 * 1024;

let scene: Scene;
let team: Team;
let inbox: WritingInbox;
beforeAll(async () => {
  scene = await startScene({ config: { attachments: { limit_bytes: LIMIT_BYTES } as never } });
  team = await scene.team();
  inbox = await writingInbox(scene, team);
});
afterAll(() => scene.close());

const addresses = (count: number, name = 'a'): string[] =>
  Array.from({ length: count }, (_, i) => `${name}${i}@example.org`);

/** Returns a message with that many files, of that many bytes each. */
const withFiles = (count: number, bytes: number): string[] => [
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b',
  'Content-Type: text/plain',
  '',
  'See below.',
  ...Array.from({ length: count }, (_, i) => [
    '--b',
    'Content-Type: application/octet-stream',
    `Content-Disposition: attachment; filename="${i}.bin"`,
    'Content-Transfer-Encoding: base64',
    '',
    Buffer.alloc(bytes, String(i)).toString('base64').replaceAll(/.{76}/g, '$&\r\n'),
  ]).flat(),
  '--b--',
];

it('a message is forwarded with any number of its files, in addition to ten new ones', async () => {
  const { path: below } = await inbox.arrive({ content: withFiles(14, 100) });
  const attachments = Array.from({ length: 10 }, (_, i) => ({ filename: `own-${i}.txt`, content: 'eA==' }));
  const sent = await inbox.call('POST', `${below}/forward`, { body: { to: 'bob@example.org', attachments } });
  expect(sent.status, sent.text).toBe(200);
  await scene.settled();
  const message = scene.sink.messages.find(({ data }) => data.includes(`<${sent.body.id as string}@`));
  const mail = await PostalMime.parse(message?.data ?? '');
  expect(mail.attachments.map(({ filename }) => filename)).toEqual([
    ...Array.from({ length: 10 }, (_, i) => `own-${i}.txt`),
    ...Array.from({ length: 14 }, (_, i) => `${i}.bin`),
  ]);
  const more = [...attachments, { filename: 'own-10.txt', content: 'eA==' }];
  const refused = await inbox.call('POST', `${below}/forward`, { body: { to: 'bob@example.org', attachments: more } });
  expect([refused.status, refused.body.errors?.[0]?.path]).toEqual([400, 'attachments']);
  expect(refused.body.message).toContain('at most 10');
});

it('a message that is too large to forward is refused with the limit, before anything is written', async () => {
  const heavy = await inbox.arrive({ content: withFiles(3, 10 * 1024 * 1024) });
  const alone = await inbox.call('POST', `${heavy.path}/forward`, { body: { to: 'bob@example.org' } });
  expect([alone.status, alone.body.name]).toEqual([422, 'invalid_attachment']);
  expect(alone.body.errors).toMatchObject([{ path: 'attachments' }]);
  const limit = `at most ${LIMIT_BYTES} can be sent in one email (attachments.limit_bytes of the server)`;
  expect(alone.body.message).toContain(`forwarded have ${30 * 1024 * 1024} bytes; ${limit}`);
  const light = await inbox.arrive({ content: withFiles(2, 8 * 1024 * 1024) });
  const content = Buffer.alloc(12 * 1024 * 1024).toString('base64');
  const body = { to: 'bob@example.org', attachments: [{ filename: 'own.bin', content }] };
  const both = await inbox.call('POST', `${light.path}/forward`, { body });
  expect([both.status, both.body.name]).toEqual([422, 'invalid_attachment']);
  expect(both.body.message).toContain(
    `have ${16 * 1024 * 1024} bytes, and the other attachments ${12 * 1024 * 1024}; ${limit}`,
  );
  expect((await inbox.call('POST', `${light.path}/forward`, { body: { to: 'bob@example.org' } })).status).toBe(200);
});

it.each([
  [
    'an answer to all',
    { headers: [`Cc: ${addresses(60).join(', ')}`] },
    { reply_all: true },
    'reply_all',
    'goes to 61 addresses;',
  ],
  [
    'an answer to all with copies',
    { headers: [`Cc: ${addresses(45).join(', ')}`] },
    { reply_all: true, cc: addresses(3, 'b'), bcc: addresses(2, 'c') },
    'reply_all',
    'goes to 46 addresses, and cc and bcc name 5 more;',
  ] as const,
  [
    'an answer to whom it asks',
    { headers: [`Reply-To: ${addresses(51).join(', ')}`] },
    {},
    'cc',
    'requests replies to 51 addresses;',
  ],
  ['an answer with copies', {}, { cc: addresses(50) }, 'cc', 'replies to 1 addresses, and cc and bcc name 50 more;'],
] as const)(
  '%s to more than 50 addresses is refused with the counts and what to do',
  async (_what, message, more, field, says) => {
    const { path: below, threadId, emailId } = await inbox.arrive(message);
    const refused = await inbox.call('POST', `${below}/reply`, { body: { text: 'To all of you.', ...more } });
    expect([refused.status, refused.body.name, refused.body.errors]).toEqual([
      400,
      'validation_error',
      [{ path: field, message: expect.stringContaining(says) }],
    ]);
    expect(refused.body.message).toContain('at most 50 recipients');
    // The advice of the message works.
    const body = { text: 'x', to: addresses(50), thread_id: threadId, reply_to_email_id: emailId };
    const draft = await inbox.call('POST', '/drafts', { body });
    expect((await inbox.call('POST', `/drafts/${draft.body.id as string}/send`)).status).toBe(200);
  },
);
