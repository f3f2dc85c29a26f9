/** The reactions of config/providers.toml: which replies make rasket send less to a provider, and how. */
import { createHash } from 'node:crypto';
import { parse } from 'smol-toml';
import { CAUSES, ReplyParser, replyText, type Reply, type ReplyCause } from '../../protocol/smtp-reply/index.ts';
import { PROVIDERS_FILE } from '../config/index.ts';
import { classifyReply } from '../reply-rules/index.ts';

export type Action =
  | { kind: 'suspend' }
  | { kind: 'rate'; messagesPerMinute: number }
  | { kind: 'connections'; connections: number }
  | { kind: 'messages_per_connection'; messages: number };

export interface Reaction {
  /** Stable as long as the conditions of the rule stay the same, so that it can be stored. */
  id: string;
  /** Undefined for replies of every receiver. */
  provider: string | undefined;
  /**
   * `provider` is for all mail of this source to the provider (to the site, if the receiver has no provider); `sender`
   * only for mail of the sending domain to it.
   */
  scope: 'provider' | 'sender';
  action: Action;
  /** The number of matching replies within `withinMs` that trigger the reaction. */
  matches: number;
  withinMs: number;
  durationMs: number;
}

/** A reaction with its conditions, all of which must hold. */
export interface ReactionRule extends Reaction {
  text: RegExp | undefined;
  enhanced: RegExp | undefined;
  codes: readonly number[] | '4yz' | undefined;
  cause: ReplyCause | undefined;
  sample: string;
}

/** Causes that concern one recipient or one message, or every new sender: less mail would not help. */
const NO_REACTION: ReadonlySet<ReplyCause> = new Set([
  'recipient_unknown',
  'recipient_inactive',
  'domain_unknown',
  'takes_no_mail',
  'mailbox_full',
  'recipient_closed_for_now',
  'recipient_rate',
  'greylist',
  'size',
  'attachment',
]);

/**
 * Texts of attempts that this program did not make, which quote the reply that was the reason. A match would prolong
 * the reaction without end.
 */
const OWN_TEXT =
  /\bNot tried, because a moment ago: |\buntil (?:\d{4}-\d\d-\d\d )?\d\d:\d\d UTC because of |\bis limited to \d+ messages per minute\b/;

// The relevant text is at the beginning, as for the classification of replies.
const TEXT_CHARS_MAX = 2000;

/**
 * Returns the rules that a reply matches: at most one for each kind of action and scope, a rule of the provider before
 * a general one, and otherwise the first in the file. General rules that only name a cause are for replies that no rule
 * of the provider matches, because a cause does not tell whether an address or a domain is meant.
 */
export function findReactions(
  rules: readonly ReactionRule[],
  provider: string | undefined,
  reply: Reply,
  cause: ReplyCause | undefined,
): ReactionRule[] {
  if (reply.code < 400 || (cause !== undefined && NO_REACTION.has(cause))) return [];
  const text = replyText(reply).slice(0, TEXT_CHARS_MAX);
  if (OWN_TEXT.test(text)) return [];
  const matching = rules.filter(
    (rule) => (rule.provider === undefined || rule.provider === provider) && matches(rule, text, reply, cause),
  );
  const own = matching.filter((rule) => rule.provider !== undefined);
  const general = matching.filter(
    (rule) => rule.provider === undefined && (own.length === 0 || rule.text !== undefined),
  );
  const found = new Map<string, ReactionRule>();
  for (const rule of [...own, ...general]) {
    const key = `${rule.action.kind} ${rule.scope}`;
    if (!found.has(key)) found.set(key, rule);
  }
  return [...found.values()];
}

function matches(rule: ReactionRule, text: string, reply: Reply, cause: ReplyCause | undefined): boolean {
  const { codes, enhanced } = rule;
  if (codes === '4yz' ? reply.code >= 500 : codes?.includes(reply.code) === false) return false;
  if (enhanced !== undefined && !enhanced.test(reply.enhanced ?? '')) return false;
  return (rule.cause === undefined || rule.cause === cause) && (rule.text === undefined || rule.text.test(text));
}

interface ReactionEntry {
  provider?: string;
  text?: string;
  enhanced?: string;
  codes?: number[] | string;
  cause?: string;
  matches?: number;
  within_minutes?: number;
  action?: string;
  messages_per_minute?: number;
  connections?: number;
  messages_per_connection?: number;
  minutes?: number;
  scope?: string;
  source?: string;
  sample?: string;
}

