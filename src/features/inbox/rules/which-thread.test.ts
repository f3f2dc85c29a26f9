import { describe, expect, it } from 'vitest';
import { listIdsToFind } from './which-thread.ts';
import {
  NOW,
  DAY,
  OTHER_INBOX,
  strangersMac,
  thread,
  addressed,
  GUID,
  threadIndex,
  read,
  inMemory,
  conversation,
  type Mail,
} from './sample-inbox.test-helper.ts';

/** Next mail, and the evidence that puts it into the thread, or the reason that it is not in it. */
type Row = [name: string, mail: Mail, by: string];

const s1 = '<s1@shop.example>';
const a1 = '<a1@home.example>';
const words = (count: number, word: string): string =>
  Array.from({ length: count }, (_, at) => `<${word}${at}@x.example>`).join(' ');

const prefixes: Row[] = [
  ['English', 'Re: Printer'],
  ['English, shouted', 'RE: RE: Printer'],
  ['Outlook that counts', 'RE[2]: Printer'],
  ['a program that counts in parentheses', 'Re(4): Printer'],
  ['a program that counts with a caret', 'Re^2: Printer'],
  ['German', 'AW: Printer'],
  ['German, written out', 'Antwort: Printer'],
  ['Swedish and Norwegian', 'SV: Printer'],
  ['Finnish', 'VS: Printer'],
  ['Dutch', 'Antw: Printer'],
  ['French, with its blank', 'RE : Printer'],
  ['French, accented', 'RÉP: Printer'],
  ['Italian', 'R: Printer'],
  ['Italian, longer', 'RIF: Printer'],
  ['Portuguese', 'RES: Printer'],
  ['Polish', 'Odp: Printer'],
  ['Hungarian', 'Vá: Printer'],
  ['Turkish', 'YNT: Printer'],
  ['Greek', 'ΑΠ: Printer'],
  ['Russian', 'Ответ: Printer'],
  ['Hebrew', 'השב: Printer'],
  ['Arabic', 'رد: Printer'],
  ['Chinese', '回复: Printer'],
  ['Chinese with a wide colon', '回复：Printer'],
  ['traditional Chinese', '回覆：Printer'],
  ['Japanese', '返信: Printer'],
  ['Korean', '회신: Printer'],
  ['five languages after one another', 'Re: Re: AW: SV: 回复：Printer'],
  ['an encoded prefix', '=?utf-8?B?5Zue5aSN77yaUHJpbnRlcg==?='],
  ['a prefix of its own encoded word', '=?utf-8?Q?R=C3=89P_:?= Printer'],
  ['a folded subject', 'Re:\r\n  Printer'],
  ['the tag of a list', '[Friends of fire] Re: [Friends of fire] Printer'],
  ['the mark of a filter', '[EXTERNAL] {Spam?} ***SPAM*** Re: Printer'],
  ['a ticket number of theirs', '[#4711] Re: Printer'],
  ['other letter case and blanks', 're:   PRINTER '],
  ['a mark of direction that is not seen', 'Re: \u200ePrinter'],
  ['a subject that was left out', ''],
  ['nothing but a prefix', 'Re:'],
].map(([name, subject]) => [`${name} answers`, { subject: subject!, re: s1 }, 'in-reply-to'] satisfies Row);

