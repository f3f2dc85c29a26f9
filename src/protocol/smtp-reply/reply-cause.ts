import { replyText, type Reply } from './reply.ts';

export type BounceType = 'Permanent' | 'Transient' | 'Undetermined';

export type BounceSubType =
  | 'General'
  | 'NoEmail'
  | 'MailboxFull'
  | 'MessageTooLarge'
  | 'ContentRejected'
  | 'AttachmentRejected'
  | 'Undetermined';

export interface Bounce {
  type: BounceType;
  subType: BounceSubType;
}

/** Who can do something about a refusal. */
export type Responsible = 'sender' | 'domain owner' | 'operator' | 'nobody';

interface Consequences extends Bounce {
  /** Whether mail that was refused for good (5yz) is tried again all the same, because the refusal passes. */
  retriesRefusal: boolean;
  responsible: Responsible;
}

/**
 * Names what each cause leads to. `Permanent` suppresses the recipient, so it belongs to the causes that condemn the
 * address and to no other: a fault of this server, of the message or of the sending domain leaves the address alone.
 */
export const CAUSES = {
  recipient_unknown: { type: 'Permanent', subType: 'NoEmail', retriesRefusal: false, responsible: 'sender' },
  recipient_inactive: { type: 'Permanent', subType: 'General', retriesRefusal: false, responsible: 'sender' },
  domain_unknown: { type: 'Permanent', subType: 'NoEmail', retriesRefusal: false, responsible: 'sender' },
  takes_no_mail: { type: 'Permanent', subType: 'NoEmail', retriesRefusal: false, responsible: 'sender' },
  unspecified: { type: 'Permanent', subType: 'General', retriesRefusal: false, responsible: 'sender' },
  mailbox_full: { type: 'Transient', subType: 'MailboxFull', retriesRefusal: false, responsible: 'sender' },
  recipient_closed_for_now: { type: 'Transient', subType: 'General', retriesRefusal: false, responsible: 'sender' },
  size: { type: 'Transient', subType: 'MessageTooLarge', retriesRefusal: false, responsible: 'sender' },
  attachment: { type: 'Transient', subType: 'AttachmentRejected', retriesRefusal: false, responsible: 'sender' },
  content: { type: 'Transient', subType: 'ContentRejected', retriesRefusal: false, responsible: 'sender' },
  authentication: { type: 'Transient', subType: 'General', retriesRefusal: false, responsible: 'domain owner' },
  sender_address: { type: 'Transient', subType: 'General', retriesRefusal: false, responsible: 'domain owner' },
  domain_reputation: {
    type: 'Transient',
    subType: 'ContentRejected',
    retriesRefusal: false,
    responsible: 'domain owner',
  },
  ip_reputation: { type: 'Transient', subType: 'ContentRejected', retriesRefusal: false, responsible: 'operator' },
  ptr_helo: { type: 'Transient', subType: 'General', retriesRefusal: false, responsible: 'operator' },
  rate: { type: 'Transient', subType: 'General', retriesRefusal: true, responsible: 'operator' },
  recipient_rate: { type: 'Transient', subType: 'General', retriesRefusal: true, responsible: 'nobody' },
  greylist: { type: 'Transient', subType: 'General', retriesRefusal: true, responsible: 'nobody' },
  tls_required: { type: 'Transient', subType: 'General', retriesRefusal: true, responsible: 'operator' },
  relay: { type: 'Transient', subType: 'ContentRejected', retriesRefusal: false, responsible: 'operator' },
  relay_misconfigured: { type: 'Transient', subType: 'General', retriesRefusal: true, responsible: 'operator' },
  receiver_policy: { type: 'Transient', subType: 'ContentRejected', retriesRefusal: false, responsible: 'sender' },
  network: { type: 'Transient', subType: 'General', retriesRefusal: false, responsible: 'nobody' },
  receiver_trouble: {
    type: 'Undetermined',
    subType: 'Undetermined',
    retriesRefusal: false,
    responsible: 'nobody',
  },
  protocol: { type: 'Undetermined', subType: 'Undetermined', retriesRefusal: false, responsible: 'operator' },
} as const satisfies Record<string, Consequences>;

