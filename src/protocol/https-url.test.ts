import { expect, test } from 'vitest';
import { readHttpsUrl } from './https-url.ts';

test.each([
  ['https://example.com/a.pdf', 'https://example.com/a.pdf'],
  ['HTTPS://EXAMPLE.COM:443/a b'.replace(' ', '%20'), 'https://example.com/a%20b'],
  ['https://example.com:8443/?q=1#part', 'https://example.com:8443/?q=1'],
  ['https://bücher.example/ä', 'https://xn--bcher-kva.example/%C3%A4'],
  [`https://example.com/${'a'.repeat(2028)}`, `https://example.com/${'a'.repeat(2028)}`],
])('the URL %.60s is accepted', (text, href) => {
  expect((readHttpsUrl(text) as URL).href).toBe(href);
});

test.each([
  ['', 'an https URL'],
  ['a.pdf', 'an https URL'],
  ['/etc/passwd', 'an https URL'],
  ['//example.com/a', 'an https URL'],
  ['http://example.com/a', 'an https URL'],
  ['file:///etc/passwd', 'an https URL'],
  ['data:text/plain,x', 'an https URL'],
  ['ftp://example.com/a', 'an https URL'],
  ['blob:https://example.com/a', 'an https URL'],
  ['https://', 'an https URL'],
  ['https://exa mple.com/', 'without spaces'],
  ['https://example.com/\r\nX: y', 'without spaces'],
  ['ht\ntps://example.com/', 'without spaces'],
  ['https://user@example.com/', 'without a user name'],
  ['https://:secret@example.com/', 'without a user name'],
  [`https://example.com/${'a'.repeat(2029)}`, 'at most 2048 characters; got 2049'],
])('the URL %j is refused', (text, why) => {
  expect(readHttpsUrl(text)).toContain(why);
});
