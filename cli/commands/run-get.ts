import type { AnswerOf, CallOf, OperationId } from '../client/index.ts';
import type { Detail } from '../families/family.ts';
import { formatItem, namedFields, pickFields, shownFields } from '../output/index.ts';
import { readPath } from '../input/find-id.ts';
import type { Show } from './run-action.ts';
import type { Session } from './session.ts';

export interface GetOptions {
  fields?: readonly string[];
}

/** Returns the item unless it was shown already, as JSON or as the named fields. */
export async function getItem<Id extends OperationId>(
  session: Session,
  { get, noun }: { get: Detail & { operation: Id }; noun: string },
  words: readonly (string | undefined)[],
  { fields: names }: GetOptions,
): Promise<AnswerOf<Id> | undefined> {
  const { client, terminal, isJson } = session;
  const named = names && namedFields(get.fields, names, noun);
  const path = await readPath(client, get.path, words, true);
  const item = await client.call(get.operation, { path } as CallOf<Id>);
  if (isJson) terminal.printJson(named ? pickFields(item as object, named) : item);
  else if (named) terminal.print(formatItem(terminal, named, item as object));
  else return item;
  return undefined;
}

export async function runGet(
  session: Session,
  { get, noun, show }: { get: Detail; noun: string; show?: Show | undefined },
  words: readonly (string | undefined)[],
  options: GetOptions & Readonly<Record<string, unknown>>,
): Promise<void> {
  const item = await getItem(session, { get, noun }, words, options);
  if (item === undefined) return;
  if (show) await show(session, item as object, options);
  else session.terminal.print(formatItem(session.terminal, shownFields(get.fields), item as object));
  session.advise(get.hint?.(item as never));
}
