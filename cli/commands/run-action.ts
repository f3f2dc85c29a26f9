import type { Command } from 'commander';
import { fetchItemName } from '../client/index.ts';
import { toOptionName, type Action, type Body, type Family, type Flag } from '../families/index.ts';
import { isReading } from '../families/named.ts';
import { buildCall, onCommandLine, readBody, readPath, readNamed, readUtf8, type Typed } from '../input/index.ts';
import { eventTypesHelp } from '../input/event-types.ts';
import {
  CliFault,
  cleanLines,
  formatItem,
  formatPairs,
  shownFields,
  howToType,
  isNameTyped,
  nameToType,
  type CommandProcess,
} from '../output/index.ts';
import { readTyped } from './read-typed.ts';
import type { Session } from './session.ts';
import { readStdin } from './stdin.ts';

export type Options = Readonly<Record<string, unknown>>;

/** An action as it was typed. */
export interface Call {
  action: Action;
  family: Family;
  command: Command;
  /** The words of the command line; an argument with several words is a list. */
  words: readonly unknown[];
  options: Options;
  /** Shows an item of the family. */
  show?: Show | undefined;
}

export type Show = (session: Session, item: object, options: Options) => Promise<void> | void;

export async function runAction(session: Session, call: Call): Promise<void> {
  const [path, body] = await prepare(session, call);
  await printResponse(session, call, await session.client.call(...buildCall(call.action, path, body)), body);
}

/** Returns path and body of a call, once it is confirmed. */
export async function prepare(
  session: Session,
  call: Call,
  amend: (typed: Typed) => Typed = (typed) => typed,
): Promise<[path: Record<string, string>, body: Body]> {
  const { client, process } = session;
  const { action, words, options } = call;
  const depth = Object.keys(action.path).length;
  const typed = amend(readTyped(action, words.slice(depth), options));
  mustSuffice(call, typed);
  let found: Promise<Record<string, string>> | undefined;
  const path = () => (found ??= readPath(client, action.path, words as string[], isReading(action.operation)));
  const body = await readBody(action, typed, {
    client,
    path,
    nameOption: onCommandLine,
    cwd: process.cwd(),
    readFile: (file, option) => readText(process, file, option),
  });
  await mustBeMeant(session, call, body, path);
  return [await path(), body];
}

/** Checks before the server is called. */
function mustSuffice({ action: { operation, flags, sets } }: Call, { fields, files, cleared }: Typed): void {
  for (const [field, flag] of Object.entries(flags)) {
    if (flag.isRequired && !(field in fields) && !(field in files)) mustBeThere(field, flag);
  }
  // An update without a field changes nothing.
  if (
    !/^update/.test(operation) ||
    sets !== undefined ||
    [fields, files, cleared].some((given) => Object.keys(given).length > 0)
  )
    return;
  throw new CliFault('name at least one thing to change.', 'usage', {
    words: 'See them with',
    command: [operation, '--help'],
  });
}

/** Checks for options whose absence commander cannot detect. */
function mustBeThere(field: string, flag: Flag): void {
  const option = `--${toOptionName(field, flag)}`;
  if (flag.syntax === 'event types')
    throw new CliFault(`required option '${option} ${flag.value}' not specified\n${eventTypesHelp()}`, 'usage');
  if (flag.fromFile !== undefined && !flag.orElse)
    throw new CliFault(`the ${flag.fromFile} is missing; give it with ${option} or ${option}-file`, 'usage');
}

async function mustBeMeant(
  session: Session,
  { action, options }: Call,
  body: Body,
  path: () => Promise<Record<string, string>>,
): Promise<void> {
  const { destroys, destroysNamed, flags, verb } = action;
  const agreed = { yes: options['yes'] === true };
  if (destroys) {
    const name = async (): Promise<string> => fetchItemName(session.client, destroys.name, await path());
    return mustBeConfirmed(session, agreed, { says: destroys.says, name });
  }
  if (!destroysNamed) return;
  const named = destroysNamed(body);
  if (named) return mustBeConfirmed(session, agreed, { says: named.says, name: () => Promise.resolve(named.name) });
  const either = Object.entries(flags).flatMap(([field, flag]) =>
    flag.isOneOf ? [`--${toOptionName(field, flag)}`] : [],
  );
  const all = `${either.slice(0, -1).join(', ')} and ${either.at(-1)}`;
  throw new CliFault(`name what to ${verb} by exactly one of ${all}`, 'usage');
}

/** Prints the response in the form that its reader wants. */
export async function printResponse(session: Session, call: Call, answer: unknown, body: Body): Promise<void> {
  const { terminal, isJson } = session;
  const { action, family, options, show = showFields(family) } = call;
  if (isJson) return terminal.printJson(answer);
  const { id } = answer as { id: string };
  if (action.secret !== undefined) {
    const secret = action.describe?.(answer as never) ?? '';
    terminal.print(
      terminal.isTty
        ? formatPairs(terminal, [
            ['Id', id],
            [action.secret, secret],
          ])
        : `${id}\t${secret}`,
    );
  } else if (action.isShown) await show(session, answer as object, options);
  else if (action.print) terminal.print(action.print(answer as never));
  // A text, such as a zone file, is copied or read by a program: none of its lines may be broken.
  else if (typeof answer === 'string') terminal.print(cleanLines(action.describe?.(answer as never) ?? answer));
  else if (action.describe) terminal.printText(cleanLines(action.describe(answer as never)));
  else
    for (const made of extractIds(answer))
      terminal.printText(terminal.isTty && action.done ? `${action.done}  ${made}` : made);
  const advices = action.hint?.(answer as never, body);
  if (action.isShown && advices !== undefined) terminal.hint('');
  session.advise(advices);
  session.warn(action.warn?.(answer as never));
}

/** Returns the id of the response, or all ids if several items were named. */
const extractIds = (answer: unknown): string[] => {
  const { id, data } = answer as { id?: string; data?: { id: string }[] };
  return id === undefined ? (data ?? []).map((one) => one.id) : [id];
};

const showFields =
  ({ get }: Family): Show =>
  ({ terminal }, item) =>
    terminal.print(formatItem(terminal, shownFields(get?.fields ?? []), item));

interface Doubt {
  /** Continues "This will …". */
  says: string;
  /** Returns the text to type; called only when somebody can be asked. */
  name: () => Promise<string>;
}

/** Refuses an irreversible action until its name was typed, or with --yes. */
export async function mustBeConfirmed(
  { target, terminal, process, again }: Session,
  options: { yes?: boolean | undefined },
  { says, name }: Doubt,
): Promise<void> {
  if (options.yes) return;
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    const line = again(['--yes']);
    throw new CliFault(
      `this cannot be undone, and there is no terminal to ask for confirmation; to do it, run: ${line}`,
      'usage',
    );
  }
  const { readLine } = await import('./stdin.ts');
  const wanted = nameToType(await name());
  terminal.warn(`This will ${says}. It cannot be undone.`);
  const answer = await readLine(process, `Type ${wanted}${howToType(wanted)} to do it on ${target.url}: `);
  if (!isNameTyped(answer, wanted)) throw new CliFault('nothing was changed');
}

/** Reads a body from a file, or from standard input if the file is `-`. */
export async function readText(process: CommandProcess, file: string, flag: string): Promise<string> {
  if (file === '-') return readUtf8(await readStdin(process), 'standard input');
  return readUtf8(await readNamed(file, flag, process.cwd()), `${flag} ${file}`);
}
