import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  bounceOfReply,
  ReplyParser,
  type Reply,
  type ReplyCause,
  type ReplyStage,
} from '../../protocol/smtp-reply/index.ts';
import { classifyReply, readRules, replyRules } from './index.ts';

function parse(line: string): Reply {
  const [reply] = new ReplyParser().push(Buffer.from(`${line}\r\n`));
  if (reply === undefined) throw new Error(`${line} is no reply`);
  return reply;
}

/** Names a mail server of a provider; undefined for a provider that the rules do not know. */
function findMailServer(provider: string | undefined): { mx?: string } {
  const suffix = replyRules().providers.find(({ name }) => name === provider)?.mx[0];
  return suffix === undefined ? {} : { mx: `mx1${suffix}` };
}

describe('a rule for replies', () => {
  it.each(replyRules().rules)('recognizes its own sample: $sample', ({ sample, provider, throughRelay, cause }) => {
    const reply = parse(sample);
    expect(classifyReply({ reply, throughRelay, ...findMailServer(provider) }).found).toBe(cause);
  });

  it.each([
    ['names an unknown cause', 'cause = "weather"'],
    ['names the unknown provider nobody', 'provider = "nobody"\ncause = "rate"'],
    ['has no sample or no source', 'text = "x"\ncause = "rate"'],
    ['has no condition', 'cause = "rate"\nsource = "RFC"\nsample = "450 x"'],
    ['has the unknown key stages', 'stages = ["DATA"]\ntext = "x"\ncause = "rate"\nsource = "RFC"\nsample = "450 x"'],
    ['has the unknown through', 'through = "post"\ntext = "x"\ncause = "rate"\nsource = "RFC"\nsample = "450 x"'],
  ])('is refused with its number when it %s', (why, rule) => {
    expect(() => readRules(`[providers]\n[[rules]]\n${rule}\n`)).toThrow(`config/replies.toml: rule 1`);
    expect(() => readRules(`[providers]\n[[rules]]\n${rule}\n`)).toThrow(why);
  });
});

/** The causes for each word in the table of real replies. */
const WANTED: Readonly<Record<string, readonly ReplyCause[]>> = {
  unknown: ['recipient_unknown'],
  inactive: ['recipient_inactive'],
  full: ['mailbox_full'],
  size: ['size'],
  ratelimit: ['rate', 'recipient_rate'],
  reputation: ['ip_reputation', 'domain_reputation'],
  content: ['content', 'attachment'],
  auth: ['authentication'],
  ptr: ['ptr_helo'],
  sender: ['sender_address'],
  tls: ['tls_required'],
  greylist: ['greylist'],
  temporary: ['receiver_trouble'],
  relay: ['relay'],
  policy: ['receiver_policy'],
  protocol: ['protocol'],
};

const SAME_PROVIDER: Readonly<Record<string, string>> = { aol: 'yahoo', secureserver: 'godaddy' };

