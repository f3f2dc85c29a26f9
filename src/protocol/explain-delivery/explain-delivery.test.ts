import { expect, it } from 'vitest';
import { explainDelivery, type Ended } from './index.ts';

const refused = (reply: string): Ended => ({ outcome: 'bounced', reason: 'refused', reply });
const later = (reply: string): Ended => ({ outcome: 'deferred', reason: 'refused_for_now', reply });
const ours = (outcome: Ended['outcome'], reason: string | null): Ended => ({ outcome, reason, reply: null });

it.each<[Ended, RegExp, RegExp | null]>([
  [{ outcome: 'delivered', reason: null, reply: '250 2.0.0 OK queued as 4F2' }, /took the message/, null],
  [later('450 4.2.0 <a@b.example>: Recipient address rejected: Greylisted'), /greylisting/, /Nothing to do/],
  [later('451 4.7.1 Please try again in 300 seconds'), /greylisting/, /Nothing to do/],
  [later('421 4.7.28 Our system has detected an unusual rate of mail'), /only slowly/, /send less/],
  [later('421 4.7.0 [TSS04] Messages temporarily deferred due to user complaints'), /only slowly/, /send less/],
  [later('452 4.2.2 The email account that you tried to reach is over quota'), /full/, /another way/],
  [later('421 4.3.2 System not accepting network messages'), /problem of its own/, /tried again/],
  [
    refused('554 5.7.1 Service unavailable; client host blocked using zen.spamhaus.org'),
    /blocklist/,
    /link in the reply/,
  ],
  [
    refused('550 5.7.25 The IP address sending this message does not have a PTR record'),
    /reverse DNS/,
    /instance\.host/,
  ],
  [
    refused('550 5.7.26 Unauthenticated email is not accepted due to the domain’s DMARC policy'),
    /DMARC/,
    /domains get/,
  ],
  [
    refused('550 5.7.26 Your email has been blocked because the sender is unauthenticated; use SPF or DKIM'),
    /could not make sure who sent it/,
    /domains get/,
  ],
  [
    later('450 4.1.8 <a@b.example>: Sender address rejected: Domain not found'),
    /the sender’s address/,
    /sending domain/,
  ],
  [refused('550 5.4.1 Recipient address rejected: Access denied'), /no such mailbox/, /typing mistake/],
  [refused('550 5.2.0 The mailbox has been removed'), /closed or not in use/, /Remove/],
  [refused('554 5.7.1 Message rated as spam'), /spam/, /text and links/],
  [refused('550 5.7.23 SPF validation failed'), /SPF/, /domains get/],
  [refused('550 5.7.20 No passing DKIM signature found'), /DKIM/, /published key/],
  [refused('550 5.7.1 Our system has detected a low sending reputation of your IP'), /thinks badly/, /slowly/],
  [refused('554 5.7.1 Virus found in message'), /virus/, /attachments/],
  [
    refused('552 5.7.0 This message was blocked because its content presents a potential security issue'),
    /attachments/,
    /link/,
  ],
  [refused('554 5.7.1 Message rejected as spam by content scanning'), /spam/, /text and links/],
  [refused('552 5.2.2 Mailbox full'), /full/, /another way/],
  [refused('552 5.3.4 Message size exceeds fixed maximum message size'), /larger/, /smaller/],
  [refused('550 5.2.1 The email account that you tried to reach is inactive'), /closed/, /Remove/],
  [refused('551 5.1.6 User has moved to new@example.com'), /moved/, /new address/],
  [refused('550 5.7.1 Relaying denied'), /does not take mail for it/, /MX record/],
  [refused('554 5.4.6 Too many hops'), /circle/, /forwarding/],
  [refused('530 5.7.10 Must issue a STARTTLS command first'), /encrypted/, /transcript/],
  [refused('550 5.1.1 The email account that you tried to reach does not exist'), /no such mailbox/, /typing mistake/],
  [refused('550 No such user here'), /no such mailbox/, /typing mistake/],
  [
    refused('550 5.7.133 RESOLVER.RST.SenderNotAuthenticatedForGroup; only accepts mail from people inside'),
    /rule/,
    /exception/,
  ],
  [refused('554 5.7.1 <a@b.example>: Recipient address rejected: Access denied'), /rule/, /administrator/],
  [refused('554 5.6.0 Corrupt message'), /of this form/, /plain text/],
  [refused('571 No'), /refused the message for good/, /reply says why/],
  [later('450 Later'), /for now/, /tried again/],
  [ours('deferred', 'dns_failure'), /name server/, /tried again/],
  [ours('deferred', 'unreachable'), /connected to/, /port 25/],
  [ours('deferred', 'destination_down'), /a moment before/, /tried again/],
  [ours('deferred', 'timeout'), /in time/, /tried again/],
  [ours('deferred', 'connection_lost'), /closed the connection/, /tried again/],
  [ours('deferred', 'tls_unavailable'), /encrypted connection/, /opportunistic/],
  [ours('deferred', 'domain_unverified'), /not verified/, /DNS records/],
  [ours('bounced', 'no_such_domain'), /does not exist/, /behind the @/],
  [ours('bounced', 'takes_no_mail'), /takes no mail/, /Remove/],
  [ours('bounced', 'too_large'), /larger/, /smaller/],
  [ours('bounced', 'routing_loop'), /this very server/, /MX record/],
  [ours('bounced', 'blocked_address'), /may not connect/, /mail_allow_private/],
  [ours('bounced', 'smtputf8_unsupported'), /letters/, /plain letters/],
  [ours('suppressed', null), /suppression list/, /suppressions remove/],
  [ours('failed', 'ambiguous_submission'), /handed over/, /Ask the recipient/],
  [ours('failed', 'domain_removed'), /removed/, /send anew/],
  [ours('failed', 'dropped_by_operator'), /operator/, /Ask the operator/],
  [ours('ambiguous', null), /may have arrived/, /never sent a second time/],
])('%j', (ended, sentence, advice) => {
  const explained = explainDelivery(ended);
  expect(explained.sentence).toMatch(sentence);
  if (advice === null) expect(explained.advice).toBeNull();
  else expect(explained.advice).toMatch(advice);
});

it('nothing that was given up is said to be tried again', () => {
  expect(explainDelivery(refused('550 5.3.2 System not accepting messages')).advice).not.toMatch(/tried again/);
});
