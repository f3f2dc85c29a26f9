import type { Command } from 'commander';
import { NAMED, namedBy } from '../families/named.ts';
import { everyFamily } from '../output/every-family.ts';
import { namesOf } from './field-names.ts';

/** What the words and the options of a command name, as `rasket names` lists it; '' where that is nothing to be listed. */
export interface NamedWords {
  args: readonly string[];
  flags: Readonly<Record<string, string>>;
}

/** What stands below something else is listed for nobody who has not named that. */
const isListed = (kind: string): boolean =>
  everyFamily.some(
    ({ list }) => list?.operation === NAMED[kind]?.list && Object.keys(list?.path ?? { x: 0 }).length === 0,
  );

export function namedWords(command: Command): NamedWords {
  const fields = Object.entries(namesOf(command));
  const args = command.registeredArguments.map((argument) => {
    const [parameter = ''] = fields.find(([, word]) => word === `<${argument.name()}>`) ?? [];
    return parameter in NAMED && isListed(parameter) ? parameter : '';
  });
  const flags = fields.flatMap(([field, option]) => {
    const kind = option.startsWith('--') ? namedBy(field) : undefined;
    return kind !== undefined && isListed(kind) ? [[option, kind] as const] : [];
  });
  const profile = command.options.some(({ long }) => long === '--profile') ? [['--profile', 'profiles'] as const] : [];
  return {
    args: command.name() === 'use' ? ['profiles'] : args,
    flags: Object.fromEntries([...flags, ...profile]),
  };
}
