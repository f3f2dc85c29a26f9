import { expect, test } from 'vitest';
import { readMessage } from './read-message/index.ts';
import { readReport, type MailReport } from './mail-report.ts';

const TO = 'x@example.org';
const lines = (...all: string[]): string => all.join('\r\n');

/** RFC 3464, in the form that almost every server writes. */
function dsn(
  recipient: string[],
  {
    message = [],
    subject = 'Undelivered Mail Returned to Sender',
    extra = [],
  }: { message?: string[]; subject?: string; extra?: string[] } = {},
): string {
  return lines(
    'From: MAILER-DAEMON@mx.example.org',
    `Subject: ${subject}`,
    'Auto-Submitted: auto-replied',
    ...extra,
    'Content-Type: multipart/report; report-type=delivery-status; boundary=b',
    '',
    '--b',
    'Content-Type: text/plain',
    '',
    'Your message could not be delivered.',
    '--b',
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.example.org',
    ...message,
    '',
    ...recipient,
    '',
    '--b',
    'Content-Type: message/rfc822',
    '',
    'From: me@sender.example',
    'Subject: mine',
    '',
    'body',
    '--b--',
    '',
  );
}
const plain = (subject: string, body: string[], headers: string[] = []): string =>
  lines(
    'From: Mail Delivery Subsystem <mailer-daemon@mx.example.org>',
    `Subject: ${subject}`,
    ...headers,
    '',
    ...body,
    '',
  );
function arf(
  fields: string[],
  original: string[] = ['Return-Path: <b@send.sender.example>', 'From: me@sender.example'],
): string {
  return lines(
    'From: fbl@provider.example',
    'Subject: FW: complaint',
    'Content-Type: multipart/report; report-type=feedback-report; boundary=b',
    '',
    '--b',
    'Content-Type: text/plain',
    '',
    'This is an email abuse report.',
    '--b',
    'Content-Type: message/feedback-report',
    '',
    ...fields,
    '',
    '--b',
    'Content-Type: message/rfc822',
    '',
    ...original,
    '',
    'body',
    '--b--',
    '',
  );
}
const failed = (status: string, code: string, address = TO): string[] => [
  `Final-Recipient: rfc822; ${address}`,
  'Action: failed',
  `Status: ${status}`,
  `Diagnostic-Code: smtp; ${code}`,
];

