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
function mailServerOf(provider: string | undefined): { mx?: string } {
  const suffix = replyRules().providers.find(({ name }) => name === provider)?.mx[0];
  return suffix === undefined ? {} : { mx: `mx1${suffix}` };
}

describe('the rules for replies', () => {
  it.each(replyRules().rules)('recognise the sample of their own: $sample', ({ sample, provider, cause }) => {
    expect(classifyReply({ reply: parse(sample), ...mailServerOf(provider) }).cause).toBe(cause);
  });

  it.each([
    ['names an unknown cause', 'cause = "weather"'],
    ['names the unknown provider nobody', 'provider = "nobody"\ncause = "rate"'],
    ['has no sample or no source', 'text = "x"\ncause = "rate"'],
    ['has no condition', 'cause = "rate"\nsource = "RFC"\nsample = "450 x"'],
  ])('are refused by number where one %s', (why, rule) => {
    expect(() => readRules(`[providers]\n[[rules]]\n${rule}\n`)).toThrow(`config/replies.toml: rule 1`);
    expect(() => readRules(`[providers]\n[[rules]]\n${rule}\n`)).toThrow(why);
  });
});

/** The causes that a word of the table of real replies stands for. */
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
  it.each(REAL)('means $wanted on the connection: $said', ({ wanted, said, provider }) => {
    expect(WANTED[wanted]).toContain(classifyReply({ reply: parse(said), ...mailServerOf(provider) }).cause);
  });

  // Yandex alone knows that its "currently unavailable" means the reputation of the sender.
  const byMail = REAL.filter(({ said }) => !said.includes('Sorry, the service is currently unavailable'));
  it.each(byMail)('means $wanted in a report by mail: $said', ({ wanted, said }) => {
    expect(WANTED[wanted]).toContain(classifyReply({ reply: parse(said) }).cause);
  });

  it.each(REAL.filter(({ wanted }) => !['unknown', 'inactive'].includes(wanted)))(
    'suppresses nobody for a fault that is not the address: $said',
    ({ said, provider }) => {
      const reply = parse(said);
      const { cause } = classifyReply({ reply, stage: 'RCPT TO', ...mailServerOf(provider) });
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
])('the reply %s is a bounce of %s/%s', (line, type, subType) => {
  const reply = parse(line);
  expect(bounceOfReply(reply, classifyReply({ reply }).cause)).toEqual({ type, subType });
});

it.each<[string, ReplyStage, ReplyCause]>([
  ['550 Sorry', 'RCPT TO', 'unspecified'],
  ['550 Sorry', 'MAIL FROM', 'receiver_policy'],
  ['550 Sorry', 'the message', 'receiver_policy'],
  ['553 Sorry', 'MAIL FROM', 'sender_address'],
  ['553 Sorry', 'the message', 'receiver_policy'],
  ['550 5.1.1 User unknown', 'MAIL FROM', 'sender_address'],
  ['550 5.1.1 User unknown', 'the message', 'recipient_unknown'],
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
])('the reply %s asks to wait for %d ms', (line, waitMs) => {
  expect(classifyReply({ reply: parse(line) }).waitMs).toBe(waitMs);
});
