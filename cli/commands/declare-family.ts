import { InvalidArgumentError, type Command } from 'commander';
import type { Detail, Family, List, Report, Action } from '../families/family.ts';
import { act, decideNeeds, declareCommand, wholeNumber } from './declare.ts';
import type { Show, Call } from './run-action.ts';
import type { ListOptions } from './run-list.ts';
import type { Session } from './session.ts';
import { collect, nameFields } from './command-options.ts';
import { isReading, describeNames } from '../families/named.ts';
import { explainFlag, toOptionName, type Flag, type Key } from '../families/flag.ts';
import { eventTypesHelp, typeIn, typesIn } from '../input/event-types.ts';

/**
 * Holds the parts of a family that its declaration cannot express: commands of its own, and what some of its actions do
 * in addition to the one call.
 */
interface ByHand {
  add?: (parent: Command) => void;
  /** Actions by verb. */
  actions?: Readonly<Record<string, ActionByHand>>;
  /** Extends the list, which otherwise only shows its pages. */
  list?: ListByHand;
  /** How an item is shown, and the options for that. */
  shown?: { add: (command: Command) => void; show: Show };
}

interface ListByHand {
  description?: string;
  /** Options that are no filters. */
  add: (command: Command) => void;
  run: (session: Session, list: List, words: readonly (string | undefined)[], options: ListOptions) => Promise<void>;
}

/**
 * Declares everything of a family that its declaration expresses. Families that share a command share its page of help.
 */
export function declareFamily(program: Command, family: Family, byHand: ByHand = {}): void {
  const { command, alias, summary, list, get, report, actions = [] } = family;
  if (report?.verb === '') return void declareReport(program, command, family, report);
  for (const action of actions) {
    if (action.isBeside)
      declareAction(program, family, { action, shown: byHand.shown, ...byHand.actions?.[action.verb] });
  }
  const parent = program.commands.find((one) => one.name() === command) ?? program.command(command).summary(summary);
  if (alias !== undefined) parent.alias(alias);
  // If one command has several reports, the first is its default.
  if (report) declareReport(parent, report.verb, family, report, { isDefault: parent.commands.length === 0 });
  byHand.add?.(parent);
  if (list) declareList(parent, family, list, byHand.list);
  if (get) declareGet(parent, family, get, byHand.shown);
  for (const action of actions) {
    // A detail that is also declared as an action has its command already, and so does one that another family shares.
    const isThere = action.isBeside || parent.commands.some((one) => one.name() === action.verb);
    if (!isThere) declareAction(parent, family, { action, shown: byHand.shown, ...byHand.actions?.[action.verb] });
  }
}

const declareReport = (parent: Command, verb: string, family: Family, report: Report, place = {}): Command =>
  declareCommand(parent, verb, report, place).action(
    act(async (session) => (await import('./run-report.ts')).runReport(session, report), decideNeeds(family)),
  );

function declareList(parent: Command, family: Family, list: List, byHand?: ListByHand): Command {
  const { description } = byHand ?? {};
  const declared = { ...list, ...(description === undefined ? {} : { description }) };
  const command = declareCommand(parent, list.verb, declared, { isDefault: family.isUsual === 'list' });
  addWords(command, list.path, true);
  command.option('--limit <n>', 'how many to list; more than 100 take several requests (default: 20)', countFromOne);
  command.option('--all', 'list all, page by page');
  command.option('--after <id>', `list those after this one, towards ${list.isForward ? 'newer' : 'older'} ones`);
  if (!list.isForward) command.option('--before <id>', 'list those before this one, towards newer ones');
  addFlags(command, list.filters);
  if ('start_date' in list.filters) {
    command.option(
      '--since <time>',
      'only those since 30m, 2h or 7d ago, or since an ISO 8601 time; the same as --start-date',
    );
  }
  addFields(command).option('--wide', 'show every column, each row on one line');
  byHand?.add(command);
  return command.action(
    act(
      async (session, words, options: ListOptions) =>
        byHand
          ? byHand.run(session, list, words, options)
          : (await import('./run-list.ts')).runList(session, { ...family, list }, words, options),
      decideNeeds(family),
    ),
  );
}

