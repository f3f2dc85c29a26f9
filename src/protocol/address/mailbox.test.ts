import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatMailbox, normalizeAddress, parseMailbox, splitAddress, parseHeaderMailbox } from './index.ts';

const read = (text: string, options = {}) => {
  const result = parseMailbox(text, options);
  if (!result.ok) throw new Error(result.fault);
  return result.mailbox;
};

describe('a mailbox', () => {
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
  test.each(cases)('is read from %s', (text, name, address) => {
    expect(read(text)).toMatchObject({ name, address, needsSmtpUtf8: false });
  });

  test('keeps a Unicode local part and flags it', () => {
    expect(read('Ü <jürgen@müller.example>')).toEqual({
      name: 'Ü',
      local: 'jürgen',
      domain: 'xn--mller-kva.example',
      address: 'jürgen@xn--mller-kva.example',
      needsSmtpUtf8: true,
    });
  });

  test('may have a single label when the caller allows it', () => {
    expect(read('root@localhost', { allowSingleLabel: true }).domain).toBe('localhost');
  });
});

describe('an invalid mailbox', () => {
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
    ['a\u200bb@b.c', /is only allowed in quotes/, 'an invisible character in the local part'],
    ['John a@b.c', /Name <local/, 'an address without brackets after a name'],
    ['a@b.c, d@e.f', /list/, 'two addresses'],
    ['a@b.c; d@e.f', /list/, 'two addresses, the wrong way'],
    ['A <a@b.c>, B <d@e.f>', /list/, 'two mailboxes'],
    ['Acme, Inc. <a@b.c>', /list.*double quotes/, 'an unquoted comma'],
    ['Team: a@b.c;', /list|group/, 'a group'],
    ['Team: A <a@b.c>;', /group/, 'a group with a name'],
    ['<@x.y:a@b.c>', /before the @/, 'a source route'],
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
  test.each(cases)('is refused: %j', (text, fault) => {
    const result = parseMailbox(text);
    expect(result).toMatchObject({ ok: false, fault: expect.stringMatching(fault) });
    // A fault is shown to the caller on one line.
    if (!result.ok) expect(result.fault).not.toMatch(/\p{Cc}/u);
  });
});

