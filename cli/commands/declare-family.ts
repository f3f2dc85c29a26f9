import { InvalidArgumentError, type Command } from 'commander';
import type { Action, Detail, Family, Flag, Key, List, Report } from '../families/family.ts';
import { act, collect, declareCommand, wholeNumber } from './declare.ts';
import { nameFields } from './field-names.ts';
import { optionOf } from './read-flags.ts';

/**
 * Everything of a family that its page alone can say, behind whatever is written by hand. Families that share a command
 * share its page of help.
 */
export function declareFamily(program: Command, family: Family, byHand?: (parent: Command) => void): void {
  const { command, alias, summary, list, get, report, actions = [] } = family;
  if (report?.verb === '') return void declareReport(program, command, report);
  const parent = program.commands.find((one) => one.name() === command) ?? program.command(command).summary(summary);
  if (alias !== undefined) parent.alias(alias);
  if (report) declareReport(parent, report.verb, report, { isDefault: true });
  byHand?.(parent);
  if (list) declareList(parent, family, list);
  if (get) declareGet(parent, family, get);
  for (const action of actions) if (!action.isSpecial) declareAction(parent, family, action);
}

const declareReport = (parent: Command, verb: string, report: Report, place = {}): Command =>
  declareCommand(parent, verb, report, place).action(
    act(async (session) => (await import('./run-report.ts')).runReport(session, report)),
  );

function declareList(parent: Command, family: Family, list: List): Command {
  const command = declareCommand(parent, list.verb, list, { isDefault: family.isUsual === 'list' });
  addWords(command, list.path);
  command.option('--limit <n>', 'how many to list; more than 100 come in several pages (default: 20)', countFromOne);
  command.option('--all', 'list all of them, page by page');
  command.option('--after <id>', `go on behind this one, towards ${list.isForward ? 'younger' : 'older'} ones`);
  if (!list.isForward) command.option('--before <id>', 'end before this one, towards newer ones');
  addFlags(command, list.filters);
  if ('start_date' in list.filters) {
    command.option('--since <time>', 'not older than 30m, 2h, 7d or an ISO 8601 time: another way to say --start-date');
  }
  addFields(command).option('--wide', 'show every column, each row on one line');
  return command.action(
    act(async (session, words, options) =>
      (await import('./run-list.ts')).runList(session, { ...family, list }, words, options),
    ),
  );
}

/** A list that goes on: its last, and then whatever is added. */
export function declareTail(parent: Command, list: List): Command {
  const name = parent.name();
  const command = declareCommand(parent, 'tail', {
    summary: 'go on listing what is added, until Ctrl-C',
    description: 'Lists the last few, oldest first, and then whatever is added. With --json each is one line.',
    example: `${name} tail`,
  });
  command.option('--lines <n>', 'how many to begin with, 1 to 100 (default: 10)', wholeNumber);
  const { start_date: _, end_date: __, ...filters } = list.filters;
  addFlags(command, filters);
  command.option('--wide', 'show every column, each row on one line');
  return command.action(
    act(async (session, ___, options) =>
      (await import('./run-tail.ts')).runTail(session, { ...list, filters }, options),
    ),
  );
}

type Run = Parameters<typeof act>[0];

export function declareGet(parent: Command, { noun }: Family, get: Detail, byHand?: Run): Command {
  const command = declareCommand(parent, get.verb, get);
  addWords(command, get.path);
  const run: Run = async (session, words, options) =>
    (await import('./run-get.ts')).runGet(session, { get, noun }, words, options);
  return addFields(command).action(act(byHand ?? run, { key: !get.needsNoKey }));
}

function declareAction(parent: Command, { noun }: Family, action: Action): Command {
  const command = declareCommand(parent, action.verb, action);
  addWords(command, action.path);
  addFlags(command, action.flags);
  if (action.clears) {
    const fields = `${action.clears.slice(0, -1).join(', ')} or ${action.clears.at(-1)}`;
    command.option('--clear <field>', `take away ${fields}; repeatable`, collect);
  }
  if (action.destroys) addYes(command);
  return command.action(
    act(async (session, words, options) =>
      (await import('./run-action.ts')).runAction(session, action, words, options, { command, noun }),
    ),
  );
}

export const addYes = (command: Command): Command => command.option('--yes', 'do it without asking');

export const addFields = (command: Command): Command =>
  command.option('--fields <names>', 'show only these fields of the API, separated by commas', namesIn);

export function addWords(command: Command, keys: Readonly<Record<string, Key>>): Command {
  for (const [parameter, { word, says }] of Object.entries(keys)) {
    command.argument(`<${word}>`, says);
    nameFields(command, { [parameter]: `<${word}>` });
  }
  return command;
}

export function addFlags(command: Command, flags: Readonly<Record<string, Flag>>): void {
  for (const [field, flag] of Object.entries(flags)) {
    if (flag.isWord) command.argument(flag.value, flag.says);
    else addOption(command, optionOf(field, flag), flag);
    nameFields(command, { [field]: flag.isWord ? flag.value : `--${optionOf(field, flag)}` });
  }
}

function addOption(
  command: Command,
  name: string,
  { value, says, isNumber, isRequired, isVariadic, isRepeatable, fromFile }: Flag,
): void {
  const taken = isVariadic ? value.replace('>', '...>') : value;
  const option = command.createOption(
    `--${name} ${taken}`,
    isRepeatable && !says.includes('repeatable') ? `${says}; repeatable` : says,
  );
  if (isNumber) option.argParser(wholeNumber);
  if (isRepeatable) option.argParser(collect);
  // A file will do as well.
  command.addOption(option.makeOptionMandatory(isRequired === true && fromFile === undefined));
  if (fromFile !== undefined)
    command.option(`--${name}-file <file>`, `a file with the ${fromFile}, - for standard input`);
}

function countFromOne(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number from 1.');
}

function namesIn(text: string): string[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.every((name) => name !== '')) return [...new Set(names)];
  throw new InvalidArgumentError('It takes names with commas between them, such as id,created_at.');
}
