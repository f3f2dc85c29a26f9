import type { Typed } from '../input/index.ts';
import type { Action } from '../families/family.ts';
import { toOptionName, type Flag } from '../families/flag.ts';
import { CliFault } from '../output/cli-fault.ts';

type Options = Readonly<Record<string, unknown>>;
type Named = readonly [field: string, flag: Flag];

/**
 * Returns the values that a command line gives to the fields of an action: by the words after the path, and by its
 * options.
 */
export function readTyped({ flags, clears = [] }: Action, words: readonly unknown[], options: Options): Typed {
  const named = Object.entries(flags).filter(([, { place }]) => place !== 'form');
  const spoken = named.filter(([, { isWord }]) => isWord).map(([field], at) => [field, words[at]] as const);
  const readValue = ([field, flag]: Named): unknown => options[toAttribute(toOptionName(field, flag))];
  const typed = [
    ...spoken,
    ...named.filter(([, { isWord }]) => !isWord).map((one) => [one[0], readValue(one)] as const),
  ].filter(([, value]) => value !== undefined);
  const isEmptied = ([field, value]: readonly [string, unknown]): boolean =>
    value === '' && flags[field]?.isEmptied === true;
  const fields = Object.fromEntries(typed.filter((one) => !isEmptied(one)));
  const emptied = typed.filter(isEmptied).map(([field]) => [field, true] as const);
  const files = Object.fromEntries(
    named.flatMap(([field, flag]) => {
      const file = flag.fromFile && options[`${toAttribute(toOptionName(field, flag))}File`];
      return typeof file === 'string' ? [[field, file]] : [];
    }),
  );
  if (Object.values(files).filter((file) => file === '-').length > 1)
    throw new CliFault('standard input holds one body; read the other one from a file', 'usage');
  return {
    fields,
    files,
    cleared: {
      ...Object.fromEntries(emptied),
      ...readClearing(named, fields, options),
      ...readClears(clears, { ...fields, ...files }, options['clear'] as string[] | undefined),
    },
  };
}

/** `--clear-<flag>`. */
function readClearing(named: readonly Named[], fields: Options, options: Options): Typed['cleared'] {
  const cleared = named.flatMap(([field, flag]) => {
    const option = toOptionName(field, flag);
    const value = flag.clear && options[toAttribute(`clear-${option}`)];
    if (value === undefined) return [];
    if (value === true && field in fields)
      throw new CliFault(`--${option} and --clear-${option} cannot be used together`, 'usage');
    return [[field, value as true | string[]] as const];
  });
  return Object.fromEntries(cleared);
}

/** `--clear <field>`. */
function readClears(clears: readonly string[], given: Options, fields: readonly string[] = []): Typed['cleared'] {
  for (const field of fields) {
    if (!clears.includes(field)) {
      throw new CliFault(`--clear must be one of ${clears.join(', ')}; got ${JSON.stringify(field)}`, 'usage');
    }
    if (field in given) throw new CliFault(`${field} is both set and cleared; choose one`, 'usage');
  }
  return Object.fromEntries(fields.map((field) => [field, true] as const));
}

/** The fields that were named on the command line, and no others. */
export function readFlags(
  flags: Readonly<Record<string, Flag>>,
  options: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const given = Object.entries(flags).map(
    ([field, flag]) => [field, options[toAttribute(toOptionName(field, flag))]] as const,
  );
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

/** Returns commander's name of an option: `--scheduled-at` is `scheduledAt`. */
const toAttribute = (option: string): string =>
  option.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