const rows: Row[] = [
  ...prefixes,
  ['an answer to our answer', { re: s1 }, 'in-reply-to'],
  ['an answer to the first message, past us', { re: '<a1@home.example>', from: 'bob@home.example' }, 'in-reply-to'],
  ['our id among References alone', { refs: '<x@y.example> <s1@shop.example> <z@y.example>' }, 'references'],
  ['our id behind one of theirs in In-Reply-To', { re: '<unknown@x.example> <s1@shop.example>' }, 'in-reply-to'],
  ['an id without brackets', { re: 's1@shop.example' }, 'in-reply-to'],
  ['an id in two pairs of brackets', { re: '<<s1@shop.example>>' }, 'in-reply-to'],
  ['an id with blanks in its brackets', { re: '< s1@shop.example >' }, 'in-reply-to'],
  ['an id folded in the middle', { re: '<s1@shop.\r\n example>' }, 'in-reply-to'],
  ['an id as HTML', { re: '&lt;s1@shop.example&gt;' }, 'in-reply-to'],
  ['an encoded id', { re: '=?us-ascii?Q?=3Cs1=40shop=2Eexample=3E?=' }, 'in-reply-to'],
  [
    'a phrase of RFC 822 before the id',
    { re: 'Your message of "Mon, 1 <jan@x.example>" <s1@shop.example>' },
    'in-reply-to',
  ],
  ['comments around the id', { re: '(from (us)) <s1@shop.example> (Printer)' }, 'in-reply-to'],
  ['ids with commas between them', { refs: '<a@x.example>,<s1@shop.example>,<b@x.example>' }, 'references'],
  ['a name of the sender in another letter case', { re: s1, from: 'ANN@Home.Example' }, 'in-reply-to'],
  [
    'a hidden address as the display name',
    { re: s1, from: '"support@shop.example" <ann@home.example>' },
    'in-reply-to',
  ],
  ['References of a megabyte, ours at the end', { refs: `${words(40_000, 'w')} ${s1}` }, 'references'],
  ['References of a megabyte, ours at the front', { refs: `${s1} ${words(40_000, 'w')}` }, 'references'],
  [
    'References of a megabyte, ours in the middle',
    { refs: `${words(20_000, 'w')} ${s1} ${words(20_000, 'v')}` },
    'names-nothing-known',
  ],
  ['ten thousand brackets', { re: '<'.repeat(10_000) }, 'names-nothing'],
  ['a reply address of ours and no id', { receivedFor: addressed(0) }, 'reply-address'],
  ['a reply address of ours in another letter case', { receivedFor: addressed(0).toUpperCase() }, 'reply-address'],
  ['a reply address of ours in To alone', { to: `Support <${addressed(0)}>` }, 'reply-address'],
  [
    'a reply address beside ids that nobody knows',
    { re: '<lost@x.example>', receivedFor: addressed(0) },
    'reply-address',
  ],
  ['a reply address that a stranger copied', { from: 'eve@evil.example', receivedFor: addressed(0) }, 'no-participant'],
  ['a reply address that somebody made up', { receivedFor: addressed(0, { by: strangersMac }) }, 'names-nothing'],
  [
    'a reply address with one letter changed',
    { receivedFor: addressed(0).replace(/.@/, (end) => (end === '0@' ? '1@' : '0@')) },
    'names-nothing',
  ],
  ['a reply address that has run out', { receivedFor: addressed(0, { now: NOW - 401 * DAY }) }, 'names-nothing'],
  ['a reply address of a year ago', { receivedFor: addressed(0, { now: NOW - 365 * DAY }) }, 'reply-address'],
  ['a reply address of another inbox', { receivedFor: addressed(0, { inboxId: OTHER_INBOX }) }, 'names-nothing'],
  ['a reply address and a changed subject', { subject: 'Invoice', receivedFor: addressed(0) }, 'reply-address'],
  [
    'a reply address, a changed subject and the id of a message of theirs',
    { subject: 'Invoice', re: '<a1@home.example>', receivedFor: addressed(0) },
    'reply-address',
  ],
  [
    'a reply address and a changed subject of a stranger',
    { subject: 'Invoice', receivedFor: addressed(0), from: 'eve@evil.example' },
    'no-participant',
  ],
  [
    'Outlook without ids',
    { headers: [`Thread-Index: ${threadIndex(GUID, 1)}`, 'Thread-Topic: Printer'] },
    'thread-index',
  ],
  [
    'Outlook without ids, a stranger',
    { from: 'eve@evil.example', headers: [`Thread-Index: ${threadIndex(GUID, 1)}`] },
    'no-participant',
  ],
  [
    'Outlook in another conversation',
    { headers: [`Thread-Index: ${threadIndex('ff'.repeat(16), 1)}`] },
    'names-nothing-known',
  ],
  ['a Thread-Index that is none', { headers: ['Thread-Index: Printer!'] }, 'names-nothing'],
  ['a Thread-Index of zeros', { headers: [`Thread-Index: ${threadIndex('00'.repeat(16))}`] }, 'names-nothing'],
  ['a Thread-Index of a megabyte', { headers: [`Thread-Index: ${'A'.repeat(1_000_000)}`] }, 'names-nothing'],
  ['a stranger who guesses our id', { from: 'eve@evil.example', re: s1 }, 'no-participant'],
  [
    'a stranger who guesses it among many',
    { from: 'eve@evil.example', refs: `${words(20, 'w')} ${s1}` },
    'no-participant',
  ],
  [
    'a stranger with a participant in Reply-To',
    { from: 'eve@evil.example', re: s1, headers: ['Reply-To: ann@home.example'] },
    'no-participant',
  ],
  [
    'a stranger with a participant in the name',
    { from: '"ann@home.example" <eve@evil.example>', re: s1 },
    'no-participant',
  ],
  ['a forged sender', { re: s1, dmarc: 'fail' }, 'forged-sender'],
  ['a proved sender', { re: s1, dmarc: 'pass' }, 'in-reply-to'],
  ['an agent in another program', { re: s1, from: 'support@shop.example', dmarc: 'pass' }, 'in-reply-to'],
  ['somebody who says to be the inbox', { re: s1, from: 'support@shop.example' }, 'no-participant'],
  ['no sender at all', { re: s1, from: '<>' }, 'no-participant'],
  ['the same ids in another inbox', { re: s1, inboxId: OTHER_INBOX }, 'other-inbox'],
  ['an answer to us with a changed subject', { re: s1, subject: 'Invoice' }, 'in-reply-to'],
  ['our id among References, with a changed subject', { refs: s1, subject: 'Re: Printer - Ticket 77' }, 'references'],
  [
    'an answer to us with a changed subject by a stranger',
    { re: s1, subject: 'Invoice', from: 'eve@evil.example' },
    'no-participant',
  ],
  ['a changed subject', { re: a1, subject: 'Invoice' }, 'changed-subject'],
  ['a changed subject that still looks like an answer', { re: a1, subject: 'Re: Invoice' }, 'changed-subject'],
  ['a changed subject with the old one behind it', { re: a1, subject: 'Invoice (was: Printer)' }, 'changed-subject'],
  ['a subject with more behind it', { re: a1, subject: 'Re: Printer again' }, 'changed-subject'],
  [
    'an Outlook conversation with a changed subject',
    { subject: 'Invoice', headers: [`Thread-Index: ${threadIndex(GUID, 1)}`] },
    'changed-subject',
  ],
  ['a message passed on by somebody of the thread', { re: s1, subject: 'Fwd: Printer' }, 'in-reply-to'],
  ['passed on in German', { re: s1, subject: 'WG: AW: Printer' }, 'in-reply-to'],
  ['passed on, as RFC 5256 has it', { re: s1, subject: 'Printer (fwd)' }, 'in-reply-to'],
  ['passed on by a stranger', { re: s1, subject: 'Fwd: Printer', from: 'eve@evil.example' }, 'no-participant'],
  ['passed on without ids', { subject: 'WG: Printer', bySubject: true }, 'names-nothing'],
  [
    'an automatic answer, as RFC 3834 has it',
    { re: s1, subject: 'I am away', isAutomatic: true, headers: ['Auto-Submitted: auto-replied'] },
    'in-reply-to',
  ],
  [
    'an automatic answer that says so in its subject alone',
    { re: s1, subject: 'Automatic reply: Printer' },
    'in-reply-to',
  ],
  ['an automatic answer in German', { re: s1, subject: 'Automatische Antwort: AW: Printer' }, 'in-reply-to'],
  [
    'an automatic answer without ids',
    { subject: 'Automatic reply: Printer', isAutomatic: true, bySubject: true },
    'names-nothing',
  ],
  [
    'the robot of a help desk that nobody wrote to',
    { re: s1, from: 'noreply@desk.example', isAutomatic: true },
    'no-participant',
  ],
  ['a word in place of an id', { re: 'Printer' }, 'names-nothing'],
  ['no id, no subject line', { subject: '' }, 'names-nothing'],
  ['the same subject without an id', {}, 'names-nothing'],
  ['the same subject, where the inbox takes it', { bySubject: true }, 'subject'],
  ['the same subject, but not as an answer', { bySubject: true, subject: 'Printer' }, 'names-nothing'],
  ['the same subject by a stranger', { bySubject: true, from: 'eve@evil.example' }, 'no-participant'],
  ['the same subject after two weeks', { bySubject: true, after: 15 }, 'names-nothing'],
  ['the same subject on a list', { bySubject: true, headers: ['List-Id: <a.example>'] }, 'names-nothing'],
  ['the same subject of another order', { bySubject: true, subject: 'Re: [Order 2] Printer' }, 'names-nothing'],
  ['a number of the thread in the subject', { bySubject: true, subject: `Re: Hello [#${thread(0)}]` }, 'names-nothing'],
  ['the first message once more', { id: '<a1@home.example>', subject: 'Printer' }, 'message-id'],
  [
    'the id of the first message by somebody else',
    { id: '<a1@home.example>', subject: 'Printer', from: 'eve@evil.example' },
    'no-participant',
  ],
  [
    'the id of the first message for another matter',
    { id: '<a1@home.example>', subject: 'Invoice' },
    'changed-subject',
  ],
  ['no Message-ID', { re: s1, id: '' }, 'in-reply-to'],
];