export type ReplyCause = keyof typeof CAUSES;

/** Where in the dialogue a reply came. A report by mail does not say. */
export type ReplyStage = 'MAIL FROM' | 'RCPT TO' | 'DATA' | 'the message';

export interface ReplyRule {
  provider: string | undefined;
  text: RegExp | undefined;
  enhanced: RegExp | undefined;
  codes: readonly number[] | undefined;
  cause: ReplyCause;
  waitMs: number | undefined;
  sample: string;
}

export interface ReplyProvider {
  name: string;
  /** Suffixes of the names of its mail servers, each with its leading dot. */
  mx: readonly string[];
  text: RegExp;
}

export interface ReplyRules {
  providers: readonly ReplyProvider[];
  rules: readonly ReplyRule[];
}

export interface ReceivedReply {
  reply: Reply;
  stage?: ReplyStage;
  /** The name of the mail server that gave it. */
  mx?: string;
}

export interface Classification {
  /** Undefined where no rule knows the reply. */
  cause: ReplyCause | undefined;
  provider: string | undefined;
  /** How long the receiver wants mail to wait, as the reply states it or as its provider is known to want. */
  waitMs: number | undefined;
}

// The verdict stands at the beginning; 256 lines of text are not worth searching.
const TEXT_CHARS_MAX = 2000;

/** Finds out why a reply refused a message: rules of the provider that gave it come first, then general rules. */
export function classifyReply({ providers, rules }: ReplyRules, received: ReceivedReply): Classification {
  const { reply, stage, mx } = received;
  const text = replyText(reply).slice(0, TEXT_CHARS_MAX);
  const provider = (mx === undefined ? undefined : findProvider(providers, mx)) ?? recogniseProvider(providers, text);
  const enhanced = reply.enhanced ?? findEnhanced(reply.code, text);
  const words = removeNames(text);
  const rule = rules.find(
    (candidate) =>
      (candidate.provider === undefined || candidate.provider === provider) &&
      (candidate.codes === undefined || candidate.codes.includes(reply.code)) &&
      (candidate.enhanced === undefined || (enhanced !== undefined && candidate.enhanced.test(enhanced))) &&
      (candidate.text === undefined || candidate.text.test(candidate.provider === undefined ? words : text)),
  );
  const cause = rule === undefined ? undefined : judgeStage(rule, stage);
  const stated = cause === 'greylist' || cause === 'rate' || cause === 'recipient_rate' ? readWait(text) : undefined;
  const waitMs = stated ?? rule?.waitMs ?? (cause === 'greylist' ? GREYLIST_WAIT_MS : undefined);
  return { cause, provider, waitMs };
}

/** Says whether mail is tried again after the reply, though its code may refuse it for good. */
export function isRetried(reply: Reply, cause: ReplyCause | undefined): boolean {
  if (reply.code < 500) return true;
  if (cause === undefined) return false;
  if (CAUSES[cause].retriesRefusal) return true;
  return cause === 'ip_reputation' && SAYS_LATER.test(replyText(reply));
}

const SAYS_LATER = /\b(?:try|come) (?:again )?(?:back )?later\b|essayer plus tard|temporarily|deferred/i;

/** Names the bounce that a reply of this cause is. A 4yz reply is one that retries did not outlast. */
export function bounceOfReply(reply: Reply, cause: ReplyCause | undefined): Bounce {
  if (reply.code < 400 || (cause === undefined && reply.code >= 500)) {
    return { type: 'Undetermined', subType: 'Undetermined' };
  }
  const known: Bounce = cause === undefined ? { type: 'Undetermined', subType: 'Undetermined' } : CAUSES[cause];
  if (reply.code >= 500) return { type: known.type, subType: known.subType };
  // A 4yz never condemns an address: greylisting servers answer "user unknown" as well.
  return { type: 'Transient', subType: known.subType === 'Undetermined' ? 'General' : known.subType };
}

