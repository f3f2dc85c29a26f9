import type { Answer, SpfCost } from './observations.ts';

/** RFC 7208 §4.6.4. */
export const SPF_LOOKUPS_MAX = 10;

/** Where counting ends: more than this says nothing new, and a record may include itself. */
const COUNTED_MAX = 3 * SPF_LOOKUPS_MAX;

export const isSpf = (text: string): boolean => /^v=spf1(?: |$)/i.test(text);

/** The terms of an SPF record in lower case, without its version. Only blanks of ASCII are between terms. */
export const termsOf = (text: string): string[] =>
  text
    .toLowerCase()
    .split(/[ \t\r\n]+/)
    .slice(1, 200)
    .filter(Boolean);

/**
 * Counts the look-ups that evaluating a record takes at most. `texts` holds the TXT answers known so far; a caller that asks for
 * the `missing` ones and counts again comes to an end, because counting does.
 */
export function countSpfLookups(record: string, texts: ReadonlyMap<string, Answer>): SpfCost {
  const missing = new Set<string>();
  const broken = new Map<string, 'absent' | 'several'>();
  let lookups = 0;
  const count = (text: string, depth: number): void => {
    for (const term of termsOf(text)) {
      if (lookups >= COUNTED_MAX || depth >= COUNTED_MAX) return;
      const { isAsking, next } = readTerm(term);
      if (isAsking) lookups++;
      if (next === undefined) continue;
      const answer = texts.get(next);
      if (answer === undefined) missing.add(next);
      else if (answer.kind !== 'failed') {
        const [spf, ...more] = answer.kind === 'found' ? answer.records.filter(isSpf) : [];
        if (spf === undefined || more.length > 0) broken.set(next, spf === undefined ? 'absent' : 'several');
        else count(spf, depth + 1);
      }
    }
  };
  count(record, 0);
  return { lookups, missing: [...missing], broken: [...broken].map(([name, why]) => ({ name, why })) };
}

function readTerm(term: string): { isAsking: boolean; next?: string } {
  const [, mechanism = '', argument = ''] =
    /^[-+~?]?(include|a|mx|ptr|exists|redirect)(?:[:=]([^/]*))?(?:\/|$)/.exec(term) ?? [];
  if (mechanism === '') return { isAsking: false };
  const isFollowed = mechanism === 'include' || mechanism === 'redirect';
  // A macro is known only when mail arrives (RFC 7208 §7).
  if (!isFollowed || argument.includes('%') || argument === '') return { isAsking: true };
  return { isAsking: true, next: argument.replace(/\.$/, '') };
}
