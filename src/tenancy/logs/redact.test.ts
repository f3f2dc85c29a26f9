import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redactBody, redactPath, redactTokens, redactUrl } from './redact.ts';

const TOKEN = 'rk_4fGh2kLmN8pQrStUvWxYz0-_4fGh2kLm';

const names = Array.from({ length: 10_000 }, (_, i) => `n${i}`);

const kept = (value: unknown, options: Partial<Parameters<typeof redactBody>[1]> = {}): unknown =>
  JSON.parse(redactBody(value, { bytesMax: 8192, bytes: 1, ...options }));

describe('redactBody', () => {
  it.each([
    ['token', 'abc'],
    ['access_token', 'abc'],
    ['refreshToken', 'abc'],
    ['signing_secret', 'abc'],
    ['Signing-Secret', 'abc'],
    ['client_secret', { nested: 'abc' }],
    ['password', 123456],
    ['new_password', ['a', 'b']],
    ['recovery_codes', ['abc-def']],
    ['otpauth_url', 'otpauth://totp/x?secret=abc'],
    ['secret', ''],
    ['authorization', 'Basic abc'],
    ['private_key', 'abc'],
    ['download_url', 'https://mail.example.com/files/abc'],
  ])('removes the value of %s, whatever it is', (name, value) => {
    expect(kept({ [name]: value, id: 1 })).toEqual({ [name]: '[redacted]', id: 1 });
  });

  it('keeps null and false in place of a secret', () => {
    expect(kept({ token: null, password: false })).toEqual({ token: null, password: false });
  });

  it.each(['rk_', 'rko_', 'rkor_', 'rkoc_', 'rs_', 'whsec_'])(
    'removes a token that starts with %s from any text',
    (prefix) => {
      const token = `${prefix}abcdefghijklmnopqrstuvwx`;
      expect(kept({ subject: `use ${token}!`, list: [token], [token]: 1 })).toEqual({
        subject: 'use [redacted]!',
        list: ['[redacted]'],
        '[redacted]': 1,
      });
    },
  );

  it('keeps the public prefix of a key, and words with underscores', () => {
    const body = {
      key_prefix: 'rk_4fGh2kLm',
      note: 'a work_item and my_mark_up',
      field: 'customers_of_the_northern_regions',
    };
    expect(kept(body)).toEqual(body);
  });

  it('replaces the content of an attachment by its size, as base64, as a Buffer, and in wrong places', () => {
    const content = Buffer.from('twelve bytes').toString('base64');
    const buffer = Buffer.from('twelve bytes').toJSON();
    const size = '[redacted: 12 bytes]';
    const attachment = { filename: 'a.txt', content_type: 'text/plain' };
    expect(
      kept({
        attachments: [
          { ...attachment, content },
          { ...attachment, content: buffer },
        ],
      }),
    ).toEqual({
      attachments: [
        { ...attachment, content: size },
        { ...attachment, content: size },
      ],
    });
    expect(kept({ attachments: content, file: buffer })).toEqual({ attachments: size, file: size });
    expect(kept({ attachments: { a: { content } } })).toEqual({ attachments: { a: { content: size } } });
    expect(kept({ attachments: [{ content: 'YQ==' }, { content: 'YWI=' }, { content: { x: 1 } }] })).toEqual({
      attachments: [{ content: '[redacted: 1 bytes]' }, { content: '[redacted: 2 bytes]' }, { content: '[redacted]' }],
    });
  });

  it('keeps content outside of attachments', () => {
    expect(kept({ content: 'hello' })).toEqual({ content: 'hello' });
  });

  it('keeps the address of a file without its credentials', () => {
    const path = 'https://user:pass@files.example.com/a.pdf?X-Signature=abc#part';
    expect(kept({ attachments: [{ path }] })).toEqual({
      attachments: [{ path: 'https://files.example.com/a.pdf?[redacted]' }],
    });
    expect(kept({ errors: [{ path: 'tags.0.name' }] })).toEqual({ errors: [{ path: 'tags.0.name' }] });
  });

  it('removes a whole share link', () => {
    const url = 'https://mail.example.com/share/abc';
    expect(kept({ object: 'email', url }, { isShare: true })).toEqual({ object: 'email', url: '[redacted]' });
    expect(kept({ url })).toEqual({ url });
  });

  it('replaces a body over the limit by its size and a preview', () => {
    const body = {
      from: 'a@example.com',
      to: Array.from({ length: 50 }, (_, i) => `n${i}@example.org`),
      html: 'x'.repeat(9000),
    };
    expect(kept(body, { bytes: 9999 })).toEqual({
      truncated: true,
      bytes: 9999,
      preview: {
        from: 'a@example.com',
        to: [...body.to.slice(0, 10), '[50 items]'],
        html: `${'x'.repeat(120)}… [9000 characters]`,
      },
    });
  });

  it('does not count attachments, so that the other fields of a large request are kept', () => {
    const body = { subject: 'Hello', attachments: [{ filename: 'a', content: 'A'.repeat(4_000_000) }] };
    expect(kept(body)).toEqual({
      subject: 'Hello',
      attachments: [{ filename: 'a', content: '[redacted: 3000000 bytes]' }],
    });
  });

  it('keeps the beginning of each long text in a clipped body', () => {
    expect(kept({ subject: 'Hello', html: 'x'.repeat(121) }, { isClipped: true })).toEqual({
      subject: 'Hello',
      html: `${'x'.repeat(120)}… [121 characters]`,
    });
  });

  it('keeps no half of a token at the edge of a clipped text', () => {
    for (let at = 60; at <= 120; at++) {
      const text = redactBody(
        { html: `${'.'.repeat(at)}${TOKEN}${'.'.repeat(2000)}` },
        { bytesMax: 8192, bytes: 1, isClipped: true },
      );
      expect(text).not.toContain(TOKEN.slice(0, 8));
    }
  });

  it('keeps no half of a token that removals move into the kept part', () => {
    for (let length = 19; length < 60; length++) {
      const html = `rk_${'a'.repeat(length - 3)} `.repeat(200);
      expect(redactBody({ html }, { bytesMax: 8192, bytes: 1, isClipped: true })).not.toContain('rk_');
    }
  });

  it.each([0, 1, 100, 8192])('always returns a small result with a limit of %i bytes', (bytesMax) => {
    const body = { a: { b: ['x'.repeat(500), 'ä'.repeat(500), '\u0000'.repeat(500)] }, c: 'y'.repeat(5000) };
    const text = redactBody(body, { bytesMax, bytes: 7 });
    expect(text.length).toBeLessThan(Math.max(bytesMax + 1, 2048));
    expect(JSON.parse(text)).toBeTypeOf('object');
  });

  it('counts characters and escapes of several bytes fully', () => {
    expect(kept({ text: 'ä'.repeat(60) }, { bytesMax: 100, bytes: 5 })).toMatchObject({ truncated: true });
    expect(kept({ text: '\u0001'.repeat(60) }, { bytesMax: 100, bytes: 5 })).toMatchObject({ truncated: true });
  });

  it('keeps a field named __proto__ as a field without its secret', () => {
    const body: unknown = JSON.parse(`{"__proto__": {"token": "abc"}, "constructor": "${TOKEN}"}`);
    expect(redactBody(body, { bytesMax: 8192, bytes: 1 })).toBe(
      '{"__proto__":{"token":"[redacted]"},"constructor":"[redacted]"}',
    );
  });

  it('cuts thirty thousand levels down to forty', () => {
    const body: unknown = JSON.parse(`${'['.repeat(30_000)}"${TOKEN}"${']'.repeat(30_000)}`);
    expect(redactBody(body, { bytesMax: 8192, bytes: 1 })).toBe(`${'['.repeat(40)}"[too deep]"${']'.repeat(40)}`);
  });

  it('takes no more time for a huge body than for a small one', () => {
    const html = Array.from({ length: 100_000 }, () => 'rk_a whsec_ "').join('');
    const body: unknown = JSON.parse(
      JSON.stringify({ html, list: Array.from({ length: 100_000 }, (_, i) => `n${i}`) }),
    );
    // There are enough repetitions that the test would time out if each read the whole body.
    for (let i = 0; i < 20_000; i++) redactBody(body, { bytesMax: 8192, bytes: 1 });
  });

  it.each([
    ['fields', (field: object) => Object.defineProperties({}, Object.fromEntries(names.map((name) => [name, field])))],
    ['items', (field: object) => Object.defineProperties([], Object.fromEntries(names.map((_, i) => [i, field])))],
  ])('reads no more of ten thousand %s than it can keep', (_, make) => {
    let looks = 0;
    const body = make({ enumerable: true, get: () => `value ${++looks}` });
    redactBody(body, { bytesMax: 500, bytes: 1 });
    expect(looks).toBeGreaterThan(1);
    expect(looks).toBeLessThan(200);
  });

  it('returns JSON without a token for any body and limit', () => {
    const token = fc.constantFrom(
      TOKEN,
      'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      'rkor_abcdefghijklmnopqrstuvwxyz012345',
    );
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      token,
      fc.tuple(fc.string(), token, fc.string()).map((parts) => parts.join(' ')),
    );
    const body = fc.object({ key: text, values: [text, fc.double(), fc.boolean(), fc.constant(null)], maxDepth: 3 });
    fc.assert(
      fc.property(body, fc.integer({ min: 0, max: 3000 }), fc.boolean(), (value, bytesMax, isClipped) => {
        const out = redactBody(JSON.parse(JSON.stringify(value)), { bytesMax, bytes: 1, isClipped });
        JSON.parse(out);
        expect(out).not.toMatch(/(rk|rkor|whsec)_[A-Za-z0-9]{8}/);
      }),
    );
  });
});

