import { expect, it } from 'vitest';
import { explainDelivery, type Ended } from './explain-delivery.ts';

const refused = (reply: string): Ended => ({ outcome: 'bounced', reason: 'refused', reply });
const later = (reply: string): Ended => ({ outcome: 'deferred', reason: 'refused_for_now', reply });
const ours = (outcome: Ended['outcome'], reason: string | null): Ended => ({ outcome, reason, reply: null });

const CASES: [Ended, RegExp, RegExp | null][] = [
  [{ outcome: 'delivered', reason: null, reply: '250 2.0.0 OK queued as 4F2' }, /accepted the message/, null],
  [later('450 4.2.0 <a@b.example>: Recipient address rejected: Greylisted'), /greylisting/, /No action is needed/],
  [later('451 4.7.1 Please try again in 300 seconds'), /greylisting/, /No action is needed/],
  [later('421 4.7.28 Our system has detected an unusual rate of mail'), /limits the rate/, /send less/],
  [later('421 4.7.0 [TSS04] Messages temporarily deferred due to user complaints'), /limits the rate/, /send less/],
  [later('452 4.2.2 The email account that you tried to reach is over quota'), /full/, /another way/],
  [later('421 4.3.2 System not accepting network messages'), /problem of its own/, /retried/],
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
    /domain to see/,
  ],
  [
    refused('550 5.7.26 Your email has been blocked because the sender is unauthenticated; use SPF or DKIM'),
    /could not authenticate the sender/,
    /domain to see/,
  ],
  [
    later('450 4.1.8 <a@b.example>: Sender address rejected: Domain not found'),
    /the sender’s address/,
    /sending domain/,
  ],
  [refused('550 5.4.1 Recipient address rejected: Access denied'), /no such mailbox/, /typing mistake/],
  [refused('550 5.2.0 The mailbox has been removed'), /closed or no longer in use/, /Remove/],
  [refused('554 5.7.1 Message rated as spam'), /spam/, /text and the links/],
  [refused('550 5.7.23 SPF validation failed'), /SPF/, /domain to see/],
  [refused('550 5.7.20 No passing DKIM signature found'), /DKIM/, /published key/],
  [refused('550 5.7.1 Our system has detected a low sending reputation of your IP'), /bad reputation/, /slowly/],
  [refused('554 5.7.1 Virus found in message'), /virus/, /attachments/],
  [
    refused('552 5.7.0 This message was blocked because its content presents a potential security issue'),
    /attachments/,
    /link/,
  ],
  [refused('554 5.7.1 Message rejected as spam by content scanning'), /spam/, /text and the links/],
  [refused('552 5.2.2 Mailbox full'), /full/, /another way/],
  [refused('552 5.3.4 Message size exceeds fixed maximum message size'), /larger/, /smaller/],
  [refused('550 5.2.1 The email account that you tried to reach is inactive'), /closed/, /Remove/],
  [refused('551 5.1.6 User has moved to new@example.com'), /moved/, /new address/],
  [refused('550 5.7.1 Relaying denied'), /does not accept mail for the domain/, /MX record/],
  [refused('554 5.4.6 Too many hops'), /loop/, /forwarding/],
  [refused('530 5.7.10 Must issue a STARTTLS command first'), /encrypted/, /transcript/],
  [refused('550 5.1.1 The email account that you tried to reach does not exist'), /no such mailbox/, /typing mistake/],
  [refused('550 No such user here'), /no such mailbox/, /typing mistake/],
  [
    refused('550 5.7.133 RESOLVER.RST.SenderNotAuthenticatedForGroup; only accepts mail from people inside'),
    /rule/,
    /exception/,
  ],
  [refused('554 5.7.1 <a@b.example>: Recipient address rejected: Access denied'), /rule/, /administrator/],
  [refused('554 5.6.0 Corrupt message'), /format of the message/, /plain text/],
  [refused('571 No'), /refused the message permanently/, /the only information/],
  [refused('554 Transaction failed'), /refused the message permanently/, /administrator may know more/],
  [refused('550 5.1.0 Address rejected'), /refused the message permanently/, /administrator may know more/],
  [refused('550 Administrative prohibition'), /A rule/, /administrator/],
  [later('450 Requested mail action not taken: mailbox unavailable'), /busy or locked/, /retried/],
  [later('450 4.2.1 The account is temporarily disabled'), /busy or locked/, /retried/],
  [
    later('450 4.1.1 <a@b.example>: Recipient address rejected: unverified address: Address verification in progress'),
    /not know yet/,
    /retried/,
  ],
  [later('450 4.1.1 <a@b.example>: Recipient address rejected: User unknown'), /not know yet/, /typing mistake/],
  [later('451 4.7.1 Try again later'), /greylisting.* limit/, /retried/],
  [later('450 4.7.1 <a@b.example>: Recipient address rejected: Service is unavailable'), /greylisting/, /retried/],
  [
    later('450 4.7.1 <mx.example.com>: Helo command rejected: Host not found'),
    /a limit or a rule/,
    /may name the rule/,
  ],
  [refused('550 Mail from 192.0.2.1 refused, see https://b.example/lookup'), /permanently/, /the only information/],
  [
    later('450 4.1.7 <a@b.example>: Sender address rejected: unverified address: Address verification in progress'),
    /could not verify yet/,
    /retried/,
  ],
  [later('451 4.4.0 DNS failure resolving sender domain'), /sending domain in DNS/, /name servers.*retried/],
  [later('421 4.4.2 mx.b.example Error: timeout exceeded'), /was lost/, /retried/],
  [later('451 4.4.4 Unable to route'), /for now/, /retried/],
  [later('452 4.5.3 Too many recipients'), /per transaction.* another/, /retried/],
  [later('552 5.5.3 Too many recipients'), /per transaction.* another/, /retried/],
  [refused('550 5.5.3 Too many recipients'), /per transaction.* another/, /No further attempts/],
  [later('450 4.7.1 Too many recipients in the last hour'), /limits the rate/, /send less/],
  [refused('556 5.1.10 Domain does not accept mail (nullMX)'), /accepts no mail/, /Remove/],
  [refused('550 5.1.10 RESOLVER.ADR.RecipientNotFound; not found'), /no such mailbox/, /typing mistake/],
  [refused('550 5.7.27 Sender address has null MX'), /the sender’s address/, /sending domain/],
  [
    refused('550 5.7.606 Access denied, banned sending IP [192.0.2.1]; visit https://delist.example/'),
    /is blocked/,
    /delisting at the link in the reply/,
  ],
  [
    refused(
      '550 5.7.515 Access denied, sending domain b.example does not meet the required authentication level. Spf= Fail , Dkim= Pass , DMARC= Fail',
    ),
    /SPF, DKIM and DMARC/,
    /domain to see/,
  ],
  [later('450 Later'), /for now/, /retried/],
  [ours('deferred', 'dns_failure'), /name server/, /owner of the domain/],
  [ours('deferred', 'resolver_failure'), /resolver of this server did not return/, /retried.*rasket doctor/],
  [ours('deferred', 'unreachable'), /No connection/, /port 25/],
  [ours('deferred', 'destination_down'), /a moment before/, /retried/],
  [ours('deferred', 'timeout'), /in time/, /retried/],
  [ours('deferred', 'connection_lost'), /closed the connection/, /retried/],
  [ours('deferred', 'tls_unavailable'), /encrypted connection/, /opportunistic/],
  [ours('deferred', 'tls_policy_unmet'), /MTA-STS or TLSA/, /owner of the recipient/],
  [ours('deferred', 'domain_unverified'), /no longer verified/, /DNS records/],
  [ours('bounced', 'no_such_domain'), /does not exist/, /after the @/],
  [ours('bounced', 'takes_no_mail'), /accepts no mail/, /Remove/],
  [ours('bounced', 'too_large'), /larger/, /smaller/],
  [ours('bounced', 'routing_loop'), /back to this server/, /MX record/],
  [ours('bounced', 'blocked_address'), /may not connect/, /mail_allow_private/],
  [ours('bounced', 'smtputf8_unsupported'), /characters/, /ASCII characters/],
  [ours('suppressed', null), /suppression list/, /from the list/],
  [ours('failed', 'ambiguous_submission'), /handed over/, /Ask the recipient/],
  [ours('failed', 'domain_removed'), /removed/, /send the message again/],
  [ours('failed', 'dropped_by_operator'), /operator/, /Ask the operator/],
  [ours('failed', 'broadcast_canceled'), /canceled while the message was on hold/, null],
  [ours('ambiguous', null), /may or may not have arrived/, /never sent a second time/],
];