const KEYS: ReadonlySet<string> = new Set<keyof ReactionEntry>([
  'provider',
  'text',
  'enhanced',
  'codes',
  'cause',
  'matches',
  'within_minutes',
  'action',
  'messages_per_minute',
  'connections',
  'messages_per_connection',
  'minutes',
  'scope',
  'source',
  'sample',
]);

const MINUTE_MS = 60_000;
const MINUTES_MAX = 24 * 60;

/** Enhanced codes that customers of a receiver can give their own refusals; Exchange takes 5.7.1 and 5.7.900 to 5.7.999. */
const OF_CUSTOMERS = ['5.7.0', '5.7.1', '5.7.900', '5.7.999'];

/** Reads the rules. A fault in the file is a bug of the program, so it is thrown with the rule's number. */
export function readReactions(toml: string): ReactionRule[] {
  const file = parse(toml) as unknown as {
    customer_texts?: string[];
    customer_quotes?: string[];
    providers?: Record<string, { mx?: string[] }>;
    reactions?: ReactionEntry[];
  };
  const table = Object.keys(file).find(
    (name) => !['customer_texts', 'customer_quotes', 'defaults', 'providers', 'reactions'].includes(name),
  );
  if (table !== undefined) throw new Error(`${PROVIDERS_FILE}: unknown table ${table}`);
  const providers = new Map(Object.entries(file.providers ?? {}).map(([name, { mx }]) => [name, mx?.[0]]));
  const ofCustomers = { texts: new Set(file.customer_texts ?? []), quotes: new Set(file.customer_quotes ?? []) };
  for (const [kind, names] of Object.entries(ofCustomers)) {
    const stray = [...names].find((name) => !providers.has(name));
    if (stray !== undefined) throw new Error(`${PROVIDERS_FILE}: customer_${kind} names the unknown provider ${stray}`);
  }
  const ids = new Map<string, number>();
  return (file.reactions ?? []).map((entry, index) => {
    const rule = readReaction(entry, index + 1, providers, ofCustomers);
    const first = ids.get(rule.id);
    if (first !== undefined) throw new Error(`${PROVIDERS_FILE}: reaction ${index + 1} repeats reaction ${first}`);
    ids.set(rule.id, index + 1);
    return rule;
  });
}

function readReaction(
  entry: ReactionEntry,
  number: number,
  providers: ReadonlyMap<string, string | undefined>,
  ofCustomers: { texts: ReadonlySet<string>; quotes: ReadonlySet<string> },
): ReactionRule {
  const { provider, sample = '', source = '', scope = 'provider' } = entry;
  const fault = (why: string): Error =>
    new Error(`${PROVIDERS_FILE}: reaction ${number} (${provider ?? 'every receiver'}) ${why}`);
  const unknown = Object.keys(entry).find((key) => !KEYS.has(key));
  if (unknown !== undefined) throw fault(`has the unknown key ${unknown}`);
  if (provider !== undefined && !providers.has(provider)) throw fault(`names the unknown provider ${provider}`);
  if (scope !== 'provider' && scope !== 'sender') throw fault(`has the unknown scope ${scope}`);
  if (sample === '' || source === '') throw fault('has no sample or no source');
  const cause = readCause(entry.cause, fault);
  const codes = readCodes(entry.codes, fault);
  const conditions = { text: readPattern(entry.text, 'i', fault), enhanced: readPattern(entry.enhanced, '', fault) };
  if (Object.values({ ...conditions, cause }).every((one) => one === undefined)) throw fault('has no condition');
  const isTemporary = codes === '4yz' || codes?.every((code) => code < 500) === true;
  const isOfReceiver =
    conditions.enhanced !== undefined && !OF_CUSTOMERS.some((code) => conditions.enhanced?.test(code));
  const isSound = isTemporary || isOfReceiver;
  if (!isSound && (provider === undefined || ofCustomers.texts.has(provider)))
    throw fault('must have codes = "4yz" or an enhanced code that customers of the receiver cannot write');
  if (!isSound && provider !== undefined && ofCustomers.quotes.has(provider) && entry.text?.startsWith('^') !== true)
    throw fault('must have codes = "4yz", or a text that begins with ^, because the receiver quotes its customers');
  const { matches: times = 1, within_minutes: within } = entry;
  checkNumber(times, 'matches', { min: 1, max: 1000 }, fault);
  if (times > 1 !== (within !== undefined)) {
    throw fault(times > 1 ? 'has matches but no within_minutes' : 'has within_minutes but no matches');
  }
  const action = readAction(entry, fault);
  const rule: ReactionRule = {
    id: createId(entry),
    provider,
    scope,
    action,
    matches: times,
    withinMs: checkNumber(within ?? 60, 'within_minutes', { min: 1, max: MINUTES_MAX }, fault) * MINUTE_MS,
    durationMs: checkNumber(entry.minutes, 'minutes', { min: 1, max: MINUTES_MAX }, fault) * MINUTE_MS,
    ...conditions,
    codes,
    cause,
    sample,
  };
  const reply = parseReply(sample);
  if (reply === undefined) throw fault(`has a sample that is no reply: ${sample}`);
  if (!matchesSample(rule, reply, provider === undefined ? undefined : providers.get(provider))) {
    throw fault(`does not match its sample: ${sample}`);
  }
  return rule;
}