describe('the thread of a message that follows a conversation', () => {
  it.each(rows)('is chosen as expected for %s', async (_name, mail, by) => {
    const inbox = await conversation();
    const { choice } = await inbox.arrive({ id: '<next@x.example>', ...mail });
    if (choice.kind === 'thread') expect([choice.by, choice.threadId]).toEqual([by, thread(0)]);
    else expect(choice.because).toBe(by);
  });
});

/** Mails in order, with the number of the thread that each one belongs to. */
const courses: [name: string, mails: Mail[], threads: number[]][] = [
  [
    'many recipients of one newsletter have a thread each',
    ['ann', 'ben', 'cat', 'ann'].map((who) => ({
      from: `${who}@home.example`,
      re: '<news@shop.example>',
      subject: 'Re: News',
    })),
    [0, 1, 2, 0],
  ],
  [
    'many visible recipients of one newsletter as well',
    ['ann', 'ben', 'ann'].map((who) => ({
      from: `${who}@home.example`,
      cc: Array.from({ length: 40 }, (_, at) => `${at === 0 ? 'ann' : at === 1 ? 'ben' : `p${at}`}@home.example`).join(
        ', ',
      ),
      re: '<news@shop.example>',
    })),
    [0, 1, 0],
  ],
  [
    'two answers to a mail that never came here',
    [
      { from: 'ann@home.example', cc: 'bob@home.example', re: '<theirs@x.example>' },
      { from: 'bob@home.example', cc: 'ann@home.example', re: '<theirs@x.example>' },
    ],
    [0, 0],
  ],
  [
    'an answer in copy that is faster than the message itself',
    [
      { from: 'bob@home.example', to: 'ann@home.example', cc: 'support@shop.example', re: '<a@home.example>' },
      { from: 'ann@home.example', cc: 'bob@home.example', id: '<a@home.example>', subject: 'Printer' },
    ],
    [0, 0],
  ],
  [
    'a copy that somebody in copy answers before us',
    [
      { id: '<a@home.example>', cc: 'bob@home.example', subject: 'Printer' },
      { from: 'bob@home.example', id: '<b@home.example>', re: '<a@home.example>' },
      { id: '<c@home.example>', refs: '<a@home.example> <b@home.example>' },
    ],
    [0, 0, 0],
  ],
  [
    'a new matter and the old one go on beside each other',
    [
      { id: '<a@home.example>', subject: 'Printer' },
      { id: '<b@home.example>', re: '<a@home.example>', subject: 'Invoice' },
      { id: '<c@home.example>', refs: '<a@home.example> <b@home.example>', subject: 'Re: Invoice' },
      { id: '<d@home.example>', re: '<a@home.example>', subject: 'Re: Printer' },
    ],
    [0, 1, 1, 0],
  ],
  ['messages without an id', [{ subject: 'Printer' }, { subject: 'Printer' }], [0, 1]],
  [
    'one id for two matters',
    [
      { id: '<1@x>', subject: 'A' },
      { id: '<1@x>', subject: 'B' },
      { re: '<1@x>', subject: 'Re: B' },
    ],
    [0, 1, 1],
  ],
  [
    'a list that puts its name before the subject and itself into From',
    [
      {
        from: 'ann@home.example',
        to: 'list@l.example',
        cc: 'support@shop.example',
        id: '<a@l.example>',
        subject: '[L] Printer',
      },
      {
        from: '"Bob via L" <list@l.example>',
        to: 'list@l.example',
        re: '<a@l.example>',
        subject: 'Re: [L] Printer',
        headers: ['List-Id: <l.example>'],
      },
    ],
    [0, 0],
  ],
  [
    'a form that writes for somebody',
    [
      {
        from: 'form@site.example',
        id: '<f@site.example>',
        subject: 'Contact',
        headers: ['Reply-To: ann@home.example'],
      },
      { from: 'ann@home.example', re: '<f@site.example>', subject: 'Re: Contact' },
    ],
    [0, 0],
  ],
  [
    'a mail to two inboxes has a thread in each',
    [
      { id: '<a@home.example>', subject: 'Printer' },
      { id: '<a@home.example>', subject: 'Printer', inboxId: OTHER_INBOX },
      { re: '<a@home.example>', inboxId: OTHER_INBOX },
      { re: '<a@home.example>' },
    ],
    [0, 1, 1, 0],
  ],
  [
    'a forged message gives its sender no part',
    [
      { from: 'eve@bank.example', dmarc: 'fail', id: '<e@x.example>' },
      { from: 'eve@bank.example', re: '<e@x.example>' },
    ],
    [0, 1],
  ],
];

it.each(courses)('messages are put into threads as expected: %s', async (_name, mails, expected) => {
  const inbox = inMemory();
  const found: string[] = [];
  for (const [at, mail] of mails.entries())
    found.push((await inbox.arrive({ id: `<m${at}@x.example>`, ...mail })).threadId);
  expect(found).toEqual(expected.map(thread));
});

it('a million message ids cost no more lookups than a few', async () => {
  const mail = await read({
    re: words(1000, 'r'),
    refs: words(50_000, 'w'),
    id: '<x@y.example>',
    headers: [`Thread-Index: ${threadIndex(GUID)}`],
  });
  expect(listIdsToFind(mail).length).toBeLessThanOrEqual(47);
  expect(mail.references.slice(0, 2)).toEqual(['w0@x.example', 'w1@x.example']);
  expect(mail.references.at(-1)).toBe('w49999@x.example');
});
