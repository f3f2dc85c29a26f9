import { replyText } from './reply.ts';
import type { Reply } from './reply.ts';

export type BounceType = 'Permanent' | 'Transient' | 'Undetermined';

export type BounceSubType =
  | 'General'
  | 'NoEmail'
  | 'MailboxFull'
  | 'MessageTooLarge'
  | 'ContentRejected'
  | 'AttachmentRejected'
  | 'Undetermined';

export type Bounce = { type: BounceType; subType: BounceSubType };

/** All conditions that a rule names must hold. */
export type BounceRule = Bounce & { enhanced?: RegExp; codes?: readonly number[]; text?: RegExp; why: string };

// A verdict stands at the front; 256 lines of text are not worth searching.
const textCharsMax = 2000;

/**
 * Order is contract: the first rule that holds decides. `Permanent` is kept for replies that condemn the address,
 * because it suppresses the recipient; a message that was refused for what it is leaves the address alone.
 */
export const bounceRules: readonly BounceRule[] = [
  {
    enhanced: /^\d\.1\.(?:1|10|2|3|6)$/,
    type: 'Permanent',
    subType: 'NoEmail',
    why: 'RFC 3463 §3.2, RFC 7505: the mailbox or its domain does not exist, takes no mail or has moved',
  },
  {
    enhanced: /^\d\.2\.2$/,
    type: 'Transient',
    subType: 'MailboxFull',
    why: 'RFC 3463 §3.3: a full mailbox can be emptied',
  },
  {
    enhanced: /^\d\.(?:3\.4|2\.3)$/,
    type: 'Transient',
    subType: 'MessageTooLarge',
    why: 'RFC 3463 §3.3, §3.4: too big for the system or for the mailbox; a smaller message passes',
  },
  {
    text: /attachment|file type|executable|potential security issue|blocked because its content/i,
    type: 'Transient',
    subType: 'AttachmentRejected',
    why: 'the filters name the file, not the recipient',
  },
  {
    text: /quota|mailbox (?:is |was )?(?:temporarily )?full|over ?quota|out of storage|storage (?:space|limit)|insufficient (?:disk|storage)/i,
    type: 'Transient',
    subType: 'MailboxFull',
    why: 'many servers report a full mailbox under a general code',
  },
  {
    text: /message (?:size|is )?(?:too (?:big|large)|exceeds)|size (?:limit )?exceed|exceeds? (?:the )?(?:maximum|fixed|size)|too large/i,
    type: 'Transient',
    subType: 'MessageTooLarge',
    why: '552 stands for a full mailbox and for a large message; only the text tells',
  },
  {
    text: /\bspam|\bspamm|blacklist|block(?:ed)? ?list|\brbl\b|spamhaus|junk|virus|malware|phish|unsolicited|content (?:was |is )?(?:reject|refus|filter)|reputation/i,
    type: 'Transient',
    subType: 'ContentRejected',
    why: 'a verdict over the content or the sending host; said after RCPT as often as after DATA, and under any code',
  },
  {
    text: /(?:user|mailbox|recipient|address|account|alias|addressee)(?: \S{1,80})?(?: is| was| has been)? ?(?:unknown|not (?:found|exist|known)|does ?n[o']t (?:exist|have)|doesn't have|invalid|unavailable or (?:does )?not exist|disabled|inactive|deactivated|no longer)|(?:no such|unknown|invalid|nonexistent|non-existent) (?:user|mailbox|recipient|address|account|local)|does ?n[o']t exist|no mailbox (?:here )?by that name|not a (?:known|valid) (?:user|mailbox|recipient)|user (?:doesn't|does not) have/i,
    type: 'Permanent',
    subType: 'NoEmail',
    why: 'large providers say so under 5.7.1, 5.2.1, 5.5.0 or no enhanced code at all',
  },
  {
    enhanced: /^\d\.2\.1$/,
    type: 'Permanent',
    subType: 'General',
    why: 'RFC 3463 §3.3: the mailbox exists but is disabled',
  },
  {
    enhanced: /^\d\.6\.\d+$/,
    type: 'Transient',
    subType: 'ContentRejected',
    why: 'RFC 3463 §3.7: media or conversion; the message is at fault',
  },
  {
    enhanced: /^\d\.7\.(?:[0-3]|1[0-9])$/,
    type: 'Transient',
    subType: 'ContentRejected',
    why: 'RFC 3463 §3.8: policy against this message or sender, not proof that the address is bad',
  },
  {
    enhanced: /^\d\.7\.\d+$/,
    type: 'Transient',
    subType: 'General',
    why: 'RFC 7372 and others: SPF, DKIM, DMARC, reverse DNS, TLS; cured at the sender',
  },
  {
    enhanced: /^\d\.(?:3|4|5)\.\d+$/,
    type: 'Undetermined',
    subType: 'Undetermined',
    why: 'RFC 3463 §3.4-§3.6: system, routing or protocol trouble says nothing about the mailbox',
  },
  {
    enhanced: /^\d\.(?:1|2)\.\d+$/,
    type: 'Permanent',
    subType: 'General',
    why: 'RFC 3463 §3.2, §3.3: some other fault of the address or the mailbox',
  },
  {
    codes: [521, 551, 553, 556],
    type: 'Permanent',
    subType: 'NoEmail',
    why: 'RFC 5321 §4.2.3, RFC 7504: the address is wrong or its host takes no mail',
  },
  { codes: [552], type: 'Transient', subType: 'MailboxFull', why: 'RFC 5321 §4.2.3: exceeded storage allocation' },
  { codes: [523], type: 'Transient', subType: 'MessageTooLarge', why: 'used by some servers for a size limit' },
  {
    codes: [550],
    type: 'Permanent',
    subType: 'General',
    why: 'RFC 5321 §4.2.3: mailbox unavailable, without a reason',
  },
];

/** Why a message bounced, from the reply that refused it. A 4yz reply is one that retries did not outlast. */
export function bounceOf(reply: Reply): Bounce {
  if (reply.code < 400) return { type: 'Undetermined', subType: 'Undetermined' };
  const text = replyText(reply).slice(0, textCharsMax);
  const rule = bounceRules.find((candidate) => holds(candidate, reply, text));
  const { type, subType } = rule ?? { type: 'Undetermined', subType: 'Undetermined' };
  if (reply.code >= 500) return { type, subType };
  // A 4yz never condemns an address: greylisting servers answer "user unknown" as well.
  return { type: 'Transient', subType: subType === 'Undetermined' ? 'General' : subType };
}

function holds(rule: BounceRule, reply: Reply, text: string): boolean {
  if (rule.enhanced && !(reply.enhanced !== undefined && rule.enhanced.test(reply.enhanced))) return false;
  if (rule.codes && !rule.codes.includes(reply.code)) return false;
  return rule.text === undefined || rule.text.test(text);
}
