import { expect, test } from 'vitest';
import { bounceRules } from './bounce-rules.ts';
import { ReplyParser, bounceOf } from './index.ts';

test.each([
  ['550 5.1.1 The email account that you tried to reach does not exist', 'Permanent', 'NoEmail'],
  ['556 5.1.10 Recipient address has null MX', 'Permanent', 'NoEmail'],
  ['550 5.1.2 Bad destination system', 'Permanent', 'NoEmail'],
  ['550 No such user here', 'Permanent', 'NoEmail'],
  ['550 Requested action not taken: mailbox unavailable', 'Permanent', 'General'],
  ["554 delivery error: dd This user doesn't have a yahoo.com account", 'Permanent', 'NoEmail'],
  ['550 5.7.1 Recipient address rejected: user unknown', 'Permanent', 'NoEmail'],
  ['550 5.2.1 The email account that you tried to reach is inactive', 'Permanent', 'General'],
  ['552 5.2.2 Over quota', 'Transient', 'MailboxFull'],
  ['552 Mailbox full', 'Transient', 'MailboxFull'],
  ['552 5.3.4 Message size exceeds fixed limit', 'Transient', 'MessageTooLarge'],
  ['552 message size exceeds the maximum', 'Transient', 'MessageTooLarge'],
  [
    '552 5.7.0 This message was blocked because its content presents a potential security issue',
    'Transient',
    'AttachmentRejected',
  ],
  ['554 5.7.1 Message rejected as spam', 'Transient', 'ContentRejected'],
  ['550 Service unavailable; client host blocked using zen.spamhaus.org', 'Transient', 'ContentRejected'],
  ['554 5.6.1 Media not supported', 'Transient', 'ContentRejected'],
  ['550 5.7.1 Relaying denied', 'Transient', 'ContentRejected'],
  ['550 5.7.26 Unauthenticated mail from a domain with a DMARC policy', 'Transient', 'General'],
  ['554 5.4.6 Routing loop', 'Undetermined', 'Undetermined'],
  ['554 Transaction failed', 'Undetermined', 'Undetermined'],
  ['521 Server does not accept mail', 'Permanent', 'NoEmail'],
  ['452 4.2.2 Mailbox full', 'Transient', 'MailboxFull'],
  ['450 4.1.1 User unknown', 'Transient', 'NoEmail'],
  ['451 4.3.0 Try again later', 'Transient', 'General'],
  ['250 OK', 'Undetermined', 'Undetermined'],
])('%s is %s/%s', (line, type, subType) => {
  const [reply] = new ReplyParser().push(Buffer.from(`${line}\r\n`));
  expect(reply && bounceOf(reply)).toEqual({ type, subType });
});

test('every rule says why', () => {
  for (const rule of bounceRules) expect(rule.why).toMatch(/\S/);
});
