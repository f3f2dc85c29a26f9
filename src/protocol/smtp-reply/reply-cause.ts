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

/** The person who can resolve a refusal. */
export type Responsible = 'sender' | 'domain owner' | 'operator' | 'nobody';

interface Consequences extends Bounce {
  /** Mail is retried even after a permanent refusal (5yz), because the cause passes. */
  retriesRefusal: boolean;
  responsible: Responsible;
}

/**
 * Consequences of each cause. `Permanent` suppresses the recipient, so only causes that prove the address invalid have
 * it: a fault of this server, of the message or of the sending domain must not suppress the address. `classifyStage`
 * replaces such a cause if the reply is not about the recipient.
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

/**
 * The stage of the dialogue at which a reply was received; the greeting includes everything up to MAIL FROM. A report
 * by mail has none.
 */
export type ReplyStage = 'the greeting' | 'MAIL FROM' | 'RCPT TO' | 'DATA' | 'the message';

export interface ReplyRule {
  provider: string | undefined;
  /** The rule applies only to replies of a configured relay. */
  throughRelay: boolean;
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
  /** The name of the mail server that sent the reply. */
  mx?: string | undefined;
  /** The address that the mail was for. */
  recipient?: string;
  /** The server is a configured relay, which refuses its own customer as well as recipients. */
  throughRelay?: boolean;
}

export interface Classification {
  /** Undefined if no rule matches the reply. */
  cause: ReplyCause | undefined;
  /** The cause that its text or code would have if it is about the recipient. */
  found: ReplyCause | undefined;
  provider: string | undefined;
  /** The wait that the receiver demands, as stated in the reply or as known for its provider. */
  waitMs: number | undefined;
}

// The relevant text is at the beginning; 256 lines are not worth searching.
const TEXT_CHARS_MAX = 2000;

/**
 * Determines why a reply refused a message: rules for relays apply first if a relay sent it, then rules of the provider
 * that sent it, then general rules.
 */
export function classifyReply({ providers, rules }: ReplyRules, received: ReceivedReply): Classification {
  const { reply, mx } = received;
  const text = replyText(reply).slice(0, TEXT_CHARS_MAX);
  const provider = (mx === undefined ? undefined : findProvider(providers, mx)) ?? recogniseProvider(providers, text);
  const enhanced = reply.enhanced ?? findEnhanced(reply.code, text);
  const words = removeNames(text);
  const isOfRelay = received.throughRelay === true && !quotesRecipientsServer(text, received.recipient);
  const rule = rules.find(
    (candidate) =>
      (!candidate.throughRelay || isOfRelay) &&
      (candidate.provider === undefined || candidate.provider === provider) &&
      (candidate.codes === undefined || candidate.codes.includes(reply.code)) &&
      (candidate.enhanced === undefined || (enhanced !== undefined && candidate.enhanced.test(enhanced))) &&
      (candidate.text === undefined || candidate.text.test(candidate.provider === undefined ? words : text)),
  );
  const cause = rule === undefined ? undefined : classifyStage(rule, { ...received, text, enhanced, isOfRelay });
  const stated = cause === 'greylist' || cause === 'rate' || cause === 'recipient_rate' ? readWait(text) : undefined;
  const waitMs = stated ?? rule?.waitMs ?? (cause === 'greylist' ? GREYLIST_WAIT_MS : undefined);
  return { cause, found: rule?.cause, provider, waitMs };
}

/** Reports whether mail is retried after the reply, although its code may be permanent. */
export function isRetried(reply: Reply, cause: ReplyCause | undefined): boolean {
  if (reply.code < 500) return true;
  if (cause === undefined) return false;
  if (CAUSES[cause].retriesRefusal) return true;
  return cause === 'ip_reputation' && SAYS_LATER.test(replyText(reply));
}

const SAYS_LATER = /\b(?:try|come) (?:again )?(?:back )?later\b|essayer plus tard|temporarily|deferred/i;

