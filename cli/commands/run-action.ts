import type { Command } from 'commander';
import { nameOf, type CallOf, type Client, type OperationId } from '../client/index.ts';
import type { Action } from '../families/family.ts';
import { CliFault, cleanLines } from '../output/index.ts';
import { mustBeConfirmed } from './confirm.ts';
import { readPath } from './find-id.ts';
import { readBody, type Body } from './read-body.ts';
import { optionOf } from './read-flags.ts';
import type { Session } from './session.ts';

export type ActionOptions = Readonly<Record<string, unknown>> & { yes?: boolean | undefined };

export async function runAction(
  session: Session,
  action: Action,
  words: readonly (string | undefined)[],
  options: ActionOptions,
  declared?: Declared,
): Promise<void> {
  const { client, terminal, process, isJson } = session;
  const spoken = await readBody(process, action, words.slice(Object.keys(action.path).length), options);
  if (declared) mustSuffice(action, spoken, declared);
  const path = await prepare(session, action, words, options);
  const body = Object.keys(action.flags).length === 0 ? {} : { body: spoken };
  const answer = await call(client, action.operation as OperationId, { path, ...body });
  if (isJson) return terminal.printJson(answer);
  // A text, such as a zone file, is copied or read by a program: none of its lines may be broken.
  if (typeof answer === 'string') terminal.print(tellOf(session, action, answer));
  else terminal.tell(tellOf(session, action, answer));
  const hint = action.hint?.(answer as never);
  if (hint !== undefined) terminal.hint(hint);
}

/** The command of an action, and what its family is of. */
interface Declared {
  command: Command;
  noun: string;
}

function mustSuffice({ flags, clears }: Action, body: Body, { command, noun }: Declared): void {
  for (const [field, flag] of Object.entries(flags)) {
    if (!flag.isRequired || flag.fromFile === undefined || field in body) continue;
    const option = `--${optionOf(field, flag)}`;
    throw new CliFault(`${noun} needs ${flag.fromFile}; give it with ${option} or ${option}-file`, 'usage');
  }
  if (!clears || Object.keys(body).length > 0) return;
  const words = `${command.parent?.name()} ${command.name()}`;
  throw new CliFault(`name at least one thing to change. See them with: rasket ${words} --help`, 'usage');
}

/** The path of an action, once everybody agrees that it is meant. */
export async function prepare(
  session: Session,
  { path: keys, destroys }: Action,
  words: readonly (string | undefined)[],
  options: ActionOptions,
): Promise<Record<string, string>> {
  const { client } = session;
  let path: Record<string, string> | undefined;
  const found = async (): Promise<Record<string, string>> => (path ??= await readPath(client, keys, words));
  if (destroys) {
    const name = async (): Promise<string> => nameOf(client, destroys.name, await found());
    await mustBeConfirmed(session, options, { says: destroys.says, name });
  }
  return found();
}

function tellOf({ terminal, here }: Session, { tell, done }: Action, answer: unknown): string {
  if (tell) return here(cleanLines(tell(answer as never)));
  const { id } = answer as { id: string };
  return terminal.isTty && done !== undefined ? `${done}  ${id}` : id;
}

const call = (client: Client, operation: OperationId, given: object): Promise<unknown> =>
  client.call(operation, given as CallOf<OperationId>);
