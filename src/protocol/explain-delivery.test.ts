import { expect, it } from 'vitest';
import { explainDelivery, type Ended } from './explain-delivery.ts';

const refused = (reply: string): Ended => ({ outcome: 'bounced', reason: 'refused', reply });
const later = (reply: string): Ended => ({ outcome: 'deferred', reason: 'refused_for_now', reply });
const ours = (outcome: Ended['outcome'], reason: string | null): Ended => ({ outcome, reason, reply: null });

const CASES: [Ended, RegExp, RegExp | null][] = [
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
    /[Dd]omain shows/,
  ],
  [
    refused('550 5.7.26 Your email has been blocked because the sender is unauthenticated; use SPF or DKIM'),
    /could not make sure who sent it/,
    /[Dd]omain shows/,
  ],
  [
    later('450 4.1.8 <a@b.example>: Sender address rejected: Domain not found'),
    /the sender’s address/,
    /sending domain/,
  ],
  [refused('550 5.4.1 Recipient address rejected: Access denied'), /no such mailbox/, /typing mistake/],
  [refused('550 5.2.0 The mailbox has been removed'), /closed or not in use/, /Remove/],
  [refused('554 5.7.1 Message rated as spam'), /spam/, /text and links/],
  [refused('550 5.7.23 SPF validation failed'), /SPF/, /[Dd]omain shows/],
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
  [refused('571 No'), /refused the message for good/, /all that it said/],
  [refused('554 Transaction failed'), /refused the message for good/, /administrator can say more/],
  [refused('550 5.1.0 Address rejected'), /refused the message for good/, /administrator can say more/],
  [refused('550 Administrative prohibition'), /A rule/, /administrator/],
  [later('450 Requested mail action not taken: mailbox unavailable'), /busy or locked/, /tried again/],
  [later('450 4.2.1 The account is temporarily disabled'), /busy or locked/, /tried again/],
  [
    later('450 4.1.1 <a@b.example>: Recipient address rejected: unverified address: Address verification in progress'),
    /not know yet/,
    /tried again/,
  ],
  [later('450 4.1.1 <a@b.example>: Recipient address rejected: User unknown'), /not know yet/, /typing mistake/],
  [later('451 4.7.1 Try again later'), /greylisting.* limit/, /tried again/],
  [later('450 4.7.1 <a@b.example>: Recipient address rejected: Service is unavailable'), /greylisting/, /tried again/],
  [later('450 4.7.1 <mx.example.com>: Helo command rejected: Host not found'), /limit or rule/, /may name the rule/],
  [refused('550 Mail from 192.0.2.1 refused, see https://b.example/lookup'), /for good/, /all that it said/],
  [
    later('450 4.1.7 <a@b.example>: Sender address rejected: unverified address: Address verification in progress'),
    /not make sure yet/,
    /tried again/,
  ],
  [later('451 4.4.0 DNS failure resolving sender domain'), /sending domain in DNS/, /name servers.*tried again/],
  [later('421 4.4.2 mx.b.example Error: timeout exceeded'), /broke off/, /tried again/],
  [later('451 4.4.4 Unable to route'), /for now/, /tried again/],
  [later('452 4.5.3 Too many recipients'), /one transaction.* next/, /tried again/],
  [later('552 5.5.3 Too many recipients'), /one transaction.* next/, /tried again/],
  [refused('550 5.5.3 Too many recipients'), /one transaction.* next/, /given up/],
  [later('450 4.7.1 Too many recipients in the last hour'), /only slowly/, /send less/],
  [refused('556 5.1.10 Domain does not accept mail (nullMX)'), /takes no mail at all/, /Remove/],
  [refused('550 5.1.10 RESOLVER.ADR.RecipientNotFound; not found'), /no such mailbox/, /typing mistake/],
  [refused('550 5.7.27 Sender address has null MX'), /the sender’s address/, /sending domain/],
  [
    refused('550 5.7.606 Access denied, banned sending IP [192.0.2.1]; visit https://delist.example/'),
    /is banned/,
    /delisting at the link in the reply/,
  ],
  [
    refused(
      '550 5.7.515 Access denied, sending domain b.example does not meet the required authentication level. Spf= Fail , Dkim= Pass , DMARC= Fail',
    ),
    /SPF, DKIM and DMARC/,
    /[Dd]omain shows/,
  ],
  [later('450 Later'), /for now/, /tried again/],
  [ours('deferred', 'dns_failure'), /name server/, /domain’s owner/],
  [ours('deferred', 'resolver_failure'), /Our resolver did not answer/, /tried again.*rasket doctor/],
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
  [ours('suppressed', null), /suppression list/, /off that list/],
  [ours('failed', 'ambiguous_submission'), /handed over/, /Ask the recipient/],
  [ours('failed', 'domain_removed'), /removed/, /send anew/],
  [ours('failed', 'dropped_by_operator'), /operator/, /Ask the operator/],
  [ours('failed', 'broadcast_canceled'), /canceled while it was held/, null],
  [ours('ambiguous', null), /may have arrived/, /never sent a second time/],
];

it.each(CASES)('the explanation of the outcome %j is as expected', (ended, sentence, advice) => {
  const explained = explainDelivery(ended);
  expect(explained.sentence).toMatch(sentence);
  if (advice === null) expect(explained.advice).toBeNull();
  else expect(explained.advice).toMatch(advice);
});

it('a message that the playground caught went nowhere, and a mail server named “playground” is not mistaken for it', () => {
  const caught: Ended = { outcome: 'delivered', reason: null, reply: '250 2.0.0 Kept in the playground' };
  expect(explainDelivery(caught, { mx: 'playground', address: null }).sentence).toMatch(/playground.*nowhere/);
  expect(explainDelivery(caught, { mx: 'playground', address: '192.0.2.1' }).sentence).toMatch(/took the message/);
});

it('a message to the simulator never left this server, and a mail server that replies the same is not mistaken for it', () => {
  const answered: Ended = { outcome: 'delivered', reason: null, reply: '250 2.0.0 Delivered by the mailbox simulator' };
  const mx = 'simulator.example.com';
  expect(explainDelivery(answered, { mx, address: null }).sentence).toMatch(/simulator.*nothing left/);
  expect(explainDelivery(answered, { mx, address: '192.0.2.1' }).sentence).toMatch(/took the message/);
});

it('the explanation of a delivery that was given up does not say that it is retried', () => {
  expect(explainDelivery(refused('550 5.3.2 System not accepting messages')).advice).not.toMatch(/tried again/);
});

it('the explanation of a delivery that was given up says what to check', () => {
  const { advice } = explainDelivery(refused('550 5.4.0 DNS failure resolving sender domain'));
  expect(advice).toMatch(/name servers.*given up/);
});

const REPLIES = CASES.flatMap(([{ reply }]) => (reply === null ? [] : [reply]));
const asTemporary = (reply: string): string => reply.replace(/^5/, '4').replaceAll(/\b5(?=\.\d+\.\d+\b)/g, '4');

it.each(REPLIES.flatMap((reply) => [asTemporary(reply), reply.replace(/^5/, '4')]))(
  'a temporary reply never leads to the advice to remove an address: %s',
  (reply) => {
    for (const ended of [later(reply), refused(reply)])
      expect(explainDelivery(ended).advice ?? '').not.toMatch(/remove/i);
  },
);
