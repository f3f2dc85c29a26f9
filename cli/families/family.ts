import { loadCommands, type CommandText } from '../../src/contract/index.ts';
import type { Advice, Advices, AnswerOf, ByHand, ContractId, Lookup, Naming, OperationId } from '../client/index.ts';
import { buildFields, capitalise, type Columns, type Field, type Fields } from './columns.ts';
import type { Flag, Key } from './flag.ts';
import type { ItemOf, ListOperation } from './list-operation.ts';
import { NAMED } from './named.ts';

export type { AnswerOf } from '../client/index.ts';
export { buildFields, type Field, type Fields, type Kind, type Tone } from './columns.ts';
export type { Flag, Key, Syntax } from './flag.ts';
export type { ItemOf, ListOperation } from './list-operation.ts';

/** Limits an action to some items, and says so for the others. */
export interface Only {
  when: (item: never) => boolean;
  says: string;
}

/** The current values, by the names of the flags that change them. */
export type Current = Lookup<object>;

/** Form lines, one for each entry that an operation of the same path returns, with the current value of each. */
export interface Lines {
  operation: OperationId;
  /** The field that they fill, each as `name=value`. */
  field: string;
  of: (answer: never) => readonly Line[];
  /** The text to show if there are none. */
  empty: string;
}

export interface Line {
  name: string;
  label: string;
  flag: Flag;
  current: string;
}

/** An operation of the same path, and how to describe its response. */
export interface Seen {
  operation: OperationId;
  describe: (item: never) => string;
}

interface Spoken {
  /** The words after `rasket <command>`; none for the command itself. */
  verb: string;
  summary: string;
  description?: string | undefined;
  /** The words after `rasket` of a complete call. */
  example: string;
}

/** A list without the operation's types, for code that handles every family alike. */
export interface List extends Spoken {
  operation: ListOperation;
  path: Readonly<Record<string, Key>>;
  filters: Readonly<Record<string, Flag>>;
  columns: readonly Field<never>[];
  /** The text to show if the list is empty. */
  empty: string;
  /** The API pages it only forwards. */
  isForward?: true;
  /** Initial values of a form that is opened on a row. */
  given?: (item: never) => Readonly<Record<string, string>>;
}

export interface Detail extends Spoken {
  operation: OperationId;
  path: Readonly<Record<string, Key>>;
  fields: readonly Field<never>[];
  needsNoKey?: true;
  parts?: Parts;
  /** The usual next steps, given the state of the item. */
  hint?: (item: never) => Advices;
}

/** Several values of an item, shown as a table of its own. */
export interface Parts {
  label: string;
  of: (item: never) => readonly object[];
  columns: readonly Field<never>[];
  /** The text to copy for one of them. */
  copy: (part: never) => string;
}

/** Words a command that the API advises: for the server that was asked, or by its place in the console. */
export type FormatCommand = (command: string) => string;

/** Rows that are made from one response. */
export interface Report extends Spoken {
  operation: OperationId;
  /** `sayCommand` words a command that the response advises for its reader. */
  rows: (answer: never, sayCommand?: FormatCommand) => readonly object[];
  columns: readonly Field<never>[];
  /** The whole in a sentence, before the rows. */
  describe?: (answer: never) => string;
  /** The usual next steps, shown after the rows. */
  hint?: (answer: never) => Advices;
  /** Initial values of a form that is opened on a row. */
  given?: (row: never) => Readonly<Record<string, string>>;
  /** The rows are findings: a person sees a paragraph for each at the command line. */
  hasFindings?: true;
}

/** An operation of an action: one that returns a value, or one that takes a local file. */
type Doable = OperationId | 'createContactImport' | 'createImage';

