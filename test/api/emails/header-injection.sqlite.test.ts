import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const BREAKS = {
  CRLF: 'a\r\nBcc: v@example.org',
  CR: 'a\rBcc: v@example.org',
  LF: 'a\nBcc: v@example.org',
  NUL: 'a\0b',
  'folded line': 'a\r\n b',
  'end of headers': 'a\r\n\r\nbody',
  'vertical tab': 'a\u000bb',
  'form feed': 'a\fb',
  'next line': 'a\u0085b',
  'line separator': 'a\u2028b',
  'paragraph separator': 'a\u2029b',
  'trailing CRLF': 'a\r\n',
  'leading LF': '\na',
};

const RESERVED = [
  'From',
  'To',
  'Cc',
  'Bcc',
  'Resent-Bcc',
  'Subject',
  'Date',
  'Message-ID',
  'Return-Path',
  'MIME-Version',
  'Content-Type',
  'Content-Transfer-Encoding',
  'Content-Disposition',
  'Content-ID',
  'Content-Anything',
  'DKIM-Signature',
  'DomainKey-Signature',
  'ARC-Seal',
  'ARC-Message-Signature',
  'ARC-Authentication-Results',
  'List-Unsubscribe',
  'List-Unsubscribe-Post',
  'List-Unsubscribe-Anything',
  'Received',
  'Authentication-Results',
  'Delivered-To',
];

describe('headers that a caller may not set', () => {
  let scene: Scene;
  let team: Team;
  let domain: string;
  beforeAll(async () => {
    scene = await startScene();
    team = await scene.team();
    domain = (await team.domain()).name;
  });
  afterAll(() => scene.close());

  const send = (fields: Record<string, unknown>) =>
    scene.api('POST', '/emails', {
      key: team.key,
      body: { from: `a@${domain}`, to: 'x@example.org', subject: 'Hello', text: 'It works.', ...fields },
    });

  it.each(['List-Unsubscribe', 'list-unsubscribe-post'])(
    'include %s, whose refusal says what to use instead',
    async (name) => {
      const answer = await send({ headers: { [name]: '<https://example.com/u>' } });
      const message = expect.stringMatching(
        /topic_id; for a link of your own send the message by SMTP, which keeps the header\.$/,
      );
      expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: `headers.${name}`, message }] } });
    },
  );

  it.each(Object.entries(BREAKS))('cannot be injected with a %s in any field that becomes a header', async (_, bad) => {
    const refused: [string, string, Record<string, unknown>][] = [
      ['from', 'validation_error', { from: `${bad} <a@${domain}>` }],
      ['from', 'validation_error', { from: `a@${domain}${bad}` }],
      ['from', 'validation_error', { from: `"${bad}"@${domain}` }],
      ['to', 'validation_error', { to: `${bad} <x@example.org>` }],
      ['to.1', 'validation_error', { to: ['x@example.org', `"${bad}" <y@example.org>`] }],
      ['cc', 'validation_error', { cc: `${bad}@example.org` }],
      ['bcc.0', 'validation_error', { bcc: [`x@${bad}.example.org`] }],
      ['reply_to', 'validation_error', { reply_to: `<x@example.org>${bad}` }],
      ['subject', 'validation_error', { subject: bad }],
      [`headers.X-A${bad}`, 'validation_error', { headers: { [`X-A${bad}`]: 'x' } }],
      ['headers.X-A', 'validation_error', { headers: { 'X-A': bad } }],
      ['attachments.0.filename', 'invalid_attachment', { attachments: [{ filename: bad, content: '' }] }],
      [
        'attachments.0.content_type',
        'invalid_attachment',
        { attachments: [{ filename: 'a', content: '', content_type: `text/plain; x=${bad}` }] },
      ],
      [
        'attachments.0.content_id',
        'invalid_attachment',
        { attachments: [{ filename: 'a', content: '', content_id: bad }] },
      ],
    ];
    for (const [path, name, fields] of refused) {
      const answer = await send(fields);
      const isNul = bad.includes('\0');
      expect(answer.status, `${path} ${JSON.stringify(fields)}`).toBe(name === 'validation_error' || isNul ? 400 : 422);
      expect(answer.body.name).toBe(isNul ? 'validation_error' : name);
      expect(answer.body.errors[0].path).toBe(path);
    }
  });

  it.each(RESERVED)('include %s, in any letter case', async (name) => {
    const spellings = [
      name,
      name.toLowerCase(),
      name.toUpperCase(),
      name.replace(/./g, (c, i: number) => (i % 2 ? c.toUpperCase() : c.toLowerCase())),
    ];
    for (const spelling of spellings) {
      const answer = await send({ headers: { [spelling]: 'x' } });
      expect(answer, spelling).toMatchObject({
        status: 400,
        body: { name: 'validation_error', errors: [{ path: `headers.${spelling}` }] },
      });
    }
  });

  it.each(['', ' ', 'X A', 'X-A:', ':', 'X-A ', ' X-A', 'Xé', 'From ', 'X-\u200bA', 'X'.repeat(77)])(
    'include those with the invalid name %j',
    async (name) => {
      const answer = await send({ headers: { [name]: 'x' } });
      expect(answer).toMatchObject({ status: 400, body: { name: 'validation_error' } });
    },
  );

  it('include values beyond 998 bytes and more than 100 headers', async () => {
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`X-${i}`, 'x']));
    expect((await send({ headers: { 'X-A': 'é'.repeat(499) } })).status).toBe(200);
    expect((await send({ headers: { 'X-A': 'a'.repeat(999) } })).status).toBe(400);
    expect((await send({ headers: many(100) })).status).toBe(200);
    expect((await send({ headers: many(101) })).status).toBe(400);
    expect((await send({ headers: { 'X-A': 7 } })).body.errors[0].path).toBe('headers.X-A');
  });

  it('did not occur in any message of these tests', async () => {
    await scene.settled();
    expect(scene.sink.messages.flatMap((message) => message.rcptTo)).not.toContain('v@example.org');
    for (const { data } of scene.sink.messages) {
      const head = data.toString('latin1').split('\r\n\r\n', 1)[0] ?? '';
      expect(head).not.toMatch(/^Bcc:/im);
      expect(head.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
    }
  });
});