/** Replies of real mail servers: wanted cause, code, enhanced code, text, provider, source. */
const REAL = readFileSync(new URL('replies.tsv', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => {
    const fields = line.split('\t');
    const [wanted = '', , , , receiver = ''] = fields;
    const said = fields
      .slice(1, 4)
      .filter((part) => part !== '')
      .join(' ');
    return { wanted, said, provider: SAME_PROVIDER[receiver] ?? receiver };
  });

describe('a reply of a real mail server', () => {
  it.each(REAL)('on the connection means $wanted: $said', ({ wanted, said, provider }) => {
    expect(WANTED[wanted]).toContain(classifyReply({ reply: parse(said), ...findMailServer(provider) }).cause);
  });

  // Only Yandex means the sender's reputation by its "currently unavailable".
  const byMail = REAL.filter(({ said }) => !said.includes('Sorry, the service is currently unavailable'));
  it.each(byMail)('in a bounce report means $wanted: $said', ({ wanted, said }) => {
    expect(WANTED[wanted]).toContain(classifyReply({ reply: parse(said) }).cause);
  });

  it.each(REAL.filter(({ wanted }) => !['unknown', 'inactive'].includes(wanted)))(
    'suppresses no recipient when the fault is not the address: $said',
    ({ said, provider }) => {
      const reply = parse(said);
      const { cause } = classifyReply({ reply, stage: 'RCPT TO', ...findMailServer(provider) });
      expect(bounceOfReply(reply, cause).type).not.toBe('Permanent');
    },
  );
});

it.each([
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
])('the reply %s is recorded as a bounce of the type %s/%s', (line, type, subType) => {
  const reply = parse(line);
  expect(bounceOfReply(reply, classifyReply({ reply }).cause)).toEqual({ type, subType });
});

it.each<[string, ReplyStage, ReplyCause]>([
  ['550 Sorry', 'RCPT TO', 'receiver_policy'],
  ['550 Sorry', 'MAIL FROM', 'receiver_policy'],
  ['550 Sorry', 'the message', 'receiver_policy'],
  ['553 Sorry', 'MAIL FROM', 'sender_address'],
  ['553 Sorry', 'the message', 'receiver_policy'],
  ['550 5.1.1 User unknown', 'MAIL FROM', 'sender_address'],
  ['550 5.1.1 User unknown', 'the message', 'receiver_policy'],
  ['552 Sorry', 'the message', 'size'],
  ['552 Sorry', 'MAIL FROM', 'size'],
  ['552 Sorry', 'RCPT TO', 'mailbox_full'],
])('the reply %s to %s means %s', (line, stage, cause) => {
  expect(classifyReply({ reply: parse(line), stage }).cause).toBe(cause);
});

it.each([
  ['451 4.7.1 <x@example.com>: Recipient address rejected: Greylisted for 5 minutes', 5 * 60_000],
  ['450 4.2.0 Greylisted, please try again in 300 seconds', 300_000],
  [
    '450 4.2.0 <x@example.com>: Recipient address rejected: Greylisted, see http://postgrey.example/help/x.html',
    300_000,
  ],
  ['451 4.7.1 Greylisting in action, please come back in 00:04:59', 299_000],
  ['450 4.2.0 Greylisted, try again in 90 days or 9000 hours', 24 * 3_600_000],
])('the reply %s asks for a wait of %d ms', (line, waitMs) => {
  expect(classifyReply({ reply: parse(line) }).waitMs).toBe(waitMs);
});

const RECIPIENT = 'bad@victim.example';

const suppressesBy = (line: string, stage: ReplyStage, throughRelay = false): boolean => {
  const reply = parse(line);
  const { cause } = classifyReply({ reply, stage, recipient: RECIPIENT, throughRelay });
  return bounceOfReply(reply, cause).type === 'Permanent';
};

describe('a refusal of this server or its message', () => {
  it.each([
    '550 5.7.1 Client host not found',
    '550 Your domain does not exist',
    '550 Domain example.com does not exist (sender)',
    '550 Domain shop.example not found',
    '550 No such domain in envelope-from',
    '553 Your IP is in our local list',
    '550 Could not verify sender: 550 user unknown',
    '550 Callout verification failed: user unknown at sender domain',
    '550 Untrusted sender',
    '550 Sender not verified',
    '521 5.2.1 :  AOL will not accept delivery of this message.',
    '550 This server does not accept mail from dynamic IP addresses',
    '554 5.7.1 host does not accept mail from 192.0.2.1',
    '521 Your host 192.0.2.1 is not welcome here',
    '521 mail from your server refused',
    '550 Unknown sending host',
    '550 unknown host or domain in sender',
    '550 Unknown host mail.example.com (fix your DNS)',
    '550 DNS lookup failure for sender: NXDOMAIN',
    '553 Mail from 192.0.2.1 not allowed',
    '553 sorry, that sender is in my badmailfrom list (#5.7.1)',
    '551 not authorised to send from this address',
    '551 Sending not permitted',
    '550 You are not welcome here',
    '550 Go away',
    '550 Blacklisted',
    '550 5.1.1 you are not allowed to send mail to this user',
    '550 5.1.0 Mail from your server cannot be accepted',
    '550 Your account is disabled',
    "550 The sender's account has been suspended",
    '550 Sending account disabled',
    '554 5.7.1 account suspended for outgoing mail',
    '550 Sending user unknown',
    '550 The address you are sending from does not exist',
    '550 No such user in From header',
    '550 Return address unknown user',
    '550 Verification failed for <s@shop.example>: 550 no such user',
    '550 5.1.1 <s@shop.example>: Sender address rejected: User unknown',
    '550 5.2.1 Mail from your host is refused',
    '550 5.2.1 message refused',
    '550 invalid host name in EHLO',
    '550 address 192.0.2.1 blocked',
    '550 Your IPv6 address 2001:db8::1 is disabled',
    '550 5.7.1 [192.0.2.1] address blocked',
    '550 Your address is blocked',
    '550 5.7.1 invalid domain in Message-ID',
    '550 invalid address in From',
    '550 5.1.1 Unencrypted mail refused',
    '550 5.2.0 too many complaints',
    '521 5.2.1 : (DNS:NR) http://postmaster.info.aol.com',
  ])('suppresses no recipient after RCPT TO: %s', (line) => {
    expect(suppressesBy(line, 'RCPT TO')).toBe(false);
  });

  it.each<ReplyStage>(['the greeting', 'MAIL FROM', 'DATA', 'the message'])(
    'suppresses no recipient as the reply to %s, whatever it says',
    (stage) => {
      for (const line of [
        '521 Your host 192.0.2.1 is not welcome here',
        '521 Server does not accept mail',
        '556 5.1.10 Null MX',
        '550 This host does not accept mail from you',
        '550 5.1.1 no',
        '550 5.1.1 User unknown',
        '550 5.2.1 Account disabled',
        '554 5.7.1 No such user in From header',
        '550 5.1.1 Bulk mail not accepted here',
        '550 Unknown host mail.example.com (fix your DNS)',
        '550 Mailbox unavailable',
        '550 5.1.1 <otherbad@victim.example>: User unknown',
        '550 5.1.1 <bad@victim.example.org>: User unknown',
      ])
        expect([line, suppressesBy(line, stage)]).toEqual([line, false]);
    },
  );

  it('does not hide that the final reply names the recipient', () => {
    expect(suppressesBy('550 5.1.1 <Bad@Victim.example>: User unknown', 'the message')).toBe(true);
    expect(suppressesBy('550 5.1.1 user unknown: bad@victim.example.', 'DATA')).toBe(true);
    expect(suppressesBy('550 5.1.1 <bad@victim.example>: User unknown', 'MAIL FROM')).toBe(false);
  });

  it.each([
    '550 5.1.1 User unknown',
    '550 No such user here',
    '550 Requested action not taken: mailbox unavailable',
    '550 5.1.0 Address rejected',
    '550 5.2.0 Sorry',
    '550 Domain victim.example does not exist',
    '521 Server does not accept mail',
    '550 5.1.1 <bad@victim.example>: Recipient address rejected: User unknown in relay recipient table',
  ])('does not hide that RCPT TO was answered with %s', (line) => {
    expect(suppressesBy(line, 'RCPT TO')).toBe(true);
  });
});

describe('a reply of a relay', () => {
  it.each<[ReplyStage, string, ReplyCause]>([
    ['RCPT TO', '550 5.7.1 Account disabled', 'relay_misconfigured'],
    ['RCPT TO', '550 5.7.1 Your account has been suspended', 'relay_misconfigured'],
    ['the message', '550 5.7.1 Your account has been suspended', 'relay_misconfigured'],
    [
      'RCPT TO',
      '550 The from address does not match a verified Sender Identity. Mail cannot be sent until this error is resolved.',
      'relay_misconfigured',
    ],
    ['RCPT TO', '553 Relaying disallowed as s@shop.example', 'relay_misconfigured'],
    ['RCPT TO', '554 5.7.1 <bad@victim.example>: Relay access denied', 'relay_misconfigured'],
    [
      'the message',
      '554 Message rejected: Email address is not verified. The following identities failed the check in region US-EAST-1: a@x.example',
      'relay_misconfigured',
    ],
    ['the message', '554 Message rejected: Sending paused for this account.', 'relay_misconfigured'],
    ['MAIL FROM', '554 5.2.252 SendAsDenied; a@b not allowed to send as c@d', 'relay_misconfigured'],
    ['the message', '530 5.7.0 Authentication required', 'relay_misconfigured'],
    ['the message', '535 5.7.8 Expired', 'relay_misconfigured'],
    ['the message', '550 5.7.9 Mechanism too weak', 'relay_misconfigured'],
    ['the message', '550 5.4.5 Daily sending quota exceeded', 'rate'],
    ['MAIL FROM', '550 5.4.5 Daily user sending limit exceeded.', 'rate'],
    [
      'RCPT TO',
      '550 Domain example.com has exceeded the max emails per hour (100/100 (100%)) allowed. Message discarded.',
      'rate',
    ],
    ['RCPT TO', '550 5.1.0 <bad@victim.example>: undeliverable: host mx said: 550 Relaying denied', 'relay'],
    [
      'RCPT TO',
      '550 5.1.0 <bad@victim.example>: host mx.victim.example[192.0.2.9] said: 530 5.7.0 Authentication required',
      'authentication',
    ],
    ['RCPT TO', '550 5.1.1 User unknown', 'recipient_unknown'],
    ['RCPT TO', '550 5.2.1 This account has been suspended', 'recipient_inactive'],
    ['RCPT TO', '550 5.2.1 Account disabled', 'recipient_inactive'],
    ['RCPT TO', '550 5.7.1 You do not have permission to send to this recipient', 'receiver_policy'],
    ['RCPT TO', '550 5.1.2 <bad@victim.example>: host mx.other.example said: 550 Domain unknown', 'domain_unknown'],
    ['RCPT TO', '550 5.0.0 No such user here', 'recipient_unknown'],
    ['RCPT TO', '525 5.7.13 The account of the recipient is disabled', 'recipient_inactive'],
    ['RCPT TO', '550 5.1.0 Address rejected', 'receiver_policy'],
    ['RCPT TO', '521 Server does not accept mail', 'receiver_policy'],
    ['RCPT TO', '550 Domain not found', 'receiver_policy'],
    ['RCPT TO', '550 Domain victim.example not found', 'domain_unknown'],
  ])('to %s with %s means %s', (stage, line, cause) => {
    const found = classifyReply({ reply: parse(line), stage, recipient: RECIPIENT, throughRelay: true });
    expect(found.cause).toBe(cause);
  });

  it('about a login is classified like any other when it does not come from a relay', () => {
    const reply = parse('530 5.7.0 Authentication required');
    expect(classifyReply({ reply, stage: 'the message' }).cause).toBe('authentication');
  });
});

it.each([
  ['451 4.7.1 Greylisted since 2 h, wait 5 minutes', 5],
  ['451 4.7.1 Greylisted for 2 h already; retry in 7 minutes', 7],
  ['451 4.7.1 Greylisting in action since 00:30:00, please come back in 00:10:00', 10],
  ['451 4.7.1 Greylisted (delay of 3 min)', 3],
  ['451 4.7.1 Greylisted: 12 minutes', 12],
])('the wait time in the reply %s is the number next to the words about waiting: %d minutes', (line, minutes) => {
  expect(classifyReply({ reply: parse(line) }).waitMs).toBe(minutes * 60_000);
});
