import { describe, expect, it } from 'vitest';
import {
  eraseFromHead,
  findCommonPart,
  hasAddress,
  replaceAddress,
  replaceInJson,
  replaceInText,
} from './address-in-text.ts';

const E = 'erased@erased.invalid';

describe('replaceAddress', () => {
  it.each([
    ['al@example.org', E],
    ['Al <AL@Example.ORG>, bob@example.org', `Al <${E}>, bob@example.org`],
    ['Write to al@example.org. Or al@example.org, today', `Write to ${E}. Or ${E}, today`],
    ['RCPT TO:<al@example.org>\n250 2.1.5 al@example.org OK', `RCPT TO:<${E}>\n250 2.1.5 ${E} OK`],
    ["'al@example.org' *al@example.org* mail=al@example.org?x", `'${E}' *${E}* mail=${E}?x`],
    ['mailto:al@example.org', `mailto:${E}`],
    ['„al@example.org“', `„${E}“`],
    ['al@example.orgal@example.org al@example.org', `al@example.orgal@example.org ${E}`],
  ])('replaces the address in %s', (text, expected) => {
    expect(replaceAddress(text, 'al@example.org')).toBe(expected);
  });

  it.each([
    'hal@example.org',
    'é.al@example.org',
    'éal@example.org',
    'الal@example.org',
    'x-al@example.org',
    'x+al@example.org',
    'x_al@example.org',
    "o'al@example.org",
    '"o al"@example.org',
    'al@example.org.uk',
    'al@example.organic',
    'al@example.org-x.example',
    'al@example.orgé',
    'al@mail.example.org',
    'al@example.or',
  ])('leaves %s, which is another address', (text) => {
    expect(replaceAddress(`a ${text} b`, 'al@example.org')).toBe(`a ${text} b`);
  });

  it.each([
    ['ada@xn--bcher-kva.example', 'ADA@Bücher.example and ada@xn--bcher-kva.EXAMPLE'],
    ['äda@example.org', 'Äda@example.org and A\u0308da@example.org'],
    ['"o\\"x"@example.org', '"o\\"x"@example.org and "o\\"X"@example.org'],
    ["o'neil@example.org", "o'neil@example.org and O'Neil@example.org"],
    ['a=b@example.org', 'a=b@example.org and x=a=b@example.org'],
  ])('finds all spellings of %s', (key, text) => {
    const left = text.includes('x=') ? `${E} and x=${E}` : `${E} and ${E}`;
    expect(replaceAddress(text, key)).toBe(left);
  });
});

describe('replaceInJson', () => {
  it('replaces a mailbox with its name, and nothing but texts', () => {
    const json = JSON.stringify({
      to: ['Zoe Secret <zoe@example.org>', 'yan@example.org'],
      n: 1.5,
      said: 'no zoe@example.org',
    });
    expect(JSON.parse(replaceInJson(json, 'zoe@example.org'))).toEqual({
      to: [E, 'yan@example.org'],
      n: 1.5,
      said: `no ${E}`,
    });
  });
});

describe('an address in another notation', () => {
  it.each([
    ['a part of a path', '/contacts/al%40example.org/topics', '/contacts/erased%40erased.invalid/topics'],
    [
      'a URL beside a stray percent sign',
      '100% off: https://a.example/?e=Al%40example.org&x=1',
      `100% off: https://a.example/?e=erased%40erased.invalid&x=1`,
    ],
    [
      'a URL within a URL',
      'https://a.example/?to=https%3A%2F%2Fb.example%2F%3Fe%3Dal%40example.org',
      'https://a.example/?to=https%3A%2F%2Fb.example%2F%3Fe%3Derased%40erased.invalid',
    ],
    [
      'a link within JSON',
      JSON.stringify({ html: '<a href="/?e=al%40example.org">' }),
      JSON.stringify({ html: '<a href="/?e=erased%40erased.invalid">' }),
    ],
    ['escapes of JSON', '{"to":"\\u0061l\\u0040example.org"}', `{"to":"${E}"}`],
  ])('is found and replaced in %s', (_, text, expected) => {
    expect(hasAddress(text, 'al@example.org')).toBe(true);
    expect(replaceInText(text, 'al@example.org')).toBe(expected);
  });

  it.each([
    '/contacts/hal%40example.org',
    '/?e=al%40example.org.uk',
    '{"to":"h\\u0061l@example.org"}',
    '%E0%A4%A',
    '\\',
  ])('is not found in %s', (text) => {
    expect(hasAddress(text, 'al@example.org')).toBe(false);
    expect(replaceInText(text, 'al@example.org')).toBe(text.startsWith('{') ? '{"to":"hal@example.org"}' : text);
  });

  it('an address is searched for in a text of a megabyte without delimiters', () => {
    expect(hasAddress(`${'a'.repeat(1_000_000)}%`, 'al@example.org')).toBe(false);
  });
});

describe('eraseFromHead', () => {
  const erase = (head: string): string => eraseFromHead(head, 'zoe@example.org');

  it.each([
    ['To: Zoe Secret <zoe@example.org>, yan@example.org\r\n', 'To: yan@example.org\r\n'],
    ['To: yan@example.org,\r\n "Secret, Zoe" <ZOE@example.org>\r\n', 'To: yan@example.org\r\n'],
    ['Cc: =?utf-8?Q?Zo=C3=AB?=\r\n <zoe@example.org>\r\nSubject: x\r\n', 'Subject: x\r\n'],
    ['To: zoe@example.org (Zoe Secret), b@example.org\r\n', 'To: b@example.org\r\n'],
    ['To: Us: Zoe <zoe@example.org>, b@example.org;, c@example.org\r\n', 'To: Us: b@example.org;, c@example.org\r\n'],
    ['To: Us: b@example.org, Zoe <zoe@example.org>;\r\n', 'To: Us: b@example.org;\r\n'],
    ['To: Us: Zoe <zoe@example.org>;\r\n', 'To: Us:;\r\n'],
    ['To: "zoe@example.org via us" <b@example.org>\r\n', `To: "${E} via us" <b@example.org>\r\n`],
    ['Received: by x for <zoe@example.org>;\r\n\tnow\r\n', `Received: by x for <${E}>;\r\n\tnow\r\n`],
    ['Bcc: a@example.org\r\nX: dezoe@example.org\r\n\r\n', 'Bcc: a@example.org\r\nX: dezoe@example.org\r\n\r\n'],
  ])('removes the mailbox from %j', (head, expected) => {
    expect(erase(head)).toBe(expected);
  });
});

describe('findCommonPart', () => {
  it.each([
    ['al@example.org', 'al'],
    ['ada.lovelace@xn--bcher-kva.example', 'lovelace'],
    ['äda@example.org', 'da'],
    ['mike@example.org', 'm'],
    ['ki@example.org', ''],
    ['"o\\"x"@example.org', 'o'],
    ['e\u0308a@example.org', 'a'],
  ])('returns what all spellings of %s have in common', (key, part) => {
    expect(findCommonPart(key)).toBe(part);
  });
});
