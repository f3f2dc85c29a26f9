import type { CallOf, Client, OperationId } from '../client/index.ts';
import type { Action, Naming } from '../families/family.ts';
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
  const answer = await call(client, action.operation, { path, ...body });
  if (isJson) return terminal.printJson(answer);
  terminal.print(tellOf(session, action, answer));
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
    await mustBeConfirmed(session, options, { says: destroys.says, words: words.map((word) => word ?? ''), name });
  }
  return found();
}

function tellOf({ terminal }: Session, { tell, done }: Action, answer: unknown): string {
  if (tell) return cleanLines(tell(answer as never));
  const { id } = answer as { id: string };
  return terminal.isTty && done !== undefined ? `${done}  ${id}` : id;
}

const call = (client: Client, operation: OperationId, given: object): Promise<unknown> =>
  client.call(operation, given as CallOf<OperationId>);

const PAGE = 100;

async function nameOf(
  client: Client,
  { operation, isList, of }: Naming,
  path: Record<string, string>,
): Promise<string> {
  if (!isList) return of((await call(client, operation, { path })) as never);
  const [id] = Object.values(path);
  for (let after: string | undefined; ;) {
    const page = (await call(client, operation, { query: { limit: PAGE, after } })) as {
      has_more: boolean;
      data: { id: string }[];
    };
    const item = page.data.find((one) => one.id === id);
    if (item) return of(item as never);
    after = page.data.at(-1)?.id;
    // What is in no list is the API's to refuse; until then its id stands for it.
    if (!page.has_more || after === undefined) return id ?? '';
  }
}
