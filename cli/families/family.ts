import { loadCommands, type CommandText } from '../../src/contract/index.ts';
import type { Advices, AnswerOf, Lookup, Naming, OperationId } from '../client/index.ts';
import type { Flag, Key } from './flag.ts';
import type { ItemOf, ListOperation } from './list-operation.ts';
import { NAMED } from './named.ts';

export type { Flag, Key, Syntax } from './flag.ts';
export type { ItemOf, ListOperation } from './list-operation.ts';

/** What a value says about the state of things; a reader of each kind shows it in its own way, and never by colour alone. */
export type Tone = 'plain' | 'good' | 'attention' | 'bad';

/**
 * What may be done to a value where there is little space: an id, a state, a time and what is `whole` are never cut;
 * neither is a `name`, by which people know what it is of, as an address is, and which may be long; a text is cut, a `long`
 * one stands below its row, and a `body` below everything else. A `moment` is a time that is told to the second, because
 * several of its list lie within a minute. A `number` ends where those above and below it end, and a person reads its digits
 * in groups of three.
 */
export type Kind = 'id' | 'state' | 'time' | 'moment' | 'number' | 'whole' | 'name' | 'text' | 'long' | 'body';

type NameIn<Item> = keyof Item & string;

export interface Field<Item> {
  /** The contract's name, as `--fields` takes it. */
  name: NameIn<Item> | `${NameIn<Item>}.${string}`;
  label: string;
  /** What the filter that looks at it is called, where that is neither name nor label: `--fields` takes all three. */
  filter?: string;
  /** A text, where nothing is said. */
  kind?: Kind;
  /** What is shown, where it is not the field itself; a drawing fits these columns, where they are known. */
  value?: (item: Item, columns?: number) => unknown;
  /** What a person sees in its place; a program gets the value. */
  words?: (item: Item) => string;
  tone?: (item: Item) => Tone;
  /** Not shown unless there is space for everything, or unless it is asked for by name. */
  shown?: 'wide' | 'asked';
  /** Left out of a table at a terminal, where it would take a line of its own, unless `--wide` asks for everything. */
  isAside?: true;
}

/** Shown where there is space for everything. */
export const wide = <Item>(...fields: Field<Item>[]): Field<Item>[] =>
  fields.map((field) => ({ ...field, shown: 'wide' }));

/** Shown only where they are named. */
export const asked = <Item>(...fields: Field<Item>[]): Field<Item>[] =>
  fields.map((field) => ({ ...field, shown: 'asked' }));

/** What something can be done to, and how that is said where it cannot. */
export interface Only {
  when: (item: never) => boolean;
  says: string;
}

/** What is set now, by the names of the flags that change it. */
export type Current = Lookup<object>;

/** The lines of a form that are as many as something of the same path holds, with what is set in each. */
export interface Lines {
  operation: OperationId;
  /** What they fill, each as `name=value`. */
  field: string;
  of: (answer: never) => readonly Line[];
  /** What is said where there are none. */
  empty: string;
}

export interface Line {
  name: string;
  label: string;
  flag: Flag;
  current: string;
}

/** An operation of the same path, and what it says. */
export interface Seen {
  operation: OperationId;
  tell: (item: never) => string;
}

interface Spoken {
  /** The words behind `rasket <command>`; none where the command itself is meant. */
  verb: string;
  summary: string;
  description?: string | undefined;
  /** The words behind `rasket` of one call that works as it stands. */
  example: string;
}

/** The same without the operation's types, for those who read every family alike. */
export interface List extends Spoken {
  operation: ListOperation;
  path: Readonly<Record<string, Key>>;
  filters: Readonly<Record<string, Flag>>;
  columns: readonly Field<never>[];
  /** What is said where there is nothing. */
  empty: string;
  /** The API pages it in one direction alone. */
  isForward?: true;
  /** What a form begins with that is opened on a row. */
  given?: (item: never) => Readonly<Record<string, string>>;
}

export interface Detail extends Spoken {
  operation: OperationId;
  path: Readonly<Record<string, Key>>;
  fields: readonly Field<never>[];
  needsNoKey?: true;
  parts?: Parts;
  /** What a person asks next, as the item stands. */
  hint?: (item: never) => Advices;
}