/** Finds the provider that runs a mail server. */
export function findProvider(providers: readonly ReplyProvider[], mx: string): string | undefined {
  const host = `.${mx.toLowerCase().replace(/\.$/, '')}`;
  return providers.find((provider) => provider.mx.some((suffix) => host.endsWith(suffix)))?.name;
}

const recogniseProvider = (providers: readonly ReplyProvider[], text: string): string | undefined =>
  providers.find((provider) => provider.text.test(text))?.name;

/** Reads an enhanced code that stands in the text, as qmail and Cisco write it: `(#5.7.1)`. */
function findEnhanced(code: number, text: string): string | undefined {
  const found = /#([245]\.\d{1,3}\.\d{1,3})\b/.exec(text)?.[1];
  return found?.startsWith(String(code).charAt(0)) === true ? found : undefined;
}

/** Causes that condemn the recipient's address. */
const CONDEMNING: ReadonlySet<ReplyCause> = new Set([
  'recipient_unknown',
  'recipient_inactive',
  'domain_unknown',
  'unspecified',
]);

/**
 * Corrects what a rule found by where the reply came. MAIL FROM names the sender and no recipient; and behind DATA a code
 * without words is a refusal of the message, because the recipients had been accepted.
 */
function judgeStage(rule: ReplyRule, stage: ReplyStage | undefined): ReplyCause {
  const { cause } = rule;
  const isByCodeAlone = rule.text === undefined && rule.enhanced === undefined;
  if (stage === undefined || stage === 'RCPT TO') return cause;
  if (cause === 'mailbox_full' && isByCodeAlone) return 'size';
  if (!CONDEMNING.has(cause)) return cause;
  if (stage === 'MAIL FROM') return cause === 'unspecified' ? 'receiver_policy' : 'sender_address';
  return cause === 'unspecified' || isByCodeAlone ? 'receiver_policy' : cause;
}

const MINUTE_MS = 60_000;
const GREYLIST_WAIT_MS = 5 * MINUTE_MS;
const WAIT_MS_MAX = 24 * 60 * MINUTE_MS;

const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, m: MINUTE_MS, h: 60 * MINUTE_MS };

/** Reads the wait that a reply states, such as "for 5 minutes", "in 300 seconds" or "in 00:05:00". */
function readWait(text: string): number | undefined {
  const clock = /\b(\d{1,2}):(\d{2}):(\d{2})\b/.exec(text);
  const words = /\b(\d{1,5}) ?(s|m|h)(?:ec(?:ond)?s?|in(?:ute)?s?|(?:ou)?rs?)?\b/i.exec(text);
  let waitMs: number | undefined;
  if (clock !== null) waitMs = (Number(clock[1]) * 3600 + Number(clock[2]) * 60 + Number(clock[3])) * 1000;
  else if (words !== null) waitMs = Number(words[1]) * (UNIT_MS[(words[2] ?? '').toLowerCase()] ?? 0);
  return waitMs === undefined || waitMs <= 0 ? undefined : Math.min(waitMs, WAIT_MS_MAX);
}

const BLOCKLISTS = /spamhaus|spamcop|barracuda|sorbs|spamrl|dnsbl|\brbl\b/i;

/** Removes addresses, names of hosts that spoke, and URLs, whose words decide nothing; a URL of a blocklist does. */
const removeNames = (text: string): string =>
  text
    .replaceAll(/https?:\/\/\S+/gi, (url) => BLOCKLISTS.exec(url)?.[0] ?? '')
    .replaceAll(/[^\s<>"'(),;:[\]]{1,320}@[^\s<>"'(),;:[\]]{1,320}/g, '<address>')
    .replaceAll('<<address>>', '<address>')
    .replaceAll(
      /\b(?:host|server|mta) [^\s[\]()]{1,255} ?(?:[[(][^\])]{1,60}[\])])?(?=:? ?(?:said|refused|responded|failed))/gi,
      'host',
    );