/** Returns the bounce for a reply of this cause. A 4yz reply bounces if it lasted until the retries ended. */
export function bounceOfReply(reply: Reply, cause: ReplyCause | undefined): Bounce {
  if (reply.code < 400 || (cause === undefined && reply.code >= 500)) {
    return { type: 'Undetermined', subType: 'Undetermined' };
  }
  const known: Bounce = cause === undefined ? { type: 'Undetermined', subType: 'Undetermined' } : CAUSES[cause];
  if (reply.code >= 500) return { type: known.type, subType: known.subType };
  // A 4yz never suppresses an address: greylisting servers send "user unknown" as well.
  return { type: 'Transient', subType: known.subType === 'Undetermined' ? 'General' : known.subType };
}

/** Finds the provider that runs a mail server. */
export function findProvider(providers: readonly ReplyProvider[], mx: string): string | undefined {
  const host = `.${mx.toLowerCase().replace(/\.$/, '')}`;
  return providers.find((provider) => provider.mx.some((suffix) => host.endsWith(suffix)))?.name;
}

const recogniseProvider = (providers: readonly ReplyProvider[], text: string): string | undefined =>
  providers.find((provider) => provider.text.test(text))?.name;

/** Finds an enhanced code within the text, as qmail and Cisco write it: `(#5.7.1)`. */
function findEnhanced(code: number, text: string): string | undefined {
  const found = /#([245]\.\d{1,3}\.\d{1,3})\b/.exec(text)?.[1];
  return found?.startsWith(String(code).charAt(0)) === true ? found : undefined;
}

interface ClassifiedReply extends ReceivedReply {
  text: string;
  enhanced: string | undefined;
  /** The reply is the relay's own; a reply that it quotes is judged as the quoted server's. */
  isOfRelay: boolean;
}

/**
 * Corrects the cause that a rule found, by the stage of the reply and by what it is about. A cause suppresses the
 * recipient only in a reply to RCPT TO or a report by mail, or after DATA if the text names the recipient; never
 * because of a code without text.
 */
function classifyStage(rule: ReplyRule, reply: ClassifiedReply): ReplyCause {
  const { stage, text, recipient } = reply;
  const { cause } = rule;
  const isByCodeAlone = rule.text === undefined && rule.enhanced === undefined;
  if (reply.isOfRelay && cause === 'relay') return 'relay_misconfigured';
  const isOfRecipient = stage === undefined || stage === 'RCPT TO';
  if (cause === 'mailbox_full' && isByCodeAlone && !isOfRecipient) return 'size';
  if (CAUSES[cause].type !== 'Permanent') return cause;
  if (stage === 'MAIL FROM') return OF_A_NAME.has(cause) ? 'sender_address' : 'receiver_policy';
  const isAfterData = stage === 'DATA' || stage === 'the message';
  if (!isOfRecipient && !(isAfterData && namesAddress(text, recipient))) return 'receiver_policy';
  if (isWordless(rule, reply.enhanced)) return 'receiver_policy';
  if (cause === 'domain_unknown' && !namesAddress(text, recipient) && namesOtherDomain(text, recipient))
    return 'sender_address';
  return reply.isOfRelay && !isClearOfRelay(cause, reply) ? 'receiver_policy' : cause;
}

/**
 * Reports whether a rule blames the recipient only by a code that is not about the address (x.1.x) or mailbox (x.2.x).
 */
const isWordless = ({ provider, text }: ReplyRule, enhanced = ''): boolean =>
  provider === undefined && text === undefined && !/^[45]\.[12]\./.test(enhanced);

/** Causes that an address or a domain is invalid; after MAIL FROM the sender's address is meant. */
const OF_A_NAME: ReadonlySet<ReplyCause> = new Set(['recipient_unknown', 'recipient_inactive', 'domain_unknown']);

/**
 * Reports whether a relay refuses the recipient and not its customer: by a code for recipients, by words about a
 * mailbox, or by naming the recipient.
 */
function isClearOfRelay(cause: ReplyCause, { text, enhanced = '', recipient }: ClassifiedReply): boolean {
  if (/^5\.(?:1\.(?:[1236]|10)|2\.1)$/.test(enhanced) || namesAddress(text, recipient)) return true;
  if (cause === 'recipient_unknown' || cause === 'recipient_inactive') return true;
  return cause === 'domain_unknown' && findNamedDomain(text) !== undefined;
}

