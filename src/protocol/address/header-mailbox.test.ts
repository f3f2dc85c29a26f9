import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatMailbox, parseHeaderMailbox, parseMailbox } from './index.ts';

const OWN = 'app@ours.example';
const OTHER = 'ceo@bank.example';

describe('one mailbox, in any form that RFC 5322 gives it', () => {
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
  ])('%j', (value, name) => {
    expect(parseHeaderMailbox(value)).toMatchObject({ ok: true, mailbox: { address: OWN, name } });
  });
});

describe('what readers would take for different senders', () => {
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
  ])('%j: %s', (value) => {
    expect(parseHeaderMailbox(value)).toMatchObject({ ok: false, fault: expect.stringMatching(/\S/) });
  });
});

describe('a domain goes on as it was written, so that it is what every reader makes of it', () => {
  test.each([
    ['app@Ours.EXAMPLE', 'ours.example'],
    ['app@bücher.example', 'xn--bcher-kva.example'],
    ['app@BÜCHER.example', 'xn--bcher-kva.example'],
    ['app@XN--Bcher-KVA.example', 'xn--bcher-kva.example'],
    ['app@例え.xn--zckzah', 'xn--r8jz45g.xn--zckzah'],
  ])('%s', (address, domain) => {
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
  ])('%j: %s', (address) => {
    const fault = expect.stringMatching(/^Only some programs read the domain ".*" as ".*"; write it so\.$/);
    expect(parseHeaderMailbox(address)).toEqual({ ok: false, fault });
    expect(parseHeaderMailbox(`App <${address}>`)).toEqual({ ok: false, fault });
  });

  test('nor is a name taken for the address again because of it', () => {
    expect(parseHeaderMailbox('app@boo\u212a.example <app@book.example>')).toMatchObject({ ok: false });
  });
});

test('what is read without comments and folds is what parseMailbox reads', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
      const parsed = parseHeaderMailbox(text);
      if (!parsed.ok) return;
      const { address } = parsed.mailbox;
      expect(parseMailbox(formatMailbox({ name: '', address }))).toMatchObject({ ok: true, mailbox: { address } });
    }),
  );
});