describe('redactTokens', () => {
  it('is fast on texts made to be slow', () => {
    // Steps that grow with the square of the length would take hours.
    for (const unit of ['rk_', 'rkrkrk', 'whsec_a ', '____', 'rk_aaaaaaaaaaaaaaa ']) redactTokens(unit.repeat(200_000));
  });
});

describe('redactPath', () => {
  it.each([
    ['/emails/019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77', '/emails/019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77'],
    ['/suppressions/a+b@example.org', '/suppressions/a+b@example.org'],
    ['/suppressions/a%2Bb%40example.org', '/suppressions/a%2Bb%40example.org'],
    [`/api-keys/${TOKEN}`, '/api-keys/[redacted]'],
    [`/api-keys/${TOKEN.replace('_', '%5F')}`, '/api-keys/[redacted]'],
    [`/share/${TOKEN.replace('rk_', 'rs_')}`, '/share/[redacted]'],
    ['/emails/%E0%A4%A', '/emails/%E0%A4%A'],
  ])('turns %s into %s', (path, wanted) => expect(redactPath(path)).toBe(wanted));
});

describe('redactUrl', () => {
  it.each([
    ['https://example.com/a', 'https://example.com/a'],
    ['https://example.com/a?x=1', 'https://example.com/a?[redacted]'],
    ['https://user:pass@example.com/', 'https://example.com/?[redacted]'],
    ['https://example.com:8443/a#token', 'https://example.com:8443/a?[redacted]'],
    [`https://example.com/${TOKEN}`, 'https://example.com/[redacted]'],
    ['//user:pass@example.com/a', '[redacted]'],
    ['data:text/plain;base64,YWJj', 'data:[redacted]'],
    ['mailto:a@example.com', 'mailto:[redacted]'],
    ['not a url?', '[redacted]'],
    ['plain words', 'plain words'],
  ])('turns %s into %s', (url, wanted) => expect(redactUrl(url)).toBe(wanted));
});
