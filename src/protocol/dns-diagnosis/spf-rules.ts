import type { Judgement, SpfCost, Wanted } from './observations.ts';
import { listed, quoted, shown } from './shown.ts';
import { isSpf, SPF_LOOKUPS_MAX, termsOf } from './spf-cost.ts';
import { termFault } from './spf-syntax.ts';
import { shapeFault } from './text-shape.ts';

export function judgeSpf(wanted: Wanted, texts: readonly string[], cost: SpfCost | undefined): Judgement {
  const [spf, ...others] = texts.filter(isSpf);
  if (spf === undefined) return withoutSpf(wanted, texts);
  // RFC 7208 §4.5: with two SPF records nothing is permitted, whatever each of them says.
  if (others.length > 0) {
    return wrong(
      `There are ${others.length + 1} SPF records at ${wanted.name}, which makes every check fail (RFC 7208 §4.5); join them into one.`,
    );
  }
  const fault = unreadable(wanted, spf) ?? notOurs(wanted, spf) ?? tooDear(wanted, cost);
  return fault === undefined ? { verdict: 'right', sentence: advice(wanted, spf, cost) } : wrong(fault);
}

const wrong = (sentence: string): Judgement => ({ verdict: 'wrong', sentence });

function withoutSpf(wanted: Wanted, texts: readonly string[]): Judgement {
  for (const text of texts) {
    const fault = shapeFault(text, (repaired) => isSpf(repaired) && missingTerms(wanted, repaired).length === 0);
    if (fault) return wrong(`The SPF record at ${wanted.name} ${fault}.`);
  }
  const similar = texts.find((text) => /spf|[~?+-]all\b/i.test(text));
  if (similar === undefined) return { verdict: 'absent', sentence: null };
  return wrong(
    `The TXT record at ${wanted.name} says ${quoted(similar)}, which is no SPF record because it does not begin with "v=spf1 ".`,
  );
}

/** RFC 7208 §4.6: one term that cannot be read makes the whole record a permanent error. */
function unreadable(wanted: Wanted, spf: string): string | undefined {
  const terms = termsOf(spf);
  const odd = terms.find((term) => termFault(term) !== undefined);
  if (odd !== undefined) {
    const shape = shapeFault(spf, (repaired) => isSpf(repaired) && termsOf(repaired).every((term) => !termFault(term)));
    if (shape) return `The SPF record at ${wanted.name} ${shape}.`;
    return `The SPF record at ${wanted.name} has the term ${quoted(odd)}, ${termFault(odd)} makes every check fail (RFC 7208 §4.6).`;
  }
  for (const modifier of ['redirect=', 'exp=']) {
    const count = terms.filter((term) => term.startsWith(modifier)).length;
    if (count > 1) {
      return `The SPF record at ${wanted.name} has ${count} ${modifier} terms, and more than one makes every check fail (RFC 7208 §6); keep one.`;
    }
  }
  return undefined;
}

/**
 * A team may add senders of its own to the record; ours must be among them. The final `all` is its choice, and what stands
 * behind it counts for nothing (RFC 7208 §5.1).
 */
function missingTerms(wanted: Wanted, spf: string): string[] {
  const present = beforeAll(termsOf(spf));
  return beforeAll(termsOf(wanted.value)).filter((term) => !present.includes(term));
}

function beforeAll(terms: string[]): string[] {
  const all = terms.findIndex((term) => /^[-~?+]?all$/.test(term));
  return (all < 0 ? terms : terms.slice(0, all)).map((term) => term.replace(/^\+/, ''));
}

function notOurs(wanted: Wanted, spf: string): string | undefined {
  const missing = missingTerms(wanted, spf);
  if (missing.length === 0) return undefined;
  const behind = missing.every((term) => termsOf(spf).some((found) => found.replace(/^\+/, '') === term));
  if (behind) {
    return `The SPF record at ${wanted.name} has ${listed(missing)} behind "all", where nothing is read any more (RFC 7208 §5.1); put it before.`;
  }
  const elsewhere = termsOf(spf).some((term) => /^([-+~?]?include:|redirect=)/.test(term))
    ? `; put ${missing.length === 1 ? 'it' : 'them'} into this record itself, because what it includes or redirects to does not count here`
    : '';
  return `The SPF record at ${wanted.name} lacks ${listed(missing)}: it says ${quoted(spf)}${elsewhere}.`;
}

function tooDear(wanted: Wanted, cost: SpfCost | undefined): string | undefined {
  if (!cost || cost.lookups <= SPF_LOOKUPS_MAX) return undefined;
  return `The SPF record at ${wanted.name} needs ${cost.lookups} DNS look-ups or more, and beyond ${SPF_LOOKUPS_MAX} every check fails (RFC 7208 §4.6.4); take includes out or replace them by addresses.`;
}

/** What is allowed and yet unwise. */
function advice(wanted: Wanted, spf: string, cost: SpfCost | undefined): string | null {
  const [broken] = cost?.broken ?? [];
  if (broken) {
    const what = broken.why === 'absent' ? 'no SPF record' : 'more than one SPF record';
    return `The SPF record at ${wanted.name} includes ${shown(broken.name)}, which has ${what}, so a check that comes to it fails (RFC 7208 §5.2).`;
  }
  if (!termsOf(spf).some((term) => term === 'all' || term === '+all')) return null;
  return `The SPF record at ${wanted.name} has +all, which lets everybody send in the name of ${wanted.domain}; end it in ~all or -all.`;
}
