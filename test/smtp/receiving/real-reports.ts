import { COMMERCIAL, MISLEADING } from './commercial-reports.ts';
import { lines, postfix, report, STANDARD, type RealReport } from './standard-reports.ts';

const OLDER: RealReport[] = [
  {
    name: 'qmail',
    raw: lines(
      'From: MAILER-DAEMON@mx.dest.example',
      'Subject: failure notice',
      '',
      'Hi. This is the qmail-send program at mx.dest.example.',
      "I'm afraid I wasn't able to deliver your message to the following addresses.",
      "This is a permanent error; I've given up. Sorry it didn't work out.",
      '',
      '<TO>:',
      'Sorry, no mailbox here by that name. (#5.1.1)',
      '',
      '--- Below this line is a copy of the message.',
      '',
      'Subject: Out',
    ),
    becomes: 'bounced and suppressed',
  },
  {
    name: 'Exim as it was',
    raw: lines(
      'From: Mail Delivery System <Mailer-Daemon@mx.dest.example>',
      'X-Failed-Recipients: TO',
      'Subject: Mail delivery failed: returning message to sender',
      '',
      'A message that you sent could not be delivered to one or more of its',
      'recipients. This is a permanent error. The following address(es) failed:',
      '',
      '  TO',
      '    SMTP error from remote mail server after RCPT TO:<TO>:',
      '    host inner.dest.example [10.0.0.5]: 550 5.1.1 <TO>: User unknown',
      '',
      '------ This is a copy of the message, including all the headers. ------',
    ),
    becomes: 'bounced and suppressed',
  },
  {
    name: 'Exim: a warning',
    raw: lines(
      'From: Mail Delivery System <Mailer-Daemon@mx.dest.example>',
      'Subject: Warning: message 1xyZ-0001-AB delayed 24 hours',
      '',
      'The message has not yet been delivered. The address to which it was sent is:',
      '',
      '  TO',
      '    Delay reason: Connection timed out',
      '',
      'No action is required on your part.',
    ),
    becomes: 'delayed',
  },
  {
    name: 'Yahoo as it was',
    raw: lines(
      'From: MAILER-DAEMON@yahoo.com',
      'Subject: Failure Notice',
      '',
      'Sorry, we were unable to deliver your message to the following address.',
      '',
      '<TO>:',
      '550: 5.1.1 delivery error: dd This user does not have a yahoo.com account (TO) [0] - mta1',
      '',
      '--- Below this line is a copy of the message.',
    ),
    becomes: 'bounced and suppressed',
  },
  {
    name: 'GMX and 1&1',
    raw: lines(
      'From: "GMX Mailer Daemon" <mailer-daemon@gmx.net>',
      'Subject: Mail delivery failed: returning message to sender',
      '',
      'This message was created automatically by mail delivery software.',
      'A message that you sent could not be delivered to one or more of its recipients.',
      'The following address failed:',
      '',
      'TO:',
      'SMTP error from remote server for RCPT TO command, host: inner.dest.example (10.0.0.5) reason: 550 5.1.1 unknown',
    ),
    becomes: 'bounced and suppressed',
  },
  {
    name: 'MDaemon',
    raw: lines(
      'From: MDaemon@dest.example',
      'Subject: Warning: TO - User unknown!',
      '',
      'The attached message had PERMANENT fatal delivery errors!',
      '',
      'Failed address: TO',
      '--- Session Transcript ---',
      '550 5.1.1 <TO>, Recipient unknown',
    ),
    becomes: 'bounced and suppressed',
  },
];

const failed = (...fields: string[]): string =>
  report({
    head: [...postfix, 'Subject: Undelivered Mail Returned to Sender'],
    status: ['Reporting-MTA: dns; x', ...fields.flatMap((field) => ['', field, 'Action: failed', 'Status: 5.1.1'])],
  });

/** The return path says which address they are about; only one that names it as the final one suppresses it. */
const BEHIND_THE_ADDRESS: RealReport[] = [
  {
    name: 'a final recipient that is another address, as where a mailbox forwards',
    raw: failed('Final-Recipient: rfc822; moved@elsewhere.example'),
    becomes: 'bounced',
  },
  {
    name: 'a member of an alias, with the alias as the original recipient',
    raw: failed('Original-Recipient: rfc822; TO\nFinal-Recipient: rfc822; member@elsewhere.example'),
    becomes: 'bounced',
  },
  {
    name: 'two members of an alias',
    raw: failed('Final-Recipient: rfc822; one@elsewhere.example', 'Final-Recipient: rfc822; two@elsewhere.example'),
    becomes: 'bounced',
  },
  {
    name: 'a member of an alias, and the address itself',
    raw: failed('Final-Recipient: rfc822; one@elsewhere.example', 'Final-Recipient: rfc822; TO'),
    becomes: 'bounced and suppressed',
  },
  {
    name: 'no recipient at all',
    raw: failed('X-Actual-Recipient: somebody'),
    becomes: 'bounced and suppressed',
  },
  {
    name: 'qmail of an address behind the one that we sent to',
    raw: lines(
      'From: MAILER-DAEMON@mx.elsewhere.example',
      'Subject: failure notice',
      '',
      '<moved@elsewhere.example>:',
      'Sorry, no mailbox here by that name. (#5.1.1)',
    ),
    becomes: 'bounced',
  },
];