/** What an item holds several of, shown as a table of its own. */
export interface Parts {
  label: string;
  of: (item: never) => readonly object[];
  columns: readonly Field<never>[];
  /** What there is to copy of one. */
  copy: (part: never) => string;
}

/** Makes a command that the API advises lead to the server that was asked, or names where the console has it. */
export type SayCommand = (command: string) => string;

/** Rows that are made of one answer. */
export interface Report extends Spoken {
  operation: OperationId;
  /** `sayCommand` puts a command that the answer advises into the words of its reader. */
  rows: (answer: never, sayCommand?: SayCommand) => readonly object[];
  columns: readonly Field<never>[];
  /** The whole in a sentence, before the rows. */
  tell?: (answer: never) => string;
  /** What a person does next, behind the rows. */
  hint?: (answer: never) => Advices;
  /** What a form begins with that is opened on a row. */
  given?: (row: never) => Readonly<Record<string, string>>;
}

/** What can be done: an operation that answers a value, or one that takes a file of this machine. */
type Doable = OperationId | 'createContactImport' | 'createImage';

export interface Action extends Spoken {
  operation: Doable;
  /** Its key in the console, on every screen that offers it. */
  key: string;
  /** Its command stands beside that of its family: `rasket send`. */
  isBeside?: true;
  path: Readonly<Record<string, Key>>;
  /** Fields of the body, `one.two` inside of another. */
  flags: Readonly<Record<string, Flag>>;
  /** Where a field names several, one call of this operation takes them all. */
  several?: { operation: OperationId; field: string; as: string };
  /** What it always says, beside what is typed. */
  sets?: Body;
  /** The same said twice to the same is done once: its key is made of both. */
  isOnce?: true;
  /** Fields that `--clear` sets to null. */
  clears?: readonly string[];
  /** A form for one item begins with it. */
  current?: Current;
  lines?: Lines;
  /** The console offers it where it applies. */
  only?: Only;
  /** In a word, for a person; the id stands behind it. */
  done?: string;
  /** What was done, where an id does not say it. */
  tell?: (answer: never) => string;
  /** What the command line prints in its place, for programs. */
  print?: (answer: never) => string;
  /** At the command line the answer is shown as one that was asked for. */
  isShown?: true;
  /** What a person does next, in a line behind it. */
  hint?: (answer: never, body: Body) => Advices;
  /** Warns, on standard error, that something was done and may not be as it was meant. */
  warn?: (answer: never) => Advices;
  /** What is looked at afterwards and told in the console, where the answer itself says too little. */
  seen?: Seen;
  /** What there is to copy of what is told. */
  copy?: (answer: never) => string;
  destroys?: Destruction;
  /** The same, where its body names what it is done to; undefined where it names nothing, or too much. */
  destroysNamed?: (body: Body) => { says: string; name: string } | undefined;
  /** What is told once and never again is called so; in the console it stays on the screen until it is dismissed. */
  secret?: string;
}

export type Body = Readonly<Record<string, unknown>>;

/** What cannot be undone is said before it is done, and confirmed with the name of what it is done to. */
export interface Destruction {
  /** Continues "This will …". */
  says: string;
  /** Where the name is found: in the item, or in a list of items. */
  name: Naming;
}