export interface Action extends Spoken {
  operation: Doable;
  /** Its key in the console, on every screen that offers it. */
  key: string;
  /** Its command is on the same level as that of its family: `rasket send`. */
  isBeside?: true;
  path: Readonly<Record<string, Key>>;
  /** Fields of the body, `one.two` inside of another. */
  flags: Readonly<Record<string, Flag>>;
  /** If a field names several items, one call of this operation takes them all. */
  several?: { operation: OperationId; field: string; as: string };
  /** Fields that are always sent, in addition to the typed ones. */
  sets?: Body;
  /** Sending the same to the same item twice is done once: the idempotency key is derived from both. */
  isOnce?: true;
  /** Fields that `--clear` sets to null. */
  clears?: readonly string[];
  /** A form for one item begins with it. */
  current?: Current;
  lines?: Lines;
  /** The items to which the console offers it. */
  only?: Only;
  /** The outcome in a word, for people; the id follows it. */
  done?: string;
  /** The outcome, if an id does not describe it. */
  describe?: (answer: never) => string;
  /** The text that the command line prints instead, for programs. */
  print?: (answer: never) => string;
  /** At the command line the response is shown like a requested item. */
  isShown?: true;
  /** The usual next steps, in a line after it. */
  hint?: (answer: never, body: Body) => Advices;
  /** Warns, on standard error, that the outcome may differ from what was intended. */
  warn?: (answer: never) => Advices;
  /** Requested afterwards and shown in the console, if the response itself says too little. */
  seen?: Seen;
  /** The text to copy from the outcome. */
  copy?: (answer: never) => string;
  destroys?: Destruction;
  /** The same, if its body names the item; undefined if it names none, or too many. */
  destroysNamed?: (body: Body) => { says: string; name: string } | undefined;
  /** The name of a value that is shown only once; the console keeps it on the screen until it is dismissed. */
  secret?: string;
}

export type Body = Readonly<Record<string, unknown>>;

/** Describes an irreversible action before it is done; it is confirmed with the name of the item. */
export interface Destruction {
  /** Continues "This will …". */
  says: string;
  /** The place of the name: in the item, or in a list of items. */
  name: Naming;
}

export interface Family {
  /** `rasket <command>`, and other words for it. */
  command: string;
  alias?: string;
  summary: string;
  /** The singular, with its article. */
  noun: string;
  /** It takes the token of an operator; with the key of a team there is nothing to see, so the console leaves it out. */
  isOperators?: true;
  /** It requires a person who is signed in: no key has access. */
  isPeoples?: true;
  /** Names of its screens in the console, if they do not follow from command and verb. */
  screens?: { list?: string; report?: string };
  /** Operations of its part of the contract that another family declares. */
  elsewhere?: Readonly<Partial<Record<Doable, true>>>;
  /** The default of the command without a verb, besides a report. */
  isUsual?: 'list';
  list?: List;
  get?: Detail;
  report?: Report;
  actions?: readonly Action[];
}

const commands = loadCommands();

function readCommand(operation: OperationId | 'createContactImport' | 'createImage'): CommandText {
  const command = commands[operation];
  if (!command) throw new Error(`${operation} has no command: give it an x-cli in the contract`);
  return command;
}

/** The words of a command after that of its family: `create` of `topics create`, and `send` of `send`, which has none. */
function readVerb(command: string, alone: string): string {
  const [, ...verb] = command.split(' ');
  return verb.length === 0 ? alone : verb.join(' ');
}

/** The contract has the texts of every verb; a family declares only what differs. */
type FamilyTexts = Partial<Spoken>;

/** The items that operations list, or the one that they show. */
export type ItemIn<Id extends OperationId> = Id extends ListOperation ? ItemOf<Id> : AnswerOf<Id>;
export type FieldsOf<Id extends OperationId> = Fields<ItemIn<Id>>;

export function declareList<Id extends ListOperation>(
  operation: Id,
  {
    fields,
    columns,
    wide,
    asked,
    ...declared
  }: FamilyTexts &
    Columns<ItemOf<Id>> & {
      /** Shown if the list is empty, when there is more to say than that. */
      empty?: string;
      isForward?: true;
      given?: (item: ItemOf<Id>) => Readonly<Record<string, string>>;
    },
): List {
  const { command, summary, description, example, path, flags: filters, empty = '', ...its } = readCommand(operation);
  return {
    verb: readVerb(command, ''),
    summary,
    description,
    example,
    path,
    filters,
    empty,
    ...declared,
    columns: addUndeclared(buildFields({ fields, columns, wide, asked }, its.fields), operation),
    operation,
  };
}

export function declareDetail<Id extends OperationId>(
  operation: Id,
  {
    fields,
    columns,
    wide,
    asked,
    ...declared
  }: FamilyTexts &
    Columns<AnswerOf<Id>> & {
      needsNoKey?: true;
      parts?: Parts;
      hint?: (item: AnswerOf<Id>) => Advices;
    },
): Detail & { operation: Id } {
  const { command, summary, description, example, path, ...its } = readCommand(operation);
  const built = buildFields({ fields, columns, wide, asked }, its.fields);
  return {
    verb: readVerb(command, command),
    summary,
    description,
    example,
    path,
    ...declared,
    // With a verb of its own it shows a part of the response.
    fields: declared.verb === undefined ? addUndeclared(built, operation) : built,
    operation,
  };
}

