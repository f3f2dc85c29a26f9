import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatMailbox, normalizeAddress, parseMailbox, splitAddress } from './index.ts';

const read = (text: string, options = {}) => {
  const result = parseMailbox(text, options);
  if (!result.ok) throw new Error(result.fault);
  return result.mailbox;
};

describe('a mailbox is read', () => {
  const cases: [text: string, name: string, address: string, why: string][] = [
    ['a@b.c', '', 'a@b.c', 'a bare address'],
    ['  a@b.c ', '', 'a@b.c', 'surrounding spaces mean nothing'],
    ['<a@b.c>', '', 'a@b.c', 'brackets without a name'],
    ['Name <a@b.c>', 'Name', 'a@b.c', 'an atom'],
    ['Dr. Ann  Lee <a@b.c>', 'Dr. Ann Lee', 'a@b.c', 'the obsolete dot, and a run of spaces between atoms'],
    ['Jürgen <a@b.c>', 'Jürgen', 'a@b.c', 'a Unicode name'],
    ['"Quoted, Name" <a@b.c>', 'Quoted, Name', 'a@b.c', 'punctuation in quotes'],
    ['"A \\"B\\" \\\\" <a@b.c>', 'A "B" \\', 'a@b.c', 'escapes in quotes'],
    ['"<x@y.z>" <a@b.c>', '<x@y.z>', 'a@b.c', 'an address in a quoted name is a name'],
    ['"A" B "C" <a@b.c>', 'A B C', 'a@b.c', 'words of both kinds'],
    ['a@EXAMPLE.Com', '', 'a@example.com', 'the domain is lower-cased'],
    ['A.B@example.com', '', 'A.B@example.com', 'the local part keeps its case'],
    ['a@müller.example', '', 'a@xn--mller-kva.example', 'an internationalised domain'],
    ['a@例え。テスト', '', 'a@xn--r8jz45g.xn--zckzah', 'the ideographic full stop is a dot'],
    ['"john doe"@b.c', '', '"john doe"@b.c', 'a local part that needs quotes'],
    ['"john"@b.c', '', 'john@b.c', 'a local part that does not'],
    ['"a@b"@b.c', '', '"a@b"@b.c', 'an @ in quotes'],
    ['"a\\"b"@b.c', '', '"a\\"b"@b.c', 'a quote in quotes'],
    ["!#$%&'*+/=?^_`{|}~-@b.c", '', "!#$%&'*+/=?^_`{|}~-@b.c", 'every atext character'],
    [`${'a'.repeat(64)}@b.c`, '', `${'a'.repeat(64)}@b.c`, 'the longest local part'],
  ];
  test.each(cases)('%s', (text, name, address) => {
    expect(read(text)).toMatchObject({ name, address, needsSmtpUtf8: false });
  });

  test('a Unicode local part is kept and flagged', () => {
    expect(read('Ü <jürgen@müller.example>')).toEqual({
      name: 'Ü',
      local: 'jürgen',
      domain: 'xn--mller-kva.example',
      address: 'jürgen@xn--mller-kva.example',
      needsSmtpUtf8: true,
    });
  });

  test('a single label is accepted where the caller allows it', () => {
    expect(read('root@localhost', { allowSingleLabel: true }).domain).toBe('localhost');
  });
});

