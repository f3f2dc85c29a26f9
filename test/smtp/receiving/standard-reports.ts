/** A message that comes back to a return path, in the form in which mail servers and programs write it. TO stands for the recipient. */
export interface RealReport {
  name: string;
  raw: string;
  becomes: 'bounced' | 'bounced and suppressed' | 'delayed' | 'nothing';
  /** Somebody else at the destination has seen the same return path. */
  isShared?: true;
  /** The sender of its envelope, where it is not the empty one. */
  from?: string;
}

export const lines = (...all: string[]): string => `${all.join('\n')}\n`;

interface Parts {
  head: string[];
  text?: string[];
  status: string[];
  type?: string;
  more?: string[];
}

/** RFC 3464 with what a server puts around it. */
export const report = ({
  head,
  text = ['It did not work.'],
  status,
  type = 'message/delivery-status',
  more = [],
}: Parts) =>
  lines(
    ...head,
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=delivery-status;',
    '\tboundary="=_report"',
    '',
    'This is a MIME-encapsulated message.',
    '',
    '--=_report',
    'Content-Type: text/plain; charset=us-ascii',
    '',
    ...text,
    '',
    '--=_report',
    'Content-Description: Delivery report',
    `Content-Type: ${type}`,
    '',
    ...status,
    '',
    ...more,
    '--=_report--',
  );

export const postfix = ['From: MAILER-DAEMON@mail.dest.example (Mail Delivery System)', 'Auto-Submitted: auto-replied'];

