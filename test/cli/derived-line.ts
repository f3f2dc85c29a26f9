import type { Command } from 'commander';
import { namesOf } from '../../cli/commands/command-options.ts';
import * as families from '../../cli/families/index.ts';
import {
  resolveRef,
  type OpenApiDocument,
  type OperationEntry,
  type OrRef,
  type Schema,
} from '../../src/contract/index.ts';

/** What a command line gives to a field, and what arrives of it. */
export interface Given {
  words: string[];
  sent: unknown;
}

/** What the contract and the commands do not say about an operation. */
export interface Exception {
  /** The words of its command, where no family declares one. */
  command?: string;
  /** Fields whose words have a syntax of their own, or whose value decides what is called. */
  given?: Record<string, Given>;
  /** Fields that no option sets, and why. */
  without?: Record<string, string>;
  /** Options that stand for no field, and why. */
  beside?: Record<string, string>;
  /** Options that the run needs beside those of the fields. */
  more?: string[];
  /** Where the answer of the example is not the one that was hoped for. */
  exitCode?: number;
}

/** A command line with every field of an operation, and the call that it must make. */
export interface DerivedLine {
  words: string[];
  path: string;
  sent: Record<string, unknown>;
  /** Fields for which the command has neither an option nor a word. */
  unreachable: string[];
  /** Options of the command that set no field. */
  fieldless: string[];
}

const COMMON = ['--json', '--url', '--api-key', '--profile', '--data'];
/** How a list or an item is shown, and how much of it; `test/cli/lists.test.ts` tries each. */
const SHOWING = ['--all', '--fields', '--since', '--wide', '--yes'];

/** The command that reaches an operation: the one that its family declares, or the one that the exception names. */
export function commandOf(program: Command, id: string, { command }: Exception = {}): Command | undefined {
  if (command !== undefined) return find(program, command.split(' '));
  for (const family of Object.values(families)) {
    if (typeof family !== 'object') continue;
    const { list, get, report, actions = [] } = family as families.Family;
    const declared =
      [list, get, report, ...actions].find((one) => one?.operation === id) ??
      actions.find(({ several }) => several?.operation === id);
    if (!declared) continue;
    const verb = declared.verb.split(' ').filter(Boolean);
    // `rasket send` stands beside its family's command.
    return find(program, [family.command, ...verb]) ?? find(program, verb);
  }
  return undefined;
}

function find(program: Command, words: readonly string[]): Command | undefined {
  return words.reduce<Command | undefined>(
    (command, word) => command?.commands.find((one) => one.name() === word),
    program,
  );
}

export function deriveLine(
  contract: OpenApiDocument,
  entry: OperationEntry,
  command: Command,
  { given = {}, without = {}, more = [] }: Exception,
  /** Takes --no-x where there is one. */
  isNegated: boolean,
): DerivedLine {
  // What the client fills into the path is the example.
  const values = new Map(entry.parameters.map(({ name, example }) => [name, String(example)]));
  const positional = new Map<string, string[]>();
  const options: string[] = [];
  const sent: Record<string, unknown> = {};
  const unreachable: string[] = [];
  const used = new Set(more.filter((word) => word.startsWith('--')));

  const speak = (place: string, words: readonly string[]): void => {
    if (place.startsWith('<')) positional.set(place, [...words]);
    else options.push(...words);
    for (const word of [place, ...words]) if (word.startsWith('--')) used.add(word);
  };
  const giveField = (field: string, schema: OrRef<Schema>, example: unknown): unknown => {
    const known = given[field];
    const parts = Object.entries(resolveRef<Schema>(contract, schema).properties ?? {});
    if (!known && parts.some(([part]) => namesOf(command)[`${field}.${part}`])) {
      const inner = (example ?? {}) as Record<string, unknown>;
      return Object.fromEntries(parts.map(([part, one]) => [part, giveField(`${field}.${part}`, one, inner[part])]));
    }
    const place = placeOf(command, field, isNegated);
    if (known) {
      speak(known.words.find((word) => word.startsWith('--')) ?? place ?? '', known.words);
      return known.sent;
    }
    if (place === undefined) return void unreachable.push(field);
    const value = sampleOf(contract, field, schema, example);
    const option = command.options.find(({ long }) => long === place);
    if (option && option.defaultValue === value) throw unsaid(entry, field, 'beside its default');
    if (value === undefined) throw unsaid(entry, field, 'for a form of its own');
    if (typeof value === 'boolean') speak(place, [place]);
    else speak(place, [...(place.startsWith('--') ? [place] : []), String([value].flat()[0])]);
    return typeof value === 'boolean' ? !place.startsWith('--no-') : value;
  };

  for (const { name, in: kind, schema, example } of entry.parameters) {
    if (name in without) continue;
    const value = giveField(name, schema, example);
    if (kind === 'path') values.set(name, String(value));
    else sent[name] = kind === 'query' && value !== undefined ? String(value) : value;
  }
  const media = entry.operation.requestBody?.content['application/json'];
  const example = (media?.example ?? Object.values(media?.examples ?? {})[0]?.value ?? {}) as Record<string, unknown>;
  for (const [field, schema] of Object.entries((media && resolveRef(contract, media.schema).properties) ?? {})) {
    if (!(field in without)) sent[field] = giveField(field, schema, example[field]);
  }
  const asks = command.options.some(({ long }) => long === '--yes') ? ['--yes'] : [];
  return {
    words: [
      ...chainOf(command),
      ...command.registeredArguments.flatMap((one) => positional.get(`<${one.name()}>`) ?? []),
      ...options,
      ...more,
      ...asks,
    ],
    path: entry.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values.get(name) ?? '')),
    sent,
    unreachable,
    fieldless: fieldlessOf(command, used),
  };
}