describe('the mailbox parser', () => {
  const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?$/);
  const domain = fc.tuple(label, fc.stringMatching(/^[a-z]{2,6}$/)).map(([first, top]) => `${first}.${top}`);
  const local = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
    .filter((text) => !/[\p{C}\p{Z}]/u.test(text));
  const name = fc.string({ unit: 'binary', maxLength: 60 }).filter((text) => !/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u.test(text));

  test('reads back what formatMailbox writes', () => {
    fc.assert(
      fc.property(name, local, domain, (display, part, host) => {
        const quoted = parseMailbox(`"${part.replace(/["\\]/g, '\\$&')}"@${host}`);
        fc.pre(quoted.ok && !host.includes('xn--'));
        const mailbox = { ...quoted.mailbox, name: display };
        expect(read(formatMailbox(mailbox))).toEqual(mailbox);
      }),
    );
  });

  test('never throws, and accepts no control character', () => {
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

test('an address is split at its last @', () => {
  expect(splitAddress('"a@b"@c.de')).toEqual({ local: '"a@b"', domain: 'c.de' });
  expect(splitAddress('a@')).toBeUndefined();
  expect(splitAddress('@a')).toBeUndefined();
});

const OWN = 'app@ours.example';
const OTHER = 'ceo@bank.example';

describe('a header with one mailbox', () => {
  test.each([
    [OWN, ''],
    [`<${OWN}>`, ''],
    [`  ${OWN}  `, ''],
    [`App <${OWN}>`, 'App'],
    [`${OWN} <${OWN}>`, ''],
    [`App@Ours.Example <${OWN}>`, ''],
    [`App<${OWN}>`, 'App'],
    [`"App, Inc." <${OWN}>`, 'App, Inc.'],
    [`"App \\"the\\" (one)" <${OWN}>`, 'App "the" (one)'],
    [`John Q. Public <${OWN}>`, 'John Q. Public'],
    [`"John"\r\n Public\r\n\t<${OWN}>`, 'John Public'],
    [`Zo\u00eb <${OWN}>`, 'Zo\u00eb'],
    [`${OWN} (Cron Daemon)`, 'Cron Daemon'],
    [`${OWN} (a (nested \\) one))`, 'a (nested ) one)'],
    [`(before) App (between) <${OWN}> (behind)`, 'App'],
    [`"(no comment)" <${OWN}>`, '(no comment)'],
    [`=?utf-8?q?Gr=C3=BC=C3=9Fe?= <${OWN}>`, '=?utf-8?q?Gr=C3=BC=C3=9Fe?='],
    [`=?utf-8?Q?App,_Inc:_(one)?= <${OWN}>`, '=?utf-8?Q?App=2C_Inc=3A_=28one=29?='],
    [`"${OTHER}" <${OWN}>`, OTHER],
    [`"App (${OTHER})" <${OWN}>`, `App (${OTHER})`],
    [`"App <${OTHER}>" <${OWN}>`, `App <${OTHER}>`],
    [`=?utf-8?q?J=C3=A4ne?= <${OWN}>`, '=?utf-8?q?J=C3=A4ne?='],
    [`=?utf-8?q?J=C3=A4ne_=28=40home=29?= <${OWN}>`, '=?utf-8?q?J=C3=A4ne_=28=40home=29?='],
    [`=?utf-8?q?Doe=2C_Jane?= <${OWN}>`, '=?utf-8?q?Doe=2C_Jane?='],
    [`"Doe, =?utf-8?q?J=C3=A4ne?=" <${OWN}>`, 'Doe, =?utf-8?q?J=C3=A4ne?='],
    [`=?utf-8?q?5=22_disk?= <${OWN}>`, '=?utf-8?q?5=22_disk?='],
    [`=?utf-8?b?IkFwcCI=?= "(x)" <${OWN}>`, '=?utf-8?b?IkFwcCI=?= (x)'],
    [`=?iso-2022-jp?b?GyRCPEAiLDxAGyhC?= <${OWN}>`, '=?iso-2022-jp?b?GyRCPEAiLDxAGyhC?='],
    [`${OWN} (=?utf-8?q?J=C3=A4ne_=29?=)`, '=?utf-8?q?J=C3=A4ne_=29?='],
  ])('is read in any form of RFC 5322: %j', (value, name) => {
    expect(parseHeaderMailbox(value)).toMatchObject({ ok: true, mailbox: { address: OWN, name } });
  });
});

describe('a header that readers could take for different senders', () => {
  test.each([
    [`<${OWN}> <${OTHER}>`, 'two angle forms'],
    [`<${OTHER}> <${OWN}>`, 'two angle forms, the other way round'],
    [`${OTHER} <${OWN}>`, 'an address as an unquoted name'],
    [`${OWN} <${OTHER}>`, 'the same, the other way round'],
    [`${OWN} ${OTHER}`, 'two addresses without a comma'],
    [`${OWN}, ${OTHER}`, 'a list'],
    [`${OWN},`, 'a list that ends early'],
    [`${OWN}; ${OTHER}`, 'a list with semicolons'],
    [`x: ${OWN};`, 'a group'],
    [`undisclosed:;`, 'a group of nobody'],
    [`${OWN} (${OTHER})`, 'a comment with an address'],
    [`(${OTHER}) ${OWN}`, 'a comment with an address before'],
    [`(<b>) ${OWN}`, 'a comment with brackets'],
    [`app(${OTHER})@ours.example`, 'a comment within the address'],
    [`${OWN} (never closed`, 'a comment that is never closed'],
    [`"${OTHER} <${OWN}>`, 'a quote that is never closed'],
    [`"App" "<${OWN}>`, 'a second quote that is never closed'],
    [`<<${OWN}>>`, 'brackets in brackets'],
    [`<${OWN}`, 'a bracket that is never closed'],
    [`${OWN}>`, 'a bracket that was never opened'],
    [`<@bank.example:${OWN}>`, 'a route'],
    [`App <${OWN}> behind`, 'words behind the address'],
    [`App ${OWN}`, 'a name without brackets'],
    [`=?utf-8?q?${OTHER}?= <${OWN}>`, 'an address in an encoded word'],
    [`=?utf-8?q?<${OTHER}>?= <${OWN}>`, 'brackets in an encoded word'],
    [`=?utf-8?q?${OWN}?=`, 'nothing but an encoded word'],
    [`"${OWN}"@bank.example <${OWN}>`, 'a quoted local part as a name'],
    [`=?a?q?"?= <${OTHER}>, "=?a?q??= <${OWN}>`, 'a quoted string across two encoded words'],
    [`=?a?q?"?= <${OTHER}>, =?a?q?"?= <${OWN}>`, 'a quoted string from one encoded word to the next'],
    [`=?a?q?"?= ${OTHER}, "=?a?q??= <${OWN}>`, 'the same around an address without brackets'],
    [`=?a?q?a?"?= <${OTHER}>, "=?a?q??= <${OWN}>`, 'the same with a question mark in the word'],
    [`=?utf-8?q?=22?= "x <${OTHER}>, =?utf-8?q?=22?= " <${OWN}>`, 'encoded quotes around quoted ones'],
    ['=?utf-8?q?=3Cceo=40bank.example=3E?= <app@ours.example>', 'an encoded address in brackets'],
    ['=?utf-8?b?PGNlb0BiYW5rLmV4YW1wbGU+?= <app@ours.example>', 'the same in base64'],
    ['=?utf-8?q?ceo=40bank.example=2C?= <app@ours.example>', 'an encoded address and comma'],
    ['', 'nothing'],
    ['<>', 'nobody'],
    ['App', 'a name alone'],
  ])('is refused: %j (%s)', (value) => {
    expect(parseHeaderMailbox(value)).toMatchObject({ ok: false, fault: expect.stringMatching(/\S/) });
  });
});

describe('the domain of a header mailbox', () => {
  test.each([
    ['app@Ours.EXAMPLE', 'ours.example'],
    ['app@bücher.example', 'xn--bcher-kva.example'],
    ['app@BÜCHER.example', 'xn--bcher-kva.example'],
    ['app@XN--Bcher-KVA.example', 'xn--bcher-kva.example'],
    ['app@例え.xn--zckzah', 'xn--r8jz45g.xn--zckzah'],
  ])('is normalized as every reader normalizes it: %s', (address, domain) => {
    expect(parseHeaderMailbox(`App <${address}>`)).toMatchObject({ ok: true, mailbox: { domain } });
  });

  test.each([
    ['app@ours\u3002example', 'an ideographic full stop'],
    ['app@ours\uff0eexample', 'a fullwidth full stop'],
    ['app@ours\uff61example', 'a halfwidth ideographic full stop'],
    ['app@\uff4furs.example', 'a fullwidth letter'],
    ['app@ours.e\u00adxample', 'a soft hyphen'],
    ['app@bu\u0308cher.example', 'a letter and its dots apart'],
    ['app@boo\u212a.example', 'the sign for Kelvin'],
    ['app@ours.ΟΔΟΣ', 'a final sigma in capitals'],
  ])('is refused when only some programs read it: %j (%s)', (address) => {
    const fault = expect.stringMatching(/^Only some programs read the domain ".*" as "(.*)"; write "\1"\.$/);
    expect(parseHeaderMailbox(address)).toEqual({ ok: false, fault });
    expect(parseHeaderMailbox(`App <${address}>`)).toEqual({ ok: false, fault });
  });

  test('cannot make a different address pass as the display name', () => {
    expect(parseHeaderMailbox('app@boo\u212a.example <app@book.example>')).toMatchObject({ ok: false });
  });
});

test('a header mailbox without comments and folds is read as parseMailbox reads it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
      const parsed = parseHeaderMailbox(text);
      if (!parsed.ok) return;
      const { address } = parsed.mailbox;
      expect(parseMailbox(formatMailbox({ name: '', address }))).toMatchObject({ ok: true, mailbox: { address } });
    }),
  );
});