it.each(CASES)('the explanation of the outcome %j is as expected', (ended, sentence, advice) => {
  const explained = explainDelivery(ended);
  expect(explained.sentence).toMatch(sentence);
  if (advice === null) expect(explained.advice).toBeNull();
  else expect(explained.advice).toMatch(advice);
});

it('a message that the playground caught went nowhere, and a mail server named “playground” is not mistaken for it', () => {
  const caught: Ended = { outcome: 'delivered', reason: null, reply: '250 2.0.0 Kept in the playground' };
  expect(explainDelivery(caught, { mx: 'playground', address: null }).sentence).toMatch(/playground.*did not leave/);
  expect(explainDelivery(caught, { mx: 'playground', address: '192.0.2.1' }).sentence).toMatch(/accepted the message/);
});

it('a message to the simulator never left this server, and a mail server that replies the same is not mistaken for it', () => {
  const answered: Ended = { outcome: 'delivered', reason: null, reply: '250 2.0.0 Delivered by the mailbox simulator' };
  const mx = 'simulator.example.com';
  expect(explainDelivery(answered, { mx, address: null }).sentence).toMatch(/simulator.*nothing left/);
  expect(explainDelivery(answered, { mx, address: '192.0.2.1' }).sentence).toMatch(/accepted the message/);
});

it('the explanation of a delivery that was given up does not say that it is retried', () => {
  expect(explainDelivery(refused('550 5.3.2 System not accepting messages')).advice).not.toMatch(/retried/);
});

it('the explanation of a delivery that was given up says what to check', () => {
  const { advice } = explainDelivery(refused('550 5.4.0 DNS failure resolving sender domain'));
  expect(advice).toMatch(/name servers.*No further attempts/);
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
