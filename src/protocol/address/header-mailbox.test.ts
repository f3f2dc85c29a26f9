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
    ['', 'nothing'],
    ['<>', 'nobody'],
    ['App', 'a name alone'],
  ])('%j: %s', (value) => {
    expect(parseHeaderMailbox(value)).toMatchObject({ ok: false, fault: expect.stringMatching(/\S/) });
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
