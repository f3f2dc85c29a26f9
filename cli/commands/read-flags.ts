import type { Flag } from '../families/family.ts';

/** The fields that were named on the command line, and no others. */
export function readFlags(
  flags: Readonly<Record<string, Flag>>,
  options: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const given = Object.entries(flags).map(([field, { flag }]) => [field, options[attributeOf(flag ?? field)]] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

/** As commander calls an option: `--scheduled-at` is `scheduledAt`. */
const attributeOf = (flag: string): string => flag.replaceAll(/[-_](\w)/g, (_, letter: string) => letter.toUpperCase());
