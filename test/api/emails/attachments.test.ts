import { createHash, randomBytes } from 'node:crypto';
import PostalMime from 'postal-mime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

describe('an attachment', () => {
  let scene: Scene;
  let team: Team;
  let domain: string;
  beforeAll(async () => {
    scene = await startScene();
    team = await scene.team();
    domain = (await team.domain()).name;
  });
  afterAll(() => scene.close());

  const send = (attachments: unknown, fields: Record<string, unknown> = {}) =>
    scene.api('POST', '/emails', {
      key: team.key,
      body: { from: `a@${domain}`, to: 'x@example.org', subject: 'Files', text: 'See below.', attachments, ...fields },
    });

  async function arrived(id: string) {
    await scene.settled();
    const message = scene.sink.messages.find(({ data }) => data.includes(id));
    if (!message) throw new Error(`nothing arrived for ${id}`);
    return PostalMime.parse(message.data);
  }

  const sizes = [0, 1, 2, 3, 56, 57, 58, 4096, 16_385, 1_000_000];
  it.each(sizes)('of %i bytes arrives unchanged', async (size) => {
    const bytes = randomBytes(size);
    const { body } = await send([{ filename: 'data.bin', content: bytes.toString('base64') }]);
    const [attachment] = (await arrived(body.id)).attachments;
    expect(attachment).toMatchObject({ filename: 'data.bin', mimeType: 'application/octet-stream' });
    expect(digest(new Uint8Array(attachment?.content as ArrayBuffer))).toBe(digest(bytes));
  });

  it('may be a serialized Buffer instead of base64', async () => {
    const bytes = randomBytes(300);
    const { body } = await send([
      { filename: 'a.bin', content: bytes.toString('base64') },
      { filename: 'b.bin', content: bytes.toJSON() },
      { filename: 'c.bin', content: { type: 'Buffer', data: [] } },
    ]);
    const contents = (await arrived(body.id)).attachments.map(({ content }) =>
      digest(new Uint8Array(content as ArrayBuffer)),
    );
    expect(contents).toEqual([digest(bytes), digest(bytes), digest(Buffer.alloc(0))]);
  });

  it.each([
    ['without padding', 'SGVsbG8gd29ybGQ'],
    ['with padding', 'SGVsbG8gd29ybGQ='],
    ['on several lines', 'SGVs\r\nbG8g\nd29y\r\nbGQ=\r\n'],
    ['with spaces', ' SGVs bG8g d29y bGQ= '],
  ])('in base64 %s is read', async (_, content) => {
    const { body } = await send([{ filename: 'hello.txt', content }]);
    const [attachment] = (await arrived(body.id)).attachments;
    expect(Buffer.from(attachment?.content as ArrayBuffer).toString()).toBe('Hello world');
  });

  it.each([
    ['a letter too many', 'SGVsb'],
    ['the alphabet of URLs', '-_-_'],
    ['no base64 at all', 'Hello, world!'],
    ['a letter whose low byte is one of base64', 'SGVsbG8\u0141'],
    ['a data URL', 'data:text/plain;base64,SGVsbG8='],
    ['padding in the middle', 'SGVs=bG8='],
    ['only padding', '===='],
    ['too much padding', 'SGVsbG8==='],
    ['letters beyond ASCII', 'SGVsbG8é'],
    ['an invalid character past a megabyte', `${'QUFB'.repeat(300_000)}*AAA`],
  ])('with %s returns 422 invalid_attachment', async (_, content) => {
    expect(await send([{ filename: 'a.txt', content }])).toMatchObject({
      status: 422,
      body: { statusCode: 422, name: 'invalid_attachment', errors: [{ path: 'attachments.0.content' }] },
    });
  });

  it.each([
    ['neither content nor path', { filename: 'a.txt' }, 'attachments.1.content'],
    ['both content and path', { filename: 'a', content: '', path: 'https://example.com/a' }, 'attachments.1.path'],
    ['an empty path', { filename: 'a', path: '' }, 'attachments.1.path'],
    ['a path without TLS', { filename: 'a', path: 'http://example.com/a' }, 'attachments.1.path'],
    ['a path that is a file', { filename: 'a', path: '/etc/passwd' }, 'attachments.1.path'],
    ['a path that is a file URL', { filename: 'a', path: 'file:///etc/passwd' }, 'attachments.1.path'],
    ['a path that is a data URL', { filename: 'a', path: 'data:text/plain,x' }, 'attachments.1.path'],
    ['a path with a user', { filename: 'a', path: 'https://me@example.com/a' }, 'attachments.1.path'],
    ['a path with a line break', { filename: 'a', path: 'https://example.com/\r\na' }, 'attachments.1.path'],
    [
      'a path of 2049 characters',
      { filename: 'a', path: `https://example.com/${'a'.repeat(2029)}` },
      'attachments.1.path',
    ],
    ['no filename', { content: '' }, 'attachments.1.filename'],
    ['an empty filename', { filename: '', content: '' }, 'attachments.1.filename'],
    ['a filename of 256 bytes', { filename: 'é'.repeat(128), content: '' }, 'attachments.1.filename'],
    ['a filename of two lines', { filename: 'a\nb', content: '' }, 'attachments.1.filename'],
    ['no media type', { filename: 'a', content: '', content_type: 'text' }, 'attachments.1.content_type'],
    ['an empty media type', { filename: 'a', content: '', content_type: '' }, 'attachments.1.content_type'],
    [
      'a media type of 256 characters',
      { filename: 'a', content: '', content_type: `a/${'b'.repeat(254)}` },
      'attachments.1.content_type',
    ],
    [
      'a media type with a header',
      { filename: 'a', content: '', content_type: 'a/b\r\nX: y' },
      'attachments.1.content_type',
    ],
    [
      'a content_id of 256 characters',
      { filename: 'a', content: '', content_id: 'a'.repeat(256) },
      'attachments.1.content_id',
    ],
    ['a content_id with a header', { filename: 'a', content: '', content_id: 'a\r\nX: y' }, 'attachments.1.content_id'],
    [
      'a content_id in brackets of its own',
      { filename: 'a', content: '', content_id: 'a<b' },
      'attachments.1.content_id',
    ],
    ['an empty content_id', { filename: 'a', content: '', content_id: '' }, 'attachments.1.content_id'],
    ['a content_id with a space', { filename: 'a', content: '', content_id: 'a b' }, 'attachments.1.content_id'],
  ])('with %s returns 422 invalid_attachment and names the place', async (_, attachment, path) => {
    const answer = await send([{ filename: 'good.txt', content: '' }, attachment]);
    expect(answer).toMatchObject({ status: 422, body: { name: 'invalid_attachment', errors: [{ path }] } });
  });

  it.each([
    [{ filename: 7, content: '' }, 'attachments.0.filename'],
    [{ filename: 'a', content: 7 }, 'attachments.0.content'],
    [{ filename: 'a', content: { type: 'Buffer', data: [256] } }, 'attachments.0.content'],
    [{ filename: 'a', content: { type: 'Buffer', data: [1.5] } }, 'attachments.0.content'],
    [{ filename: 'a', content: { type: 'Buffer', data: ['1'] } }, 'attachments.0.content'],
    [{ filename: 'a', content: { type: 'Blob', data: [] } }, 'attachments.0.content'],
    [{ filename: 'a', path: 7 }, 'attachments.0.path'],
    [{ filename: 'a', path: ['https://example.com/'] }, 'attachments.0.path'],
    [{ filename: 'a', content: '', content_type: 7 }, 'attachments.0.content_type'],
    [{ filename: 'a', content: '', content_id: 7 }, 'attachments.0.content_id'],
    [{ filename: 'a\0', content: '' }, 'attachments.0.filename'],
    [{ filename: '\ud800', content: '' }, 'attachments.0.filename'],
    [{ filename: 'a', content: '', surprise: 1 }, 'attachments.0.surprise'],
    ['a.txt', 'attachments.0'],
  ])('like %j has a wrong type and returns 400, named by its path', async (attachment, path) => {
    const answer = await send([attachment]);
    expect(answer).toMatchObject({ status: 400, body: { name: 'validation_error', errors: [{ path }] } });
  });

  it('is accepted as one of a hundred, while a hundred and one return 422 invalid_attachment', async () => {
    const files = (count: number) =>
      Array.from({ length: count }, (_, i) => ({ filename: `${i}.txt`, content: 'QQ==' }));
    const { status, body } = await send(files(100));
    expect(status).toBe(200);
    expect((await arrived(body.id)).attachments.map(({ filename }) => filename)).toEqual(
      files(100).map(({ filename }) => filename),
    );
    const refused = await send(files(101));
    expect(refused).toMatchObject({
      status: 422,
      body: { name: 'invalid_attachment', errors: [{ path: 'attachments' }] },
    });
    expect((await send([])).status).toBe(200);
  });

  it.each([
    'übung 日本.pdf',
    'a "quoted" name.txt',
    'a;b=c.txt',
    "it's 100%.csv",
    '../../etc/passwd',
    'x'.repeat(255),
    '😀.png',
  ])('keeps its filename %.30s', async (filename) => {
    const { status, body } = await send([{ filename, content: 'QQ==' }]);
    expect(status).toBe(200);
    expect((await arrived(body.id)).attachments[0]?.filename).toBe(filename);
  });

  it('with a content_id becomes an inline part that the HTML can refer to', async () => {
    const logo = randomBytes(500);
    const { body } = await send(
      [
        { filename: 'logo.png', content: logo.toString('base64'), content_id: 'logo@here' },
        { filename: 'terms.pdf', content: 'QQ==', content_type: 'application/pdf' },
      ],
      { html: '<img src="cid:logo@here">' },
    );
    const mail = await arrived(body.id);
    expect(mail.html).toContain('cid:logo@here');
    const [inline, attached] = mail.attachments;
    expect(inline).toMatchObject({
      filename: 'logo.png',
      mimeType: 'image/png',
      disposition: 'inline',
      contentId: '<logo@here>',
    });
    expect(digest(new Uint8Array(inline?.content as ArrayBuffer))).toBe(digest(logo));
    expect(attached).toMatchObject({ filename: 'terms.pdf', mimeType: 'application/pdf', disposition: 'attachment' });
  });

  it('may have the longest media type and content_id', async () => {
    const longest = {
      filename: 'f'.repeat(255),
      content: 'QQ==',
      content_type: `a/${'b'.repeat(253)}`,
      content_id: 'c'.repeat(255),
    };
    const { status, body } = await send([longest]);
    expect(status).toBe(200);
    expect((await arrived(body.id)).attachments[0]).toMatchObject({
      filename: longest.filename,
      mimeType: longest.content_type,
      contentId: `<${longest.content_id}>`,
    });
  });

  it('with an error is reported after every other error', async () => {
    const bad = [{ filename: 'a', content: '!' }];
    expect(await send(bad, { to: 'bad' })).toMatchObject({ status: 400, body: { errors: [{ path: 'to' }] } });
    expect((await send(bad, { from: 'a@nobody.example.com' })).status).toBe(422);
  });

  it('reaches only the recipients of its own email', async () => {
    const sent = await Promise.all(
      Array.from({ length: 12 }, async (_, i) => {
        const bytes = randomBytes(2000 + i);
        const { body } = await send([{ filename: `${i}.bin`, content: bytes.toString('base64') }], {
          to: `n${i}@example.org`,
        });
        return { id: body.id as string, sum: digest(bytes) };
      }),
    );
    for (const { id, sum } of sent) {
      const [attachment] = (await arrived(id)).attachments;
      expect(digest(new Uint8Array(attachment?.content as ArrayBuffer))).toBe(sum);
    }
  });
});