/** Declares a command that follows a list: its last rows, and then whatever is added. */
export function declareTail(parent: Command, list: List): Command {
  const name = parent.name();
  const command = declareCommand(parent, 'tail', {
    summary: 'list new items as they are added, until Ctrl-C',
    description: 'List the last few, oldest first, and then new ones as they are added. With --json, each is one line.',
    example: `${name} tail`,
  });
  command.option('--lines <n>', 'how many to list first, 1 to 100 (default: 10)', wholeNumber);
  const { start_date: _, end_date: __, ...filters } = list.filters;
  if ('start_date' in list.filters) {
    command.option(
      '--since <time>',
      'list all since 30m, 2h or 7d ago, or since an ISO 8601 time first, instead of the last few',
    );
  }
  addFlags(command, filters);
  command.option('--wide', 'show every column, each row on one line');
  return command.action(
    act(async (session, ___, options) =>
      (await import('./run-tail.ts')).runTail(session, { ...list, filters }, options),
    ),
  );
}

type Run = Parameters<typeof act>[0];

export function declareGet(
  parent: Command,
  family: Family,
  get: Detail,
  { add, show, run: byHand }: { add?: (command: Command) => void; show?: Show; run?: Run } = {},
): Command {
  const command = declareCommand(parent, get.verb, get);
  addWords(command, get.path, true);
  const run: Run = async (session, words, options) =>
    (await import('./run-get.ts')).runGet(session, { get, noun: family.noun, show }, words, options);
  addFields(command).action(act(byHand ?? run, { ...decideNeeds(family), key: !get.needsNoKey }));
  add?.(command);
  return command;
}

const addFields = (command: Command): Command =>
  command.option('--fields <names>', 'show only these fields of the API, separated by commas', namesIn);

function countFromOne(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number of at least 1.');
}

function namesIn(text: string): string[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.every((name) => name !== '')) return [...new Set(names)];
  throw new InvalidArgumentError('It must be names separated by commas, such as id,created_at.');
}

/** Additions to the command of an action. */
export interface ActionByHand {
  /** Describes what it does in addition to the one call. */
  description?: string;
  /** Options that are no fields. */
  add?: (command: Command) => void;
  /** Replaces the one call. */
  run?: (session: Session, call: Call) => Promise<void>;
}

/** Describes groups of commands by the word that they share. */
const GROUPS: Readonly<Record<string, string>> = {
  warmup: 'limit what a new source may send, and raise the limit day by day',
};

/** Returns the command below which a verb belongs: `start` of `warmup start` is below `warmup`. */
function findParent(above: Command, verb: string): { parent: Command; verb: string } {
  const [group = '', ...rest] = verb.split(' ');
  if (rest.length === 0) return { parent: above, verb };
  const parent =
    above.commands.find((one) => one.name() === group) ?? above.command(group).summary(GROUPS[group] ?? group);
  return { parent, verb: rest.join(' ') };
}

interface Declared extends ActionByHand {
  action: Action;
  shown?: { add: (command: Command) => void; show: Show } | undefined;
}

function declareAction(above: Command, family: Family, declared: Declared): void {
  const { action, shown, add, run } = declared;
  const { parent, verb } = findParent(above, action.verb);
  const command = declareCommand(parent, verb, {
    ...action,
    ...(declared.description === undefined ? {} : { description: declared.description }),
  });
  addWords(command, action.path, isReading(action.operation));
  addFlags(command, action.flags);
  if (action.clears) {
    const fields = new Intl.ListFormat('en', { type: 'disjunction' }).format(action.clears).replace(', or ', ' or ');
    command.option('--clear <field>', `remove ${fields}; repeatable`, collect);
  }
  add?.(command);
  if (action.isShown) shown?.add(command);
  if (action.destroys ?? action.destroysNamed) command.option('--yes', 'do not ask for confirmation');
  command.action(
    act(async (session, words, options) => {
      const call: Call = { action, family, command, words, options, show: shown?.show };
      await (run ?? (await import('./run-action.ts')).runAction)(session, call);
    }, decideNeeds(family)),
  );
}

