import { optionOf, type Flag } from '../families/flag.ts';

/** The fields that were named on the command line, and no others. */
export function readFlags(
  flags: Readonly<Record<string, Flag>>,
  options: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const given = Object.entries(flags).map(
    ([field, flag]) => [field, options[attributeOf(optionOf(field, flag))]] as const,
  );
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

/** As commander calls an option: `--scheduled-at` is `scheduledAt`. */
export const attributeOf = (option: string): string =>
  option.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