/** Adds the fields of the contract that no column shows: they are shown if they are requested by name. */
function addUndeclared<Item>(declared: readonly Field<Item>[], operation: OperationId): Field<Item>[] {
  const shown = new Set<string>(declared.map(({ name }) => name.split('.')[0] ?? ''));
  const names = Object.keys(readCommand(operation).fields).filter((name) => !shown.has(name)) as Field<Item>['name'][];
  return [...declared, ...names.map((name) => ({ name, label: capitalise(name), shown: 'asked' as const }))];
}

export const declareParts = <Item, Part extends object>({
  label,
  of,
  copy,
  ...columns
}: {
  label: string;
  of: (item: Item) => readonly Part[];
  copy: (part: Part) => string;
} & Columns<Part>): Parts => ({ label, of, copy, columns: buildFields(columns) });

/** Returns a report. A call names the type of its rows, which would otherwise be inferred from the fields that differ. */
export function declareReport<Id extends OperationId, Row extends object>(
  operation: Id,
  {
    fields,
    columns,
    wide,
    asked,
    ...declared
  }: {
    rows: (answer: AnswerOf<Id>, sayCommand?: FormatCommand) => readonly Row[];
    describe?: (answer: AnswerOf<Id>) => string;
    hint?: (answer: AnswerOf<Id>) => Advices;
    given?: (row: Row) => Readonly<Record<string, string>>;
    hasFindings?: true;
  } & FamilyTexts &
    Columns<Row>,
): Report {
  const { command, summary, description, example } = readCommand(operation);
  const built = buildFields({ fields, columns, wide, asked });
  return { verb: readVerb(command, ''), summary, description, example, ...declared, columns: built, operation };
}

/**
 * Returns an action, from the contract and from the declaration. With a verb of its own it is another command for the
 * same operation, which has the words of the path and none of the other flags.
 */
export function declareAction<Id extends Doable>(
  operation: Id,
  declared: Partial<Omit<Action, 'operation' | 'destroys' | OfAnswer>> & {
    /** The contract describes what is done; the place of the name may differ. */
    destroys?: Partial<Destruction> & Pick<Destruction, 'name'>;
    describe?: (answer: AnswerOfDoable<Id>) => string;
    print?: (answer: AnswerOfDoable<Id>) => string;
    hint?: (answer: AnswerOfDoable<Id>, body: Body) => Advices;
    warn?: (answer: AnswerOfDoable<Id>) => Advices;
    copy?: (answer: AnswerOfDoable<Id>) => string;
  } = {},
): Action {
  const { path } = readCommand(operation);
  const described: Partial<Action> =
    declared.verb === undefined ? describeAction(readCommand(operation), operation) : { flags: {} };
  const destroys = (declared.destroys || described.destroys) && { ...described.destroys, ...declared.destroys };
  if (declared.describe || declared.print) delete described.done;
  return { path, ...described, ...declared, ...(destroys && { destroys }), operation } as Action;
}

type AnswerOfDoable<Id extends Doable> = Id extends OperationId ? AnswerOf<Id> : never;
type OfAnswer = 'describe' | 'print' | 'hint' | 'warn' | 'copy';

/** The further commands that the contract has for an operation. */
export const furtherActions = (operation: OperationId): Action[] =>
  (readCommand(operation).also ?? []).map((command) => ({
    path: command.path,
    ...describeAction(command, operation),
    operation,
  }));

function describeAction(described: CommandText, operation: Doable): Omit<Action, 'operation' | 'path'> {
  const { command, key = '', summary, description, example, path, flags, clears, destroys, sets, ...its } = described;
  const verb = readVerb(command, command);
  const done = its.done ?? DONE[verb] ?? DONE[/^[a-z]+/.exec(operation)?.[0] ?? ''];
  const current = its.current as OperationId | undefined;
  return {
    verb,
    key,
    summary,
    ...(description !== undefined && { description }),
    example,
    ...(verb === command && { isBeside: true as const }),
    flags,
    ...(clears && { clears }),
    ...(sets && { sets }),
    ...(current && Object.keys(flags).length > 0 && { current: readIn(current, (item) => item as object) }),
    ...(destroys !== undefined && {
      destroys: { says: destroys, name: nameRemoved(Object.keys(path).at(-1) ?? '', its.removed as OperationId) },
    }),
    ...(done !== undefined && { done }),
  };
}

