import type { Flag } from '../families/family.ts';

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

/** The option of a field, without its dashes. */
export const optionOf = (field: string, { flag }: Flag): string => flag ?? field.replaceAll('_', '-');

/** As commander calls an option: `--scheduled-at` is `scheduledAt`. */
export const attributeOf = (option: string): string =>
  option.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