type Fault = (why: string) => Error;

function readCause(cause: string | undefined, fault: Fault): ReplyCause | undefined {
  if (cause === undefined) return undefined;
  if (!Object.hasOwn(CAUSES, cause)) throw fault(`names the unknown cause ${cause}`);
  if (NO_REACTION.has(cause as ReplyCause)) throw fault(`names the cause ${cause}, which less mail does not help`);
  return cause as ReplyCause;
}

function readCodes(codes: number[] | string | undefined, fault: Fault): readonly number[] | '4yz' | undefined {
  if (codes === undefined || codes === '4yz') return codes;
  if (Array.isArray(codes) && codes.length > 0 && codes.every((code) => code >= 400 && code <= 599)) return codes;
  throw fault('must have "4yz" or a list of reply codes from 400 to 599 as its codes');
}

function readPattern(pattern: string | undefined, flags: string, fault: Fault): RegExp | undefined {
  if (pattern === undefined) return undefined;
  if (pattern.includes('\\\\')) {
    throw fault(`has a doubled backslash in ${pattern}, which matches a backslash in the reply; write a single one`);
  }
  try {
    return new RegExp(pattern, flags);
  } catch (error) {
    throw fault(`has an invalid pattern: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function checkNumber(
  value: number | undefined,
  key: string,
  { min, max }: { min: number; max: number },
  fault: Fault,
): number {
  if (value !== undefined && Number.isInteger(value) && value >= min && value <= max) return value;
  throw fault(`must have an integer from ${min} to ${max} as its ${key}`);
}

/** The keys that hold the number of an action. */
const NUMBERS = {
  rate: 'messages_per_minute',
  connections: 'connections',
  messages_per_connection: 'messages_per_connection',
} as const;

function readAction(entry: ReactionEntry, fault: Fault): Action {
  const { action: kind = '' } = entry;
  if (kind !== 'suspend' && !Object.hasOwn(NUMBERS, kind)) throw fault(`has the unknown action ${kind}`);
  const own = kind === 'suspend' ? undefined : NUMBERS[kind as keyof typeof NUMBERS];
  const stray = Object.values(NUMBERS).find((key) => key !== own && entry[key] !== undefined);
  if (stray !== undefined) throw fault(`has ${stray}, which its action ${kind} does not use`);
  if (own === undefined) return { kind: 'suspend' };
  const number = checkNumber(entry[own], own, { min: 1, max: 100_000 }, fault);
  if (kind === 'rate') return { kind, messagesPerMinute: number };
  return kind === 'connections' ? { kind, connections: number } : { kind: 'messages_per_connection', messages: number };
}

/** Names a rule by its conditions, so that a changed duration or number keeps what has been counted for it. */
function createId({ provider, action, scope, text, enhanced, codes, cause }: ReactionEntry): string {
  const conditions = JSON.stringify([scope, text, enhanced, codes, cause].map((one) => one ?? null));
  const hash = createHash('sha256').update(conditions).digest('hex').slice(0, 8);
  return [...(provider === undefined ? [] : [provider]), action, hash].join('-');
}

function parseReply(line: string): Reply | undefined {
  try {
    return new ReplyParser().push(Buffer.from(`${line}\r\n`))[0];
  } catch {
    return undefined;
  }
}

function matchesSample(rule: ReactionRule, reply: Reply, mx: string | undefined): boolean {
  const host = mx?.startsWith('.') === true ? `mx1${mx}` : mx;
  const { cause } = classifyReply({ reply, mx: host });
  return findReactions([rule], rule.provider, reply, cause).length > 0;
}
