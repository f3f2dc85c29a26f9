import { listOfAdvice, type Advice, type Advices } from '../client/index.ts';
import { EXIT, type Ending } from './command-process.ts';

/** A fault that the command line itself found before or after the API was called: one line each, no stack. */
export class CliFault extends Error {
  readonly exitCode: number;

  readonly advice: readonly Advice[];

  constructor(message: string, ending: Ending = 'failed', advice?: Advices) {
    super(message);
    this.advice = listOfAdvice(advice);
    this.exitCode = EXIT[ending];
  }
}

/** More wrong letters than this make another word, not a typing mistake. */
const SLIPS_MAX = 2;

export function nearestTo(text: string, known: readonly string[]): string | undefined {
  const [nearest] = known
    .map((word) => ({ word, slips: slipsBetween(word, text.toLowerCase()) }))
    .sort((a, b) => a.slips - b.slips);
  // In a short word, two letters are most of it.
  return nearest && nearest.slips <= Math.min(SLIPS_MAX, Math.ceil(text.length / 3)) ? nearest.word : undefined;
}

/** Counts the letters to add, remove or change (Levenshtein). */
function slipsBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (const [at, letter] of [...one].entries()) {
    const next = [at + 1];
    for (let i = 0; i < other.length; i++) {
      const changed = (row[i] ?? 0) + (letter === other[i] ? 0 : 1);
      next.push(Math.min(changed, (row[i + 1] ?? 0) + 1, (next[i] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

const CHOICES = /must be (?:one of )?([\w-]+(?:(?:, | or | and )[\w-]+)+); got "([^"]+)"/;

/** Returns the choice that was meant, if a refusal lists the choices and one of them is similar to the given word. */
export function meantBy(refusal: string): string | undefined {
  const [, choices, given] = CHOICES.exec(refusal) ?? [];
  return choices === undefined || given === undefined ? undefined : nearestTo(given, choices.split(/, | or | and /));
}