/** Reports whether a text contains exactly this address, not a longer one that contains it. */
function namesAddress(text: string, address: string | undefined): boolean {
  if (address === undefined || address === '') return false;
  const searched = text.toLowerCase();
  const wanted = address.toLowerCase();
  for (let at = searched.indexOf(wanted); at >= 0; at = searched.indexOf(wanted, at + 1)) {
    const before = searched.charAt(at - 1);
    const after = searched.slice(at + wanted.length, at + wanted.length + 2);
    if (!/[\w.+%=/-]/.test(before) && !/^(?:[\w-]|\.\w)/.test(after)) return true;
  }
  return false;
}

/** Reports whether a relay forwards the reply of the recipient's own server about the recipient. */
const quotesRecipientsServer = (text: string, recipient: string | undefined): boolean =>
  namesAddress(text, recipient) && QUOTES_SERVER.test(text);

const QUOTES_SERVER =
  /\b(?:host|server|mta|mx) [^\s[\]()]{1,255}(?: ?[[(][^\])]{1,60}[\])])?:? (?:said|says|answered|replied|responded|returned|refused)\b/i;

/** Finds the domain that the text says does not exist. */
const findNamedDomain = (text: string): string | undefined =>
  /\b(?:host|domain)(?: name)?:? ["'<(]?((?:[a-z0-9_-]{1,63}\.){1,10}[a-z][a-z0-9-]{0,62})\b/i.exec(text)?.[1];

/**
 * Reports whether a text is about a domain other than the recipient's, such as the sender's or the name of this server.
 */
function namesOtherDomain(text: string, recipient: string | undefined): boolean {
  const named = findNamedDomain(text)?.toLowerCase();
  if (named === undefined || recipient === undefined) return false;
  const domain = recipient.slice(recipient.lastIndexOf('@') + 1).toLowerCase();
  return named !== domain && !named.endsWith(`.${domain}`);
}

const MINUTE_MS = 60_000;
const GREYLIST_WAIT_MS = 5 * MINUTE_MS;
const WAIT_MS_MAX = 24 * 60 * MINUTE_MS;

const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, m: MINUTE_MS, h: 60 * MINUTE_MS };

/**
 * Reads the wait that a reply states, such as "for 5 minutes", "in 300 seconds" or "in 00:05:00". Of several times, the
 * one next to words of waiting counts: another may be how long the receiver has known the mail.
 */
function readWait(text: string): number | undefined {
  const times = [...text.matchAll(TIMES)].map((match) => ({
    before: text.slice(Math.max(0, match.index - 40), match.index),
    ms: readTime(match),
  }));
  const stated =
    times.find(({ before }) => SAYS_WAIT.test(before)) ??
    times.find(({ before }) => !SAYS_PAST.test(before)) ??
    times[0];
  return stated === undefined || stated.ms <= 0 ? undefined : Math.min(stated.ms, WAIT_MS_MAX);
}

const TIMES = /\b(\d{1,2}):(\d{2}):(\d{2})\b|\b(\d{1,5}) ?(s|m|h)(?:ec(?:ond)?s?|in(?:ute)?s?|(?:ou)?rs?)?\b/gi;
const SAYS_WAIT = /\b(?:wait|again|retry|come back|later|delay)\b[^\d;]*$/i;
const SAYS_PAST = /\b(?:since|last|first seen)\b[^\d;]*$/i;

function readTime([, hours, minutes, seconds, count, unit = '']: RegExpMatchArray): number {
  if (hours === undefined) return Number(count) * (UNIT_MS[unit.toLowerCase()] ?? 0);
  return (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000;
}

const BLOCKLISTS = /spamhaus|spamcop|barracuda|sorbs|spamrl|dnsbl|\brbl\b/i;

/** Removes addresses, names of hosts and URLs, whose words are not significant; a URL of a blocklist is kept. */
const removeNames = (text: string): string =>
  text
    .replaceAll(/https?:\/\/\S+/gi, (url) => BLOCKLISTS.exec(url)?.[0] ?? '')
    .replaceAll(/[^\s<>"'(),;:[\]]{1,320}@[^\s<>"'(),;:[\]]{1,320}/g, '<address>')
    .replaceAll('<<address>>', '<address>')
    .replaceAll(
      /\b(?:host|server|mta) [^\s[\]()]{1,255}(?: ?[[(][^\])]{1,60}[\])])?(?=:? ?(?:said|refused|responded|failed))/gi,
      'host',
    );