export const STANDARD: RealReport[] = [
  {
    name: 'Postfix: user unknown',
    raw: report({
      head: [...postfix, 'Subject: Undelivered Mail Returned to Sender'],
      text: ['<TO>: host 10.0.0.5[10.0.0.5] said: 550 5.1.1 <TO>: Recipient address rejected: User unknown'],
      status: [
        'Reporting-MTA: dns; mail.dest.example',
        'X-Postfix-Queue-ID: 4Xb9Yt1Qm2z4',
        'X-Postfix-Sender: rfc822; b-1@send.example',
        'Arrival-Date: Mon, 23 Nov 2026 07:01:02 +0000 (UTC)',
        '',
        'Final-Recipient: rfc822; TO',
        'Original-Recipient: rfc822;TO',
        'Action: failed',
        'Status: 5.1.1',
        'Remote-MTA: dns; 10.0.0.5',
        'Diagnostic-Code: smtp; 550 5.1.1 <TO>: Recipient address rejected: User',
        '    unknown in virtual mailbox table',
      ],
      more: ['--=_report', 'Content-Type: message/rfc822', '', 'Subject: mine', '', 'text'],
    }),
    becomes: 'bounced and suppressed',
  },
  {
    name: 'Postfix: delayed',
    raw: report({
      head: [...postfix, 'Subject: Delayed Mail (still being retried)'],
      text: ['# THIS IS A WARNING ONLY.  YOU DO NOT NEED TO RESEND YOUR MESSAGE. #', '<TO>: connection timed out'],
      status: [
        'Reporting-MTA: dns; mail.dest.example',
        '',
        'Final-Recipient: rfc822; TO',
        'Action: delayed',
        'Status: 4.4.1',
        'Diagnostic-Code: X-Postfix; connect to inner.dest.example[10.0.0.5]:25: Connection timed out',
        'Will-Retry-Until: Sat, 28 Nov 2026 07:01:02 +0000 (UTC)',
      ],
    }),
    becomes: 'delayed',
  },
  {
    name: 'Postfix: an address in UTF-8',
    raw: report({
      head: [...postfix, 'Subject: Undelivered Mail Returned to Sender'],
      type: 'message/global-delivery-status',
      status: [
        'Reporting-MTA: dns; mail.dest.example',
        '',
        'Final-Recipient: utf-8; TO',
        'Original-Recipient: utf-8;TO',
        'Action: failed',
        'Status: 5.1.1',
      ],
    }),
    becomes: 'bounced and suppressed',
  },
  {
    name: 'Gmail: the address was not found',
    raw: report({
      head: [
        'From: Mail Delivery Subsystem <mailer-daemon@googlemail.com>',
        'To: b-1@send.example',
        'Auto-Submitted: auto-replied',
        'Subject: Delivery Status Notification (Failure)',
        'X-Failed-Recipients: TO',
        'References: <out@send.example>',
        'In-Reply-To: <out@send.example>',
      ],
      text: [
        '** Address not found **',
        '',
        "Your message wasn't delivered to TO because the address couldn't be found.",
      ],
      status: [
        'Reporting-MTA: dns; googlemail.com',
        'Received-From-MTA: dns; b-1@send.example',
        'Arrival-Date: Sun, 22 Nov 2026 23:01:02 -0800 (PST)',
        'X-Original-Message-ID: <out@send.example>',
        '',
        'Final-Recipient: rfc822; TO',
        'Action: failed',
        'Status: 5.1.1',
        'Remote-MTA: dns; gmail-smtp-in.l.google.com. (142.250.1.26, the server for',
        ' the domain gmail.com.)',
        'Diagnostic-Code: smtp; 550-5.1.1 The email account that you tried to reach does not exist. Please try',
        " 550-5.1.1 double-checking the recipient's email address for typos or",
        ' 550 5.1.1 unnecessary spaces. NoSuchUser a1-20020a170902xyz.1 - gsmtp',
        'Last-Attempt-Date: Sun, 22 Nov 2026 23:01:03 -0800 (PST)',
      ],
    }),
    becomes: 'bounced and suppressed',
  },
  {
    name: 'Gmail: not yet',
    raw: report({
      head: [
        'From: Mail Delivery Subsystem <mailer-daemon@googlemail.com>',
        'Auto-Submitted: auto-replied',
        'Subject: Delivery Status Notification (Delay)',
      ],
      status: [
        'Reporting-MTA: dns; googlemail.com',
        '',
        'Final-Recipient: rfc822; TO',
        'Action: delayed',
        'Status: 4.4.1',
        'Diagnostic-Code: smtp; The recipient server did not accept our requests to connect.',
        'Will-Retry-Until: Wed, 25 Nov 2026 23:01:02 -0800 (PST)',
      ],
    }),
    becomes: 'delayed',
  },
  {
    name: 'Exchange Online: no such recipient',
    raw: report({
      head: [
        'From: Microsoft Outlook <MicrosoftExchange329e71ec88ae4615bbc36ab6ce41109e@dest.example>',
        'Subject: Undeliverable: Out',
        'Auto-Submitted: auto-replied',
        'X-MS-Exchange-Message-Is-Ndr:',
      ],
      status: [
        'Reporting-MTA: dns;AM0PR01MB1234.eurprd01.prod.exchangelabs.com',
        'Received-From-MTA: dns;mail.example',
        'Arrival-Date: Mon, 23 Nov 2026 07:01:02 +0000',
        '',
        'Final-Recipient: rfc822;TO',
        'Action: failed',
        'Status: 5.1.10',
        'Diagnostic-Code: smtp;550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup',
      ],
    }),
    becomes: 'bounced and suppressed',
  },
  {
    name: 'Exchange: the mailbox is full',
    raw: report({
      head: ['From: postmaster@dest.example', 'Subject: Unzustellbar: Out'],
      status: [
        'Reporting-MTA: dns;EX01.dest.example',
        '',
        'Final-recipient: RFC822; TO',
        'Action: failed',
        'Status: 5.2.2',
        'Diagnostic-Code: smtp;554 5.2.2 mailbox full; STOREDRV.Deliver.Exception:QuotaExceededException',
        'X-Display-Name: Somebody',
      ],
    }),
    becomes: 'bounced',
  },
  {
    name: 'Exim with RFC 3464',
    raw: report({
      head: [
        'From: Mail Delivery System <Mailer-Daemon@mx.dest.example>',
        'X-Failed-Recipients: TO',
        'Auto-Submitted: auto-replied',
        'Subject: Mail delivery failed: returning message to sender',
      ],
      status: [
        'Reporting-MTA: dns; mx.dest.example',
        '',
        'Action: failed',
        'Final-Recipient: rfc822;TO',
        'Status: 5.0.0',
        'Remote-MTA: dns; inner.dest.example',
        'Diagnostic-Code: smtp; 550 5.1.1 <TO>: User unknown',
      ],
    }),
    becomes: 'bounced and suppressed',
  },
  {
    name: 'sendmail',
    raw: report({
      head: [
        'From: Mail Delivery Subsystem <MAILER-DAEMON@mx.dest.example>',
        'Subject: Returned mail: see transcript for details',
        'Auto-Submitted: auto-generated (failure)',
      ],
      text: ['   ----- The following addresses had permanent fatal errors -----', '<TO>', '    (reason: 550 5.1.1)'],
      status: [
        'Reporting-MTA: dns; mx.dest.example',
        'Received-From-MTA: DNS; mail.example',
        '',
        'Final-Recipient: RFC822; TO',
        'Action: failed',
        'Status: 5.1.1',
        'Remote-MTA: DNS; inner.dest.example',
        'Diagnostic-Code: SMTP; 550 5.1.1 <TO>... User unknown',
        'Last-Attempt-Date: Mon, 23 Nov 2026 07:01:02 GMT',
      ],
    }),
    becomes: 'bounced and suppressed',
  },
  {
    name: 'Lotus Domino',
    raw: report({
      head: ['From: Postmaster@dest.example', 'Subject: DELIVERY FAILURE: User x (TO) not listed in Domino Directory'],
      status: [
        'Reporting-MTA: dns;DOMINO01.dest.example',
        '',
        'Final-Recipient: rfc822;TO',
        'Action: failed',
        'Status: 5.1.1',
        'Diagnostic-Code: X-Notes; User x (TO) not listed in Domino Directory',
      ],
    }),
    becomes: 'bounced and suppressed',
  },
  {
    name: 'Amazon, for whoever sends through it',
    raw: report({
      head: ['From: MAILER-DAEMON@amazonses.com', 'Subject: Delivery Status Notification (Failure)'],
      text: ['An error occurred while trying to deliver the mail to the following recipients:', 'TO'],
      status: [
        'Reporting-MTA: dns; a8-50.smtp-out.amazonses.com',
        '',
        'Action: failed',
        'Final-Recipient: rfc822; TO',
        'Diagnostic-Code: smtp; 550 5.1.1 user unknown',
        'Status: 5.1.1',
      ],
    }),
    becomes: 'bounced and suppressed',
  },
  {
    name: 'iCloud: over quota',
    raw: report({
      head: [...postfix, 'Subject: Undelivered Mail Returned to Sender'],
      status: [
        'Reporting-MTA: dns; st11p00im-smtpin.mac.com',
        '',
        'Final-Recipient: rfc822; TO',
        'Action: failed',
        'Status: 5.2.2',
        'Diagnostic-Code: smtp; 552 5.2.2 <TO>: user is over quota',
      ],
    }),
    becomes: 'bounced',
  },
  {
    name: 'Courier',
    raw: report({
      head: [
        'From: "Courier mail server at mx.dest.example" <postmaster@mx.dest.example>',
        'Subject: NOTICE: mail delivery status.',
      ],
      status: [
        'Reporting-MTA: dns; mx.dest.example',
        '',
        'Final-Recipient: rfc822; TO',
        'Action: failed',
        'Status: 5.0.0',
        'Diagnostic-Code: unknown; 550 User unknown.',
      ],
    }),
    becomes: 'bounced and suppressed',
  },
];
