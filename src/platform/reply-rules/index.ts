/** The rules of config/replies.toml, which interpret the replies of mail servers. */
import { parse } from 'smol-toml';
import { readProgramText } from '../../program-files/index.ts';
import {
  CAUSES,
  classifyReply as classify,
  type Classification,
  type ReceivedReply,
  type ReplyCause,
  type ReplyProvider,
  type ReplyRule,
  type ReplyRules,
} from '../../protocol/smtp-reply/index.ts';

let known: ReplyRules | undefined;

/** Reads the rules once. A fault in the file is a bug of the program, so it is thrown with the rule's number. */
export function replyRules(): ReplyRules {
  known ??= readRules(readProgramText('config/replies.toml'));
  return known;
}

/** Determines why a mail server refused a message. */
export const classifyReply = (received: ReceivedReply): Classification => classify(replyRules(), received);

interface RuleEntry {
  provider?: string;
  through?: string;
  text?: string;
  enhanced?: string;
  codes?: number[];
  cause?: string;
  wait?: number;
  source?: string;
  sample?: string;
}

export function readRules(toml: string): ReplyRules {
  const file = parse(toml) as unknown as {
    providers: Record<string, { mx: string[]; text: string }>;
    rules: RuleEntry[];
  };
  const providers = Object.entries(file.providers).map(([name, { mx, text }]): ReplyProvider => ({
    name,
    mx,
    text: new RegExp(text, 'i'),
  }));
  const names = new Set(providers.map(({ name }) => name));
  const rules = file.rules.map((entry, index) => readRule(entry, index + 1, names));
  // The rules for relays, then those of a provider, are more precise than general ones, wherever they are in the file.
  rules.sort((a, b) => rank(a) - rank(b));
  return { providers, rules };
}

function rank({ throughRelay, provider }: ReplyRule): number {
  if (throughRelay) return 0;
  return provider === undefined ? 2 : 1;
}

const KEYS: ReadonlySet<string> = new Set<keyof RuleEntry>([
  'provider',
  'through',
  'text',
  'enhanced',
  'codes',
  'cause',
  'wait',
  'source',
  'sample',
]);

function readRule(entry: RuleEntry, number: number, providers: ReadonlySet<string>): ReplyRule {
  const { provider, cause = '', sample = '', source = '' } = entry;
  const fault = (why: string): Error => new Error(`config/replies.toml: rule ${number} (${cause}) ${why}`);
  if (!Object.hasOwn(CAUSES, cause)) throw fault('names an unknown cause');
  const unknown = Object.keys(entry).find((key) => !KEYS.has(key));
  if (unknown !== undefined) throw fault(`has the unknown key ${unknown}`);
  if (entry.through !== undefined && entry.through !== 'relay') throw fault(`has the unknown through ${entry.through}`);
  if (provider !== undefined && !providers.has(provider)) throw fault(`names the unknown provider ${provider}`);
  if (sample === '' || source === '') throw fault('has no sample or no source');
  if (entry.text === undefined && entry.enhanced === undefined && entry.codes === undefined) {
    throw fault('has no condition');
  }
  return {
    provider,
    throughRelay: entry.through === 'relay',
    text: entry.text === undefined ? undefined : new RegExp(entry.text, 'i'),
    enhanced: entry.enhanced === undefined ? undefined : new RegExp(entry.enhanced),
    codes: entry.codes,
    cause: cause as ReplyCause,
    waitMs: entry.wait === undefined ? undefined : entry.wait * 60_000,
    sample,
  };
}