/** Adds the words of a path; `isRead` means that the named items are only read. */
export function addWords(command: Command, keys: Readonly<Record<string, Key>>, isRead = false): Command {
  for (const [parameter, { word, says, isVariadic, isOptional }] of Object.entries(keys)) {
    const names = isOptional ? undefined : describeNames(parameter, isRead);
    command.argument(isOptional ? `[${word}]` : isVariadic ? `<${word}...>` : `<${word}>`, names ?? says);
    nameFields(command, { [parameter]: `<${word}>` });
  }
  return command;
}

/** A word or an option for each field. */
export function addFlags(command: Command, flags: Readonly<Record<string, Flag>>): void {
  for (const [field, flag] of Object.entries(flags)) {
    if (flag.place === 'form') continue;
    const { value = '', isWord } = flag;
    if (isWord)
      command.argument(
        takenBy(flag),
        flag.orStdin ? `${flag.says}, or - for standard input` : explainFlag(flag),
        chooseParser(flag),
      );
    else addOption(command, toOptionName(field, flag), flag);
    nameFields(command, { [field]: isWord ? value : `--${toOptionName(field, flag)}` });
  }
  if (Object.values(flags).some(({ syntax }) => syntax?.startsWith('event type')))
    command.addHelpText('after', () => `\n${eventTypesHelp()}`);
}

function addOption(command: Command, name: string, flag: Flag): void {
  const { isRepeatable, isRequired, isBoolean, no, clear, fromFile, orElse, syntax, preset } = flag;
  const isNeeded = isRequired === true && !orElse && preset === undefined;
  // It is known only after the whole line is read which of them is given.
  const isMandatory = isNeeded && !fromFile && syntax !== 'event types';
  const repeatable = isRepeatable ? '; repeatable' : '';
  const needed = isNeeded && !isMandatory ? ` (${fromFile ? `or --${name}-file, ` : ''}required)` : '';
  const option = command.createOption(
    isBoolean ? `--${name}` : `--${name} ${takenBy(flag)}`,
    `${explainFlag(flag)}${repeatable}${needed}`,
  );
  const parse = chooseParser(flag);
  // `typeAgain` recognizes a repeatable option by its parser.
  if (isRepeatable) option.argParser(collect);
  else if (parse) option.argParser(parse);
  if (preset !== undefined) option.default(preset);
  command.addOption(option.makeOptionMandatory(isMandatory));
  if (no !== undefined) command.option(`--no-${name}`, no);
  if (fromFile !== undefined)
    command.option(`--${name}-file <file>`, `a file with the ${fromFile}; - for standard input`);
  if (clear?.value !== undefined)
    command.option(`--clear-${name} ${clear.value}`, `${clear.says}; repeatable`, collect);
  else if (clear) command.option(`--clear-${name}`, clear.says);
}

const takenBy = ({ value = '', isVariadic }: Flag): string => (isVariadic ? value.replace('>', '...>') : value);

/** A parser as commander calls it. */
type Parse = (text: string, before: unknown) => unknown;

function chooseParser({ isNumber, syntax }: Flag): Parse | undefined {
  if (isNumber) return wholeNumber;
  if (syntax === 'event types') return (text) => refusing(typesIn, text);
  return syntax === 'event type' ? (text) => refusing(typeIn, text) : undefined;
}

/** Reports the fault as one of the option, as commander does. */
function refusing<Value>(read: (text: string) => Value, text: string): Value {
  try {
    return read(text);
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
}
