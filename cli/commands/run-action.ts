import { nameOf, type CallOf, type Client, type OperationId } from '../client/index.ts';
import type { Action } from '../families/family.ts';
import { cleanLines } from '../output/index.ts';
import { mustBeConfirmed } from './confirm.ts';
import { readPath } from './find-id.ts';
import { readFlags } from './read-flags.ts';
import type { Session } from './session.ts';

export type ActionOptions = Readonly<Record<string, unknown>> & { yes?: boolean | undefined };

export async function runAction(
  session: Session,
  action: Action,
  words: readonly (string | undefined)[],
  options: ActionOptions,
): Promise<void> {
  const { client, terminal, isJson } = session;
  const path = await prepare(session, action, words, options);
  const body = Object.keys(action.flags).length === 0 ? {} : { body: readFlags(action.flags, options) };
  const answer = await call(client, action.operation as OperationId, { path, ...body });
  if (isJson) return terminal.printJson(answer);
  terminal.tell(tellOf(session, action, answer));
  if (action.hint) terminal.hint(action.hint(answer as never));
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
