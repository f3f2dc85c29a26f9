import { expect, test } from 'vitest';
import { parseDomainName } from './index.ts';

test.each([
  ['example.com', 'example.com'],
  ['Mail.Example.COM', 'mail.example.com'],
  ['xn--mller-kva.example', 'xn--mller-kva.example'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['3com.example', '3com.example'],
  [`${'a'.repeat(63)}.example`, `${'a'.repeat(63)}.example`],
])('the sending domain %s is read as %s', (text, domain) => {
  expect(parseDomainName(text)).toEqual({ ok: true, domain });
  expect(parseDomainName(text).ok).toBe(true);
});

test.each([
  ['', /empty/],
  ['localhost', /no dot/],
  ['com', /no dot/],
  ['.example.com', /starts with a dot/],
  ['example.com.', /ends with a dot/],
  ['a..example.com', /two dots/],
  ['*.example.com', /wildcard/],
  ['https://example.com', /URL/],
  ['example.com/path', /URL/],
  ['example.com:25', /ports/],
  ['::1', /IP addresses/],
  ['[::1]', /address literal/],
  ['192.0.2.1', /IP address/],
  ['0x7f.1', /IP address/],
  ['1.0x7f', /IP address/],
  ['１２７.0.0.1', /IP address/],
  ['a b.com', /" "/],
  ['a_b.com', /"_"/],
  ['-a.com', /hyphen/],
  ['a-.com', /hyphen/],
  ['xn--a-ecp.ru\u0000', /\\u0000/],
  ['xn--\u00e4.com', /IDNA/],
  [`${'a'.repeat(64)}.com`, /at most 63/],
  [`${'a.'.repeat(126)}co`, /254 characters; at most 253/],
  ['a@b.com', /"@"/],
  ['soft\u00adhyphen', /no dot/],
])('%j is refused as a sending domain', (text, fault) => {
  expect(parseDomainName(text)).toEqual({ ok: false, fault: expect.stringMatching(fault) as string });
});