export interface Family {
  /** `rasket <command>`, and other words for it. */
  command: string;
  alias?: string;
  summary: string;
  /** One of them, with its article. */
  noun: string;
  /** It takes the token of an operator; with the key of a team there is nothing to see, so the console leaves it out. */
  isOperators?: true;
  /** It takes a person who is signed in: no key reaches any of it. */
  isPeoples?: true;
  /** What its screens are called in the console, where command and verb do not say it. */
  screens?: { list?: string; report?: string };
  /** Operations of its part of the contract that another family declares. */
  elsewhere?: Readonly<Partial<Record<Doable, true>>>;
  /** What the command does where no verb is typed, beside a report. */
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

/** What is said of every verb stands in the contract; a family says what differs. */
type Saying = Partial<Spoken>;

export function listOf<Id extends ListOperation>(
  operation: Id,
  declared: Saying & {
    columns: readonly Field<ItemOf<Id>>[];
    /** Said where there is nothing, if there is more to say than that there are none. */
    empty?: string;
    isForward?: true;
    given?: (item: ItemOf<Id>) => Readonly<Record<string, string>>;
  },
): List {
  const { command, summary, description, example, path, flags: filters, empty = '' } = readCommand(operation);
  const columns = addUndeclared(declared.columns, operation);
  return {
    verb: readVerb(command, ''),
    summary,
    description,
    example,
    path,
    filters,
    empty,
    ...declared,
    columns,
    operation,
  };
}

export function detailOf<Id extends OperationId>(
  operation: Id,
  declared: Saying & { fields: readonly Field<AnswerOf<Id>>[]; needsNoKey?: true; parts?: Parts } & {
    hint?: (item: AnswerOf<Id>) => Advices;
  },
): Detail & { operation: Id } {
  const { command, summary, description, example, path } = readCommand(operation);
  // With a verb of its own it shows a part of what is answered.
  const fields = declared.verb === undefined ? addUndeclared(declared.fields, operation) : declared.fields;
  return { verb: readVerb(command, command), summary, description, example, path, ...declared, fields, operation };
}

/** Adds the fields of the contract that no column shows: they are shown where they are named. */
function addUndeclared<Item>(declared: readonly Field<Item>[], operation: OperationId): Field<Item>[] {
  const shown = new Set<string>(declared.map(({ name }) => name.split('.')[0] ?? ''));
  const names = readCommand(operation).fields.filter((name) => !shown.has(name)) as NameIn<Item>[];
  return [...declared, ...asked<Item>(...names.map((name) => ({ name, label: labelField(name) })))];
}

const labelField = (name: string): string => name.slice(0, 1).toUpperCase() + name.slice(1).replaceAll('_', ' ');

export const partsOf = <Item, Part extends object>(declared: {
  label: string;
  of: (item: Item) => readonly Part[];
  columns: readonly Field<Part>[];
  copy: (part: Part) => string;
}): Parts => declared;

export function reportOf<Id extends OperationId, Row extends object>(
  operation: Id,
  declared: Saying & {
    rows: (answer: AnswerOf<Id>, sayCommand?: SayCommand) => readonly Row[];
    columns: readonly Field<Row>[];
    tell?: (answer: AnswerOf<Id>) => string;
    hint?: (answer: AnswerOf<Id>) => Advices;
    given?: (row: Row) => Readonly<Record<string, string>>;
  },
): Report {
  const { command, summary, description, example } = readCommand(operation);
  return { verb: readVerb(command, ''), summary, description, example, ...declared, operation };
}

/**
 * What can be done, from the contract and from what is declared beside it. With a verb of its own it is another command for
 * the same operation, which has the words of the path and none of the other flags.
 */
export function actionOf<Id extends Doable>(
  operation: Id,
  declared: Partial<Omit<Action, 'operation' | 'destroys' | OfAnswer>> & {
    /** The contract says what is done; where its name is found may differ. */
    destroys?: Partial<Destruction> & Pick<Destruction, 'name'>;
    tell?: (answer: AnswerOfDoable<Id>) => string;
    print?: (answer: AnswerOfDoable<Id>) => string;
    hint?: (answer: AnswerOfDoable<Id>, body: Body) => Advices;
    warn?: (answer: AnswerOfDoable<Id>) => Advices;
    copy?: (answer: AnswerOfDoable<Id>) => string;
  } = {},
): Action {
  const { path } = readCommand(operation);
  const described: Partial<Action> =
    declared.verb === undefined ? describeAction(readCommand(operation)) : { flags: {} };
  const destroys = (declared.destroys || described.destroys) && { ...described.destroys, ...declared.destroys };
  if (declared.tell || declared.print) delete described.done;
  return { path, ...described, ...declared, ...(destroys && { destroys }), operation } as Action;
}

type AnswerOfDoable<Id extends Doable> = Id extends OperationId ? AnswerOf<Id> : never;
type OfAnswer = 'tell' | 'print' | 'hint' | 'warn' | 'copy';

/** The further commands that the contract has for an operation. */
export const furtherActions = (operation: OperationId): Action[] =>
  (readCommand(operation).also ?? []).map((command) => ({ path: command.path, ...describeAction(command), operation }));

function describeAction(described: CommandText): Omit<Action, 'operation' | 'path'> {
  const { command, key = '', summary, description, example, path, flags, clears, destroys, sets, ...its } = described;
  const verb = readVerb(command, command);
  const done = its.done ?? DONE[verb];
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
    ...(current && Object.keys(flags).length > 0 && { current: currentIn(current) }),
    ...(destroys !== undefined && {
      destroys: { says: destroys, name: nameRemoved(Object.keys(path).at(-1) ?? '', its.removed as OperationId) },
    }),
    ...(done !== undefined && { done }),
  };
}