/** Message and expected reading: `failed 5.1.1 x@example.org`, `complaint`, or nothing. */
const TABLE: [name: string, raw: string, says: string, from?: string][] = [
  ['Postfix: no such user', dsn(failed('5.1.1', '550 5.1.1 User unknown')), 'failed 5.1.1 x@example.org'],
  [
    'Gmail: no such user',
    dsn(failed('5.1.1', '550-5.1.1 The email account that you tried to reach does not exist')),
    'failed 5.1.1 x@example.org',
  ],
  [
    'Exchange Online: not found',
    dsn(failed('5.1.10', '550 5.1.10 RESOLVER.ADR.RecipientNotFound')),
    'failed 5.1.10 x@example.org',
  ],
  ['a full mailbox', dsn(failed('5.2.2', '552 5.2.2 Mailbox full')), 'failed 5.2.2 x@example.org'],
  ['a disabled mailbox', dsn(failed('5.2.1', '550 5.2.1 disabled')), 'failed 5.2.1 x@example.org'],
  ['too large', dsn(failed('5.3.4', '552 5.3.4 too big')), 'failed 5.3.4 x@example.org'],
  ['content refused', dsn(failed('5.7.1', '554 5.7.1 spam')), 'failed 5.7.1 x@example.org'],
  ['given up after days', dsn(failed('4.4.1', '421 connection timed out')), 'failed 4.4.1 x@example.org'],
  ['Status with a comment', dsn(failed('5.1.1 (bad destination)', '550 x')), 'failed 5.1.1 x@example.org'],
  [
    'no diagnostic',
    dsn(['Final-Recipient: rfc822;x@example.org', 'Action: failed', 'Status: 5.0.0']),
    'failed 5.0.0 x@example.org',
  ],
  [
    'Action in capitals',
    dsn(['Final-Recipient: RFC822; x@example.org', 'ACTION: FAILED', 'STATUS: 5.1.1']),
    'failed 5.1.1 x@example.org',
  ],
  [
    'Action with a comment',
    dsn(['Final-Recipient: rfc822; x@example.org', 'Action: failed (hard)', 'Status: 5.1.1']),
    'failed 5.1.1 x@example.org',
  ],
  [
    'an address in brackets',
    dsn(['Final-Recipient: rfc822; <x@example.org>', 'Action: failed', 'Status: 5.1.1']),
    'failed 5.1.1 x@example.org',
  ],
  [
    'no type of address',
    dsn(['Final-Recipient: x@example.org', 'Action: failed', 'Status: 5.1.1']),
    'failed 5.1.1 x@example.org',
  ],
  [
    'an original recipient',
    dsn(['Original-Recipient: rfc822;list@example.org', ...failed('5.1.1', '550')]),
    'failed 5.1.1 list@example.org x@example.org',
  ],
  ['no address at all', dsn(['Final-Recipient: rfc822; ', 'Action: failed', 'Status: 5.1.1']), 'failed 5.1.1'],
  [
    'folded fields',
    dsn([
      'Final-Recipient: rfc822;',
      '\tx@example.org',
      'Action: failed',
      'Status: 5.1.1',
      'Diagnostic-Code: smtp;',
      ' 550',
      ' gone',
    ]),
    'failed 5.1.1 x@example.org',
  ],
  [
    'two recipients',
    dsn([...failed('5.1.1', '550'), '', ...failed('5.2.2', '552', 'y@example.org')]),
    'failed 5.1.1 x@example.org; failed 5.2.2 y@example.org',
  ],
  [
    'one failed, one delivered',
    dsn([
      ...failed('5.1.1', '550'),
      '',
      'Final-Recipient: rfc822; y@example.org',
      'Action: delivered',
      'Status: 2.0.0',
    ]),
    'failed 5.1.1 x@example.org; delivered 2.0.0 y@example.org',
  ],
  [
    'a subject like an answer does not hide it',
    dsn(failed('5.1.1', '550'), { subject: 'Automatic reply: Undeliverable' }),
    'failed 5.1.1 x@example.org',
  ],
  [
    'a warning',
    dsn(['Final-Recipient: rfc822; x@example.org', 'Action: delayed', 'Status: 4.4.1'], {
      subject: 'Delayed Mail (still being retried)',
    }),
    'delayed 4.4.1 x@example.org',
  ],
  [
    'a warning with Will-Retry-Until',
    dsn([
      'Final-Recipient: rfc822; x@example.org',
      'Action: delayed',
      'Status: 4.2.2',
      'Will-Retry-Until: Mon, 1 Jan 2024 00:00:00 +0000',
    ]),
    'delayed 4.2.2 x@example.org',
  ],
  [
    'delivered',
    dsn(['Final-Recipient: rfc822; x@example.org', 'Action: delivered', 'Status: 2.0.0'], {
      subject: 'Delivery report',
    }),
    'delivered 2.0.0 x@example.org',
  ],
  [
    'relayed',
    dsn(['Final-Recipient: rfc822; x@example.org', 'Action: relayed', 'Status: 2.0.0']),
    'relayed 2.0.0 x@example.org',
  ],
  [
    'expanded',
    dsn(['Final-Recipient: rfc822; x@example.org', 'Action: expanded', 'Status: 2.0.0']),
    'expanded 2.0.0 x@example.org',
  ],
  [
    'expanded, and yet a failure',
    dsn(['Final-Recipient: rfc822; x@example.org', 'Action: expanded', 'Status: 5.1.1']),
    '',
  ],
  [
    'failed with a status of success',
    dsn(['Final-Recipient: rfc822; x@example.org', 'Action: failed', 'Status: 2.0.0']),
    '',
  ],
  [
    'delivered with a status of failure',
    dsn(['Final-Recipient: rfc822; x@example.org', 'Action: delivered', 'Status: 5.1.1']),
    '',
  ],
  ['an action nobody knows', dsn(['Final-Recipient: rfc822; x@example.org', 'Action: exploded', 'Status: 5.1.1']), ''],
  ['no action', dsn(['Final-Recipient: rfc822; x@example.org', 'Status: 5.1.1']), ''],
  ['only the group of the message', dsn([]), ''],
  [
    'qmail',
    plain('failure notice', [
      'Hi. This is the qmail-send program at mx.example.org.',
      "I'm afraid I wasn't able to deliver your message to the following addresses.",
      '',
      '<x@example.org>:',
      'Sorry, no mailbox here by that name. (#5.1.1)',
      '',
      '--- Below this line is a copy of the message.',
      '',
      'Return-Path: <me@sender.example>',
    ]),
    'failed 5.1.1 x@example.org',
  ],
  [
    'qmail over the wire',
    plain('failure notice', [
      '<x@example.org>:',
      '192.0.2.1 does not like recipient.',
      'Remote host said: 550 5.1.1 unknown user',
      'Giving up on 192.0.2.1.',
      '',
      '--- Below this line is a copy of the message.',
      'to: <other@example.net>: 550 5.1.1',
    ]),
    'failed 5.1.1 x@example.org',
  ],
  [
    'Exim',
    plain(
      'Mail delivery failed: returning message to sender',
      [
        'This message was created automatically by mail delivery software.',
        '',
        'A message that you sent could not be delivered to one or more of its',
        'recipients. This is a permanent error. The following address(es) failed:',
        '',
        '  x@example.org',
        '    host mx.example.org [192.0.2.1]',
        '    SMTP error from remote mail server after RCPT TO:<x@example.org>:',
        '    550 5.1.1 No such user',
      ],
      ['X-Failed-Recipients: x@example.org', 'Auto-Submitted: auto-generated'],
    ),
    'failed 5.1.1 x@example.org',
  ],
  [
    'Exim: unrouteable',
    plain(
      'Mail delivery failed: returning message to sender',
      ['The following address(es) failed:', '', '  x@example.org', '    Unrouteable address'],
      ['X-Failed-Recipients: x@example.org'],
    ),
    'failed - x@example.org',
  ],
  [
    'Exim: a warning',
    plain('Warning: message 1abc-def delayed 24 hours', [
      'This message was created automatically by mail delivery software.',
      'A message that you sent has not yet been delivered to one or more of its',
      'recipients after more than 24 hours on the queue.',
      '  x@example.org',
      'No action is required on your part.',
    ]),
    'delayed - x@example.org',
  ],
  [
    'a warning of what would be said last',
    plain('Delayed mail', [
      'Your message to <x@example.org> waits: 550 5.7.1 was not said yet.',
      'We will retry for 3 days before reporting a permanent failure.',
    ]),
    'delayed 5.7.1 x@example.org',
  ],
  [
    'a warning that says what it is not',
    plain('Warning: message delayed', [
      'This is not a permanent error. The server tries again; it heard',
      '451 4.3.0 busy from the server of <x@example.org>',
    ]),
    'delayed 4.3.0 x@example.org',
  ],
  [
    'sendmail of before',
    plain('Returned mail: User unknown', [
      '   ----- The following addresses had permanent fatal errors -----',
      '<x@example.org>',
      '',
      '   ----- Transcript of session follows -----',
      '550 5.1.1 <x@example.org>... User unknown',
    ]),
    'failed 5.1.1 x@example.org',
  ],
  [
    'sendmail: a warning',
    plain('Warning: could not send message for past 4 hours', [
      '    **********************************************',
      '    **      THIS IS A WARNING MESSAGE ONLY      **',
      '    **  YOU DO NOT NEED TO RESEND YOUR MESSAGE  **',
      '<x@example.org>',
      '... Deferred: Connection timed out',
    ]),
    'delayed - x@example.org',
  ],
  [
    'Yahoo of before',
    plain('Failure Notice', [
      'Sorry, we were unable to deliver your message to the following address.',
      '',
      '<x@example.org>:',
      '554: delivery error: dd This user does not have an account 5.1.1',
    ]),
    'failed 5.1.1 x@example.org',
  ],
  [
    'X-Failed-Recipients alone',
    plain(
      'Delivery Status Notification (Failure)',
      [
        'Technical details of permanent failure:',
        'The error that the other server returned was: 550 5.1.1 no such user',
      ],
      ['X-Failed-Recipients: x@example.org'],
    ),
    'failed 5.1.1 x@example.org',
  ],
  [
    'in HTML alone',
    lines(
      'From: postmaster@example.org',
      'Subject: Undeliverable: hello',
      'Content-Type: text/html',
      '',
      '<p>Delivery has failed to:</p><p>&lt;x@example.org&gt;</p><p>550 5.1.1 not found</p>',
    ),
    'failed 5.1.1 x@example.org',
  ],
  [
    'in German',
    plain('Unzustellbar: Hallo', ['<x@example.org>', '550 5.1.1 Benutzer unbekannt']),
    'failed 5.1.1 x@example.org',
  ],
  [
    'sent by the postmaster, not by nobody',
    plain('Undeliverable: hello', ['<x@example.org>', '#5.1.1 smtp;550 unknown']),
    'failed 5.1.1 x@example.org',
    'postmaster@example.org',
  ],
  ['a notice without a reason', plain('Undeliverable', ['Sorry.']), ''],
  ['out of the office', plain('Out of office: hello', ['I am away. 550 5.1.1'], ['Auto-Submitted: auto-replied']), ''],
  [
    'a vacation with a null sender',
    lines(
      'From: x@example.org',
      'Subject: Automatic reply: hello',
      '',
      'I am away until Monday. Mail to <y@example.org>.',
    ),
    '',
  ],
  ['a vacation without a header', lines('From: x@example.org', 'Subject: On vacation', '', 'Back on 5.1.1'), ''],
  [
    'Abwesenheit',
    lines('From: x@example.org', 'Subject: Abwesenheitsnotiz', 'X-Autoreply: yes', '', 'Ich bin weg.'),
    '',
  ],
  [
    'a challenge',
    lines('From: mailer-daemon@example.org', 'Subject: Please confirm your message', '', 'Click here. 550 5.7.1'),
    '',
  ],
  ['a challenge with a header', plain('Delivery failed until confirmed', ['550 5.7.1'], ['X-Challenge: 1']), ''],
  [
    'a ticket',
    lines('From: support@example.org', 'Subject: [Ticket 5] delivery failure of your order', '', 'undeliverable 5.1.1'),
    '',
    'support@example.org',
  ],
  [
    'a person who writes of a bounce',
    lines('From: x@example.org', 'Subject: Undeliverable: hello', '', '<x@example.org>: 550 5.1.1 User unknown'),
    '',
    'x@example.org',
  ],
  [
    'a person who answers',
    lines(
      'From: postmaster@example.org',
      'Subject: Re: Undelivered Mail Returned to Sender',
      '',
      '<x@example.org>: 550 5.1.1',
    ),
    '',
  ],
  ['a mailing list', plain('Delivery failure statistics', ['550 5.1.1'], ['List-Id: <l.example.org>']), ''],
  [
    'a read receipt',
    lines(
      'From: x@example.org',
      'Subject: Read: hello',
      'Content-Type: multipart/report; report-type=disposition-notification; boundary=b',
      '',
      '--b',
      '',
      'Read.',
      '--b',
      'Content-Type: message/disposition-notification',
      '',
      'Final-Recipient: rfc822; x@example.org',
      'Disposition: manual-action/MDN-sent-manually; displayed',
      '--b--',
    ),
    '',
  ],
  [
    'a newsletter',
    lines('From: news@example.org', 'Subject: Our delivery report', '', 'We delivered 5.1.1 million parcels.'),
    '',
    'news@example.org',
  ],
  ['an empty message', '\r\n', ''],
  [
    'a complaint',
    arf(['Feedback-Type: abuse', 'User-Agent: X/1', 'Version: 1']),
    'complaint from b@send.sender.example',
  ],
  [
    'a complaint with an address',
    arf(['Feedback-Type: abuse', 'Original-Rcpt-To: <x@example.org>', 'Original-Mail-From: <b2@send.sender.example>']),
    'complaint x@example.org from b2@send.sender.example b@send.sender.example',
  ],
  ['a complaint in capitals', arf(['FEEDBACK-TYPE: Abuse', 'Version: 1']), 'complaint from b@send.sender.example'],
  ['a complaint without the message', arf(['Feedback-Type: abuse'], ['From: me@sender.example']), 'complaint from'],
  ['feedback: not-spam', arf(['Feedback-Type: not-spam']), ''],
  ['feedback: fraud', arf(['Feedback-Type: fraud']), ''],
  ['feedback: virus', arf(['Feedback-Type: virus']), ''],
  ['feedback: auth-failure', arf(['Feedback-Type: auth-failure', 'Auth-Failure: dmarc']), ''],
  ['feedback: other', arf(['Feedback-Type: other']), ''],
  ['feedback: opt-out', arf(['Feedback-Type: opt-out']), ''],
  [
    'a status with brackets that never close',
    dsn([`Final-Recipient: rfc822; ${TO}`, 'Action: failed', `Status: 5.0.0 ${'('.repeat(300_000)}`]),
    `failed 5.0.0 ${TO}`,
  ],
  [
    'HTML with a comment, a style and named references around the address',
    lines(
      'From: MAILER-DAEMON@mx.example.org',
      'Subject: Undeliverable: mine',
      'Auto-Submitted: auto-replied',
      'Content-Type: text/html',
      '',
      '<style>p > i { color: red }</style><!-- > other@example.org: no --><p>Delivery failed:</p>',
      `<p title="a > b">&lt;${TO.replace('@', '&commat;')}&gt;:&nbsp;550 5.1.1 unknown user</p>`,
    ),
    `failed 5.1.1 ${TO}`,
  ],
  ['feedback without a type', arf(['Version: 1']), ''],
  ['feedback of two types', arf(['Feedback-Type: not-spam', 'Feedback-Type: abuse']), ''],
];

const told = (report: MailReport): string => {
  if (report.kind === 'none') return '';
  if (report.kind === 'complaint') {
    return ['complaint', ...report.addresses, 'from', ...report.envelopeSenders].join(' ');
  }
  return report.recipients
    .map(({ action, status = '-', addresses }) => [action, status, ...addresses].join(' '))
    .join('; ');
};

test.each(TABLE)('the delivery report “%s” is read as expected', async (_, raw, says, from = '') => {
  const reading = await readMessage(Buffer.from(raw), { depthMax: 20, headerBytesMax: 100_000, partsMax: 100 });
  expect(told(readReport(reading, from))).toBe(says);
});

test('the table contains at least sixty delivery reports', () => expect(TABLE.length).toBeGreaterThanOrEqual(60));