describe('a mailbox is refused', () => {
  const cases: [text: string, fault: RegExp, why: string][] = [
    ['', /empty/, 'nothing'],
    ['   ', /empty/, 'only spaces'],
    ['<>', /no @/, 'the null path is no mailbox'],
    ['a', /no @/, 'no domain'],
    ['@b.c', /nothing before/, 'no local part'],
    ['a@', /domain is empty/, 'empty domain'],
    ['a@b@c.d', /more than one @/, 'two domains'],
    ['a@b', /has no dot/, 'a single label'],
    ['a@b..c', /two dots/, 'an empty label'],
    ['a@.b.c', /starts with a dot/, 'a leading dot'],
    ['a@b.c.', /ends with a dot/, 'a trailing dot'],
    ['a@-b.c', /hyphen/, 'a leading hyphen'],
    ['a@b_c.de', /letters, digits/, 'an underscore'],
    ['a@[127.0.0.1]', /address literal/, 'an address literal'],
    ['a@127.0.0.1', /IP address/, 'an IP address'],
    ['a@b%41.com', /"%"/, 'an escape that a URL parser would decode'],
    [`a@${'b'.repeat(64)}.com`, /64 characters; at most 63/, 'a long label'],
    [`${'a'.repeat(65)}@b.c`, /65 bytes; at most 64/, 'a long local part'],
    [`${'ü'.repeat(33)}@b.c`, /66 bytes; at most 64/, 'octets are counted, not characters'],
    [
      `${'a'.repeat(64)}@${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.example`,
      /255 bytes; at most 254/,
      'a long address',
    ],
    [`${'N'.repeat(999)} <a@b.c>`, /at most 998/, 'a long input'],
    [`"${'ü'.repeat(500)}" <a@b.c>`, /bytes; at most 998/, 'a long input in bytes'],
    ['.a@b.c', /dot at its start/, 'a leading dot in the local part'],
    ['a..b@b.c', /dot/, 'two dots in the local part'],
    ['a b@b.c', /space/, 'a space in the local part'],
    ['a\u200bb@b.c', /may only stand in quotes/, 'an invisible character in the local part'],
    ['John a@b.c', /Name <local/, 'an address without brackets after a name'],
    ['a@b.c, d@e.f', /list/, 'two addresses'],
    ['a@b.c; d@e.f', /list/, 'two addresses, the wrong way'],
    ['A <a@b.c>, B <d@e.f>', /list/, 'two mailboxes'],
    ['Acme, Inc. <a@b.c>', /list.*double quotes/, 'an unquoted comma'],
    ['Team: a@b.c;', /list|group/, 'a group'],
    ['Team: A <a@b.c>;', /group/, 'a group with a name'],
    ['<@x.y:a@b.c>', /before its @/, 'a source route'],
    ['A (B) <a@b.c>', /comment/, 'a comment in the name'],
    ['a@b.c (A)', /comment/, 'a comment after the address'],
    ['A <a@b.c', /never closed/, 'an open bracket'],
    ['a@b.c>', /never opened/, 'a closing bracket'],
    ['A <a@b.c> x', /nothing after it/, 'junk behind'],
    ['A <a@b.c>>', /never opened/, 'a second bracket behind'],
    ['"A <a@b.c>', /quote/, 'an open quote'],
    ['A " B <a@b.c>', /quote/, 'an open quote inside the name'],
    ['""@b.c', /empty local part/, 'an empty quoted local part'],
    ['x@y.z <a@b.c>', /double quotes/, 'an address as an unquoted name'],
    ['A\r\nBcc: x@y.z <a@b.c>', /U\+000D/, 'a header injection'],
    ['a@b.c\n', /U\+000A/, 'a line break at the end'],
    ['a\0@b.c', /U\+0000/, 'NUL'],
    ['A\tB <a@b.c>', /U\+0009/, 'a tab'],
    ['A\u0085 <a@b.c>', /U\+0085/, 'a C1 control'],
    ['A\u2028 <a@b.c>', /U\+2028/, 'a Unicode line separator'],
    ['A\ud800 <a@b.c>', /U\+D800/, 'half a surrogate pair'],
  ];
  test.each(cases)('%j', (text, fault) => {
    const result = parseMailbox(text);
    expect(result).toMatchObject({ ok: false, fault: expect.stringMatching(fault) });
    // A fault is shown to the caller on one line.
    if (!result.ok) expect(result.fault).not.toMatch(/\p{Cc}/u);
  });
});

describe('properties', () => {
  const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?$/);
  const domain = fc.tuple(label, fc.stringMatching(/^[a-z]{2,6}$/)).map(([first, top]) => `${first}.${top}`);
  const local = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
    .filter((text) => !/[\p{C}\p{Z}]/u.test(text));
  const name = fc.string({ unit: 'binary', maxLength: 60 }).filter((text) => !/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u.test(text));

  test('what formatMailbox writes, parseMailbox reads back', () => {
    fc.assert(
      fc.property(name, local, domain, (display, part, host) => {
        const quoted = parseMailbox(`"${part.replace(/["\\]/g, '\\$&')}"@${host}`);
        fc.pre(quoted.ok && !host.includes('xn--'));
        const mailbox = { ...quoted.mailbox, name: display };
        expect(read(formatMailbox(mailbox))).toEqual(mailbox);
      }),
    );
  });

  test('no input makes the parser throw, and what it accepts holds no control character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 80 }), (text) => {
        const result = parseMailbox(text);
        if (result.ok) expect(result.mailbox.address).not.toMatch(/\p{Cc}/u);
      }),
    );
  });
});

test('two spellings of one address compare equal', () => {
  expect(normalizeAddress('John.Doe@EXAMPLE.com')).toBe('john.doe@example.com');
  expect(normalizeAddress('JU\u0308RGEN@Müller.example')).toBe('jürgen@xn--mller-kva.example');
});

test('an address is cut at its last @', () => {
  expect(splitAddress('"a@b"@c.de')).toEqual({ local: '"a@b"', domain: 'c.de' });
  expect(splitAddress('a@')).toBeUndefined();
  expect(splitAddress('@a')).toBeUndefined();
});