/** Said of what most verbs do; the id stands after it. */
const DONE: Readonly<Record<string, string>> = {
  create: 'Created',
  update: 'Changed',
  delete: 'Deleted',
  duplicate: 'Created',
};

/** What is removed is named as it is typed: by its name, its address, or its id. */
function nameRemoved(parameter: string, reading: OperationId | undefined): Naming {
  const known = NAMED[parameter];
  const of = (item: never): string => {
    const { email, subject, id } = item as { email?: string; subject?: string | null; id: string };
    return known?.namesOf(item).find((name) => name) ?? email ?? (subject || id);
  };
  if (reading !== undefined) return { operation: reading, isList: false, of };
  if (!known) throw new Error(`nothing reads what is named by ${parameter}`);
  return { operation: known.list, isList: true, of };
}

/**
 * Adds the commands of the contract that are called as the family is, belong to the same part as its other operations and
 * are not declared by hand: such an operation needs no code here.
 */
export function withRest<Given extends Family>(family: Given): Given {
  const { command: called, list, get, report, actions = [], elsewhere = {} } = family;
  const declared = [list, get, report, ...actions].flatMap((one) => (one ? [one] : []));
  const known = new Set<string>([...Object.keys(elsewhere), ...declared.map(({ operation }) => operation)]);
  const verbs = new Set(declared.map(({ verb }) => verb));
  const tag = declared[0] && readCommand(declared[0].operation).tag;
  const rest = Object.entries(commands).filter(
    ([id, { tag: its, command }]) =>
      its === tag && command.startsWith(`${called} `) && !known.has(id) && !verbs.has(readVerb(command, command)),
  );
  const added = rest.map(([id, { path }]) =>
    actionOf(id as OperationId, /^get/.test(id) ? { path, tell: tellFields } : {}),
  );
  return { ...family, actions: [...actions, ...added] };
}

const tellFields = (answer: unknown): string =>
  Object.entries(answer as object)
    .filter(([name, value]) => name !== 'object' && (typeof value !== 'object' || value === null))
    .map(([name, value]) => `${name}: ${String(value ?? '')}`)
    .join('\n');

export const seenIn = <Id extends OperationId>(operation: Id, tell: (item: AnswerOf<Id>) => string): Seen => ({
  operation,
  tell,
});

/** What an operation of the same path answers, as the flags name it. */
export const currentIn = <Id extends OperationId>(
  operation: Id,
  of: (item: AnswerOf<Id>) => object = (item) => item as object,
): Current => ({ operation, isList: false, of });

/** The item with this id in a list, as the flags name it. */
export const currentAmong = <Id extends ListOperation>(
  operation: Id,
  of: (item: ItemOf<Id>) => object = (item) => item as object,
): Current => ({ operation, isList: true, of });

export const linesIn = <Id extends OperationId>(
  operation: Id,
  field: string,
  empty: string,
  of: (answer: AnswerOf<Id>) => readonly Line[],
): Lines => ({ operation, field, empty, of });

/** The name of what an operation of the same path answers. */
export const nameIn = <Id extends OperationId>(operation: Id, of: (item: AnswerOf<Id>) => string): Naming => ({
  operation,
  isList: false,
  of,
});

/** The name of the item with this id in a list. */
export const nameAmong = <Id extends ListOperation>(operation: Id, of: (item: ItemOf<Id>) => string): Naming => ({
  operation,
  isList: true,
  of,
});
