import type { Command } from 'commander';
import { NAMED, namedBy } from '../families/named.ts';
import { everyFamily } from '../output/advice.ts';
import { findOptionNames } from './command-options.ts';
import {
  loadContract,
  listOperations,
  resolveRef,
  type OperationEntry,
  type Schema,
} from '../../src/contract/index.ts';
import * as families from '../families/index.ts';

/**
 * The kinds of name that the arguments and options of a command take, as listed by `rasket names`; '' if they cannot be
 * listed.
 */
interface NamedWords {
  args: readonly string[];
  flags: Readonly<Record<string, string>>;
}

/** Items inside another item are not listed, because that one would have to be named first. */
const isListed = (kind: string): boolean =>
  everyFamily.some(
    ({ list }) => list?.operation === NAMED[kind]?.list && Object.keys(list?.path ?? { x: 0 }).length === 0,
  );

export function namedWords(command: Command): NamedWords {
  const fields = Object.entries(findOptionNames(command));
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

/** The values that the contract lists for an option, by the words of its command: `emails list --status`. */
export function flagValues(): ReadonlyMap<string, readonly string[]> {
  const contract = loadContract();
  const operations = new Map(listOperations(contract).map((entry) => [entry.operationId, entry]));
  const readEnumValues = (schema: unknown): readonly string[] | undefined => {
    const { enum: values } = resolveRef(contract, (schema ?? {}) as Schema) as { enum?: readonly unknown[] };
    return values?.every((value) => typeof value === 'string') ? (values as string[]) : undefined;
  };
  const values = new Map<string, readonly string[]>();
  for (const family of Object.values(families)) {
    if (typeof family !== 'object' || !('command' in family)) continue;
    const { command, list, actions = [] } = family as families.Family;
    for (const { operation, verb, ...one } of [...(list ? [list] : []), ...actions]) {
      const fields = collectFields(contract, operations.get(operation));
      for (const [field, { flag = field.replaceAll('_', '-'), choices }] of Object.entries(
        'filters' in one ? one.filters : one.flags,
      )) {
        // If several values may be separated by commas, the contract has a pattern instead of a list.
        const known = readEnumValues(fields[field]) ?? choices;
        if (known) values.set(`${command} ${verb} --${flag}`, known);
      }
    }
  }
  return values;
}

function collectFields(
  contract: ReturnType<typeof loadContract>,
  entry: OperationEntry | undefined,
): Record<string, unknown> {
  const { parameters = [], requestBody } = entry?.operation ?? {};
  const asked = parameters.map((one) => resolveRef(contract, one)).map(({ name, schema }) => [name, schema] as const);
  const body = requestBody && resolveRef(contract, requestBody).content['application/json']?.schema;
  return { ...(body && resolveRef(contract, body).properties), ...Object.fromEntries(asked) };
}
