import { bounceRules, type BounceSubType, type BounceType, type BounceRule } from './bounce-rules.ts';
import { replyText } from './reply.ts';
import type { Reply } from './reply.ts';

export type Bounce = { type: BounceType; subType: BounceSubType };

// A verdict stands at the front; 256 lines of text are not worth searching.
const textCharsMax = 2000;

/** Why a message bounced, from the reply that refused it. A 4yz reply is one that retries did not outlast. */
export function bounceOf(reply: Reply): Bounce {
  if (reply.code < 400) return { type: 'Undetermined', subType: 'Undetermined' };
  const { type, subType } = bounceRuleFor(reply) ?? { type: 'Undetermined', subType: 'Undetermined' };
  if (reply.code >= 500) return { type, subType };
  // A 4yz never condemns an address: greylisting servers answer "user unknown" as well.
  return { type: 'Transient', subType: subType === 'Undetermined' ? 'General' : subType };
}

export function bounceRuleFor(reply: Reply): BounceRule | undefined {
  const words = wordsOf(replyText(reply).slice(0, textCharsMax));
  return bounceRules.find((candidate) => holds(candidate, reply, words));
}

function holds(rule: BounceRule, reply: Reply, words: string): boolean {
  if (rule.enhanced && !(reply.enhanced !== undefined && rule.enhanced.test(reply.enhanced))) return false;
  if (rule.codes && !rule.codes.includes(reply.code)) return false;
  return rule.text === undefined || rule.text.test(words);
}

const BLOCKLISTS = /spamhaus|spamcop|barracuda|sorbs|dnsbl|\brbl\b/i;

/** A text without addresses, names of hosts that spoke, and URLs, whose words decide nothing; a URL of a blocklist does. */
const wordsOf = (text: string): string =>
  text
    .replaceAll(/https?:\/\/\S+/gi, (url) => BLOCKLISTS.exec(url)?.[0] ?? '')
    .replaceAll(/[^\s<>"'(),;:[\]]{1,320}@[^\s<>"'(),;:[\]]{1,320}/g, '<address>')
    .replaceAll('<<address>>', '<address>')
    .replaceAll(
      /\b(?:host|server|mta) [^\s[\]()]{1,255} ?(?:[[(][^\])]{1,60}[\])])?(?=:? ?(?:said|refused|responded|failed))/gi,
      'host',
    );