const unsaid = ({ operationId }: OperationEntry, field: string, why: string): Error =>
  new Error(`${operationId}: say in parity-exceptions.ts what ${field} is given, ${why}`);

/** A file that holds a field, `--html-file`, is another way to say it. */
const fieldlessOf = (command: Command, used: ReadonlySet<string>): string[] =>
  command.options
    .map(({ long }) => long ?? '')
    .filter((long) => ![...COMMON, ...SHOWING, ...used].includes(long) && !used.has(opposite(long)))
    .filter((long) => !used.has(long.replace(/-file$/, '')));

const chainOf = (command: Command): string[] => (command.parent ? [...chainOf(command.parent), command.name()] : []);

const opposite = (long: string): string =>
  long.startsWith('--no-') ? long.replace('--no-', '--') : long.replace('--', '--no-');

/** The option or the word for a field: what the command says itself, or what has its name. */
function placeOf(command: Command, field: string, isNegated: boolean): string | undefined {
  const said = namesOf(command)[field];
  const word = field.toLowerCase().replaceAll('_', '-');
  const longs = command.options.map(({ long }) => long ?? '');
  const plain = said ?? [`--${word}`, `--no-${word}`].find((long) => longs.includes(long));
  if (plain?.startsWith('--')) return isNegated && longs.includes(opposite(plain)) ? opposite(plain) : plain;
  if (plain !== undefined) return plain;
  const argument = command.registeredArguments.find((one) => [word, word.replace(/-id$/, '')].includes(one.name()));
  return argument && `<${argument.name()}>`;
}

/**
 * A value that the schema takes, and no other field has: the contract's own example where there is one, so that a field in
 * another's place is seen.
 */
function sampleOf(contract: OpenApiDocument, field: string, given: OrRef<Schema>, example: unknown): unknown {
  const schema = resolveRef<Schema>(contract, given);
  const forms = [schema, ...(schema.anyOf ?? []).map((one) => resolveRef<Schema>(contract, one))];
  const list = forms.find(({ type }) => type === 'array');
  // What may be one or a list of several is sent as a list.
  if (list?.items) {
    const item = sampleOf(contract, field, list.items, [example].flat()[0]);
    return item === undefined ? undefined : [item];
  }
  const types = forms.flatMap(({ type }) => type ?? []);
  const values = forms.flatMap((form) => form.enum ?? []);
  // An example of a number is often what is meant where none is given.
  if (types.includes('integer') && schema.minimum !== undefined) return schema.minimum;
  // after and before have the same example.
  if (field === 'before') return String(example).replace(/.$/, (last) => (last === '9' ? '8' : '9'));
  if (typeof example === 'string' || typeof example === 'number' || typeof example === 'boolean') return example;
  if (values.length > 0) return values[0];
  if (types.includes('boolean')) return true;
  if (!types.includes('string')) return undefined;
  return forms.some(({ format }) => format === 'uuid') ? uuidOf(field) : field.replaceAll('_', '-');
}

const uuidOf = (field: string): string =>
  `019a9c1e-7d52-7c3a-9a54-${Buffer.from(field).toString('hex').slice(-12).padStart(12, '0')}`;