const FORGED: RealReport[] = [
  {
    name: 'a report of one of several at the destination, which any of them could have written',
    isShared: true,
    raw: report({
      head: [...postfix, 'Subject: Undelivered Mail Returned to Sender'],
      status: ['Reporting-MTA: dns; x', '', 'Final-Recipient: rfc822; TO', 'Action: failed', 'Status: 5.1.1'],
    }),
    becomes: 'bounced',
  },
  {
    name: 'a report whose every recipient is somebody else, among several at the destination',
    isShared: true,
    raw: report({
      head: [...postfix, 'Subject: Undelivered Mail Returned to Sender'],
      status: [
        'Reporting-MTA: dns; x',
        '',
        'Final-Recipient: rfc822; victim@example.net',
        'Action: expanded',
        'Status: 2.0.0',
      ],
    }),
    becomes: 'nothing',
  },
  {
    name: 'a report within the text of an answer',
    from: 'somebody@dest.example',
    raw: lines(
      'From: somebody@dest.example',
      'Subject: Re: Out',
      '',
      'Final-Recipient: rfc822; TO',
      'Action: failed',
      'Status: 5.1.1',
    ),
    becomes: 'nothing',
  },
  {
    name: 'a report attached to a letter of a person',
    from: 'somebody@dest.example',
    raw: lines(
      'From: somebody@dest.example',
      'Subject: Fwd: Undelivered Mail Returned to Sender',
      'Content-Type: multipart/mixed; boundary=m',
      '',
      '--m',
      'Content-Type: text/plain',
      '',
      'Look what I got.',
      '--m',
      'Content-Type: message/rfc822',
      '',
      'Content-Type: multipart/report; report-type=delivery-status; boundary=r',
      '',
      '--r',
      'Content-Type: message/delivery-status',
      '',
      'Reporting-MTA: dns; x',
      '',
      'Final-Recipient: rfc822; TO',
      'Action: failed',
      'Status: 5.1.1',
      '--r--',
      '--m--',
    ),
    becomes: 'nothing',
  },
  {
    name: 'an action that a blank line sets apart from its recipient',
    isShared: true,
    raw: report({
      head: [...postfix, 'Subject: Undelivered Mail Returned to Sender'],
      status: [
        'Reporting-MTA: dns; x',
        '',
        'Final-Recipient: rfc822; TO',
        '   ',
        'Action: failed (it is gone)',
        'Status: 5.1.1',
      ],
    }),
    becomes: 'nothing',
  },
  {
    name: 'a permanent action with a transient status',
    raw: report({
      head: [...postfix, 'Subject: Undelivered Mail Returned to Sender'],
      status: ['Reporting-MTA: dns; x', '', 'Final-Recipient: rfc822; TO', 'Action: failed', 'Status: 4.4.7'],
    }),
    becomes: 'bounced',
  },
  {
    name: 'a complaint of a kind that is none',
    raw: lines(
      'From: fbl@provider.example',
      'Content-Type: multipart/report; report-type=feedback-report; boundary=b',
      '',
      '--b',
      'Content-Type: message/feedback-report',
      '',
      'Feedback-Type: not-spam',
      'Original-Rcpt-To: <TO>',
      '--b--',
    ),
    becomes: 'nothing',
  },
];

const LOOK_ALIKES: RealReport[] = [
  [
    'out of the office, Exchange',
    ['Subject: Automatic reply: Out', 'X-Auto-Response-Suppress: All', 'Auto-Submitted: auto-generated'],
  ],
  [
    'out of the office, Gmail',
    ['Subject: Re: Out', 'Precedence: bulk', 'X-Autoreply: yes', 'Auto-Submitted: auto-replied'],
  ],
  ['Sieve vacation', ['Subject: Auto: Out', 'Auto-Submitted: auto-replied (vacation)']],
  ['a challenge', ['Subject: Please confirm your message', 'Auto-Submitted: auto-replied']],
  ['a ticket', ['Subject: [Ticket #4711] We have received your message', 'X-Autoreply: yes']],
  ['a read receipt', ['Subject: Read: Out']],
  ['a mailing list that bounces on members', ['Subject: Delivery failure digest', 'List-Id: <members.dest.example>']],
].map(([name, head]) => ({
  name: name as string,
  raw: lines(`From: <TO>`, ...(head as string[]), '', 'I am away. My old address TO is gone: 550 5.1.1 user unknown.'),
  becomes: 'nothing',
}));

export const REAL_REPORTS: RealReport[] = [
  ...STANDARD,
  ...OLDER,
  ...COMMERCIAL,
  ...MISLEADING,
  ...BEHIND_THE_ADDRESS,
  ...FORGED,
  ...LOOK_ALIKES,
];
