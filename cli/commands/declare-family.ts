import { InvalidArgumentError, type Command } from 'commander';
import type { Detail, Family, List, Report } from '../families/family.ts';
import { act, decideNeeds, declareCommand, wholeNumber } from './declare.ts';
import { declareAction, type ActionByHand } from './declare-action.ts';
import { addFlags, addWords } from './declare-flags.ts';
import type { Show } from './run-action.ts';
import type { ListOptions } from './run-list.ts';
import type { Session } from './session.ts';

/** What of a family its page cannot say: commands of their own, and what some of its actions do beside the one call. */
interface ByHand {
  add?: (parent: Command) => void;
  /** By their verbs. */
  actions?: Readonly<Record<string, ActionByHand>>;
  /** What its list does beside showing its pages. */
  list?: ListByHand;
  /** How one is shown, and the options of that. */
  shown?: { add: (command: Command) => void; show: Show };
}

interface ListByHand {
  description?: string;
  /** Options that stand for no filter. */
  add: (command: Command) => void;
  run: (session: Session, list: List, words: readonly (string | undefined)[], options: ListOptions) => Promise<void>;
}

/** Everything of a family that its page can say. Families that share a command share its page of help. */
export function declareFamily(program: Command, family: Family, byHand: ByHand = {}): void {
  const { command, alias, summary, list, get, report, actions = [] } = family;
  if (report?.verb === '') return void declareReport(program, command, family, report);
  for (const action of actions) {
    if (action.isBeside)
      declareAction(program, family, { action, shown: byHand.shown, ...byHand.actions?.[action.verb] });
  }
  const parent = program.commands.find((one) => one.name() === command) ?? program.command(command).summary(summary);
  if (alias !== undefined) parent.alias(alias);
  // Of several reports under one command the first is what it does by itself.
  if (report) declareReport(parent, report.verb, family, report, { isDefault: parent.commands.length === 0 });
  byHand.add?.(parent);
  if (list) declareList(parent, family, list, byHand.list);
  if (get) declareGet(parent, family, get, byHand.shown);
  for (const action of actions) {
    // An item that is also looked at as an action has its command, and so has what another family shares.
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
  command.option('--limit <n>', 'how many to list; more than 100 come in several pages (default: 20)', countFromOne);
  command.option('--all', 'list all of them, page by page');
  command.option('--after <id>', `go on behind this one, towards ${list.isForward ? 'younger' : 'older'} ones`);
  if (!list.isForward) command.option('--before <id>', 'end before this one, towards newer ones');
  addFlags(command, list.filters);
  if ('start_date' in list.filters) {
    command.option('--since <time>', 'not older than 30m, 2h, 7d or an ISO 8601 time: another way to say --start-date');
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

export const addFields = (command: Command): Command =>
  command.option('--fields <names>', 'show only these fields of the API, separated by commas', namesIn);

function countFromOne(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number from 1.');
}

function namesIn(text: string): string[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.every((name) => name !== '')) return [...new Set(names)];
  throw new InvalidArgumentError('It takes names with commas between them, such as id,created_at.');
}
