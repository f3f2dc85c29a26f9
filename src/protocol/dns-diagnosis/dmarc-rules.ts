import type { Judgement, Observations, Wanted } from './observations.ts';
import { quoted } from './shown.ts';
import { shapeFault } from './text-shape.ts';

/** RFC 7489 §6.3: a record begins with its version, and says what to do with mail that fails. */
export function judgeDmarc(wanted: Wanted, texts: readonly string[], siblings: Observations['siblings']): Judgement {
  const [policy, ...others] = texts.filter(isDmarc);
  if (policy === undefined) return withoutDmarc(wanted, texts);
  if (others.length > 0) {
    return wrong(
      `There are ${others.length + 1} DMARC records at ${wanted.name}, so receivers follow none of them; keep one.`,
    );
  }
  const p = tagOf(policy, 'p');
  if (p === undefined || !['none', 'quarantine', 'reject'].includes(p)) {
    const what = p === undefined ? 'no p= tag' : `p=${quoted(p)}`;
    return wrong(`The DMARC record at ${wanted.name} has ${what}; p must be none, quarantine or reject.`);
  }
  return { verdict: 'right', sentence: misaligned(wanted, policy, p, siblings ?? []) };
}

export const isDmarc = (text: string): boolean => /^v\s*=\s*DMARC1\s*(;|$)/.test(text);

export const tagOf = (text: string, tag: string): string | undefined =>
  text
    .split(';')
    .map((part) => part.split('=', 2).map((side) => side.trim().toLowerCase()))
    .find(([name]) => name === tag)?.[1];

const wrong = (sentence: string): Judgement => ({ verdict: 'wrong', sentence });

function withoutDmarc(wanted: Wanted, texts: readonly string[]): Judgement {
  for (const text of texts) {
    const fault = shapeFault(text, isDmarc);
    if (fault) return wrong(`The DMARC record at ${wanted.name} ${fault}.`);
  }
  const similar = texts.find((text) => /dmarc|(^|;)\s*p\s*=/i.test(text));
  if (similar === undefined) return { verdict: 'absent', sentence: null };
  return wrong(
    `The TXT record at ${wanted.name} says ${quoted(similar)}, which is no DMARC record because it does not begin with "v=DMARC1;".`,
  );
}

/**
 * Our mail is signed for the domain itself, which is aligned in every mode; its return path is a subdomain, which is aligned
 * in the relaxed mode only. One of the two must hold.
 */
function misaligned(
  wanted: Wanted,
  policy: string,
  p: string,
  siblings: NonNullable<Observations['siblings']>,
): string | null {
  const signing = siblings.filter(({ wanted: { record } }) => record === 'DKIM');
  const returnPath = siblings.filter(({ wanted: { record } }) => record === 'SPF');
  if (signing.length === 0 || signing.some(({ isRight }) => isRight)) return null;
  const from = returnPath[0]?.wanted.name ?? 'the return path';
  const isStrict = tagOf(policy, 'aspf') === 's';
  if (!isStrict && returnPath.length > 0 && returnPath.every(({ isRight }) => isRight)) return null;
  const spf = isStrict ? `aspf=s does not take SPF of ${from} for ${wanted.domain}` : `SPF of ${from} is not in place`;
  const fate = p === 'none' ? 'fails DMARC' : `fails DMARC and meets p=${p}`;
  return `Mail from ${wanted.domain} ${fate}, because the DKIM record is not in place and ${spf}; publish the DKIM record first.`;
}