/** The outcome of most verbs and operations; the id follows it. */
const DONE: Readonly<Record<string, string>> = {
  create: 'Created',
  update: 'Changed',
  delete: 'Deleted',
  duplicate: 'Created',
  revoke: 'Revoked',
};

/** Names the item to remove as it is typed: by its name, its address, or its id. */
function nameRemoved(parameter: string, reading: OperationId | undefined): Naming {
  const known = NAMED[parameter];
  const of = (item: never): string => {
    const { email, subject, id } = item as { email?: string; subject?: string | null; id: string };
    return known?.listNames(item).find((name) => name) ?? email ?? (subject || id);
  };
  if (reading !== undefined) return { operation: reading, isList: false, of };
  if (!known) throw new Error(`no operation reads the object named by ${parameter}`);
  return { operation: known.list, isList: true, of };
}

type Given = Partial<Family>;

/** Returns a family whose command, noun and summary are those of its operations in the contract, unless it has others. */
export function declareFamily<One extends Given>(family: One): One & Family {
  const { list, get, report, actions = [] } = family;
  const operation = (list ?? get ?? report ?? actions[0])?.operation;
  if (operation === undefined) throw new Error('family declared without an operation');
  const [command = ''] = readCommand(operation).command.split(' ');
  const keys = [get, ...actions].flatMap((one) => Object.keys(one?.path ?? {}).slice(-1));
  const [noun = ''] = keys.map((key) => NAMED[key]?.noun ?? '');
  return { command, summary: list?.summary ?? '', noun: `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`, ...family };
}

/**
 * Adds the commands of the contract that begin with the family's command, belong to the same part as its other
 * operations and are not declared by hand: such an operation needs no code here.
 */
export function withRemaining<One extends Given>(given: One): One & Family & { actions: readonly Action[] } {
  const family = declareFamily(given);
  const { command: called, list, get, report, actions = [], elsewhere = {} } = family as Family;
  const declared = [list, get, report, ...actions].flatMap((one) => (one ? [one] : []));
  const known = new Set<string>([...Object.keys(elsewhere), ...declared.map(({ operation }) => operation)]);
  const verbs = new Set(declared.map(({ verb }) => verb));
  const tag = declared[0] && readCommand(declared[0].operation).tag;
  const rest = Object.entries(commands).filter(
    ([id, { tag: its, command }]) =>
      its === tag && command.startsWith(`${called} `) && !known.has(id) && !verbs.has(readVerb(command, command)),
  );
  const added = rest.map(([id, { path }]) =>
    declareAction(id as OperationId, /^get/.test(id) ? { path, describe: describeFields } : {}),
  );
  return { ...family, actions: [...actions, ...added] };
}

const describeFields = (answer: unknown): string =>
  Object.entries(answer as object)
    .filter(([name, value]) => name !== 'object' && (typeof value !== 'object' || value === null))
    .map(([name, value]) => `${name}: ${String(value ?? '')}`)
    .join('\n');

/** Advises the command that takes the id of the item. */
export const adviseFor =
  (words: string, command: ContractId | ByHand) =>
  ({ id }: { id: string }): Advice => ({ words, command: [command, id] });

/** Shows the warnings of a response, each on a line. */
export const adviseWarnings = ({ warnings = [] }: { warnings?: readonly string[] }): Advice[] =>
  warnings.map((words) => ({ words }));

export const seenIn = <Id extends OperationId>(operation: Id, describe: (item: AnswerOf<Id>) => string): Seen => ({
  operation,
  describe,
});

/** Finds a value in the response of an operation of the same path: a name, or the current values of the flags. */
export const readIn = <Id extends OperationId, Found>(
  operation: Id,
  of: (item: AnswerOf<Id>) => Found,
): Lookup<Found> => ({ operation, isList: false, of });

/** Finds a value of the item with this id in a list. */
export const readAmong = <Id extends ListOperation, Found>(
  operation: Id,
  of: (item: ItemOf<Id>) => Found,
): Lookup<Found> => ({ operation, isList: true, of });

export const linesIn = <Id extends OperationId>(
  operation: Id,
  field: string,
  empty: string,
  of: (answer: AnswerOf<Id>) => readonly Line[],
): Lines => ({ operation, field, empty, of });
