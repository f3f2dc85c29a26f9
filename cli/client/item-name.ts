import type { Client } from './client.ts';
import type { CallOf, OperationId } from './routes.ts';

/** Says where a value of an item is found: in the item at the same path, or in a list of items. */
export interface Lookup<Found> {
  operation: OperationId;
  isList: boolean;
  of: (item: never) => Found;
}

export type Naming = Lookup<string>;

const PAGE = 100;

/** Returns the name of the item at a path, to be typed before it is destroyed. */
export async function fetchItemName(
  client: Client,
  naming: Naming,
  path: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<string> {
  const [id] = Object.values(path);
  // An item that is in no list is for the API to refuse; until then its id serves as name.
  return (await findItem(client, naming, path, signal)) ?? id ?? '';
}

/** Returns undefined if the item is in no list. */
export async function findItem<Found>(
  client: Client,
  { operation, isList, of }: Lookup<Found>,
  path: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<Found | undefined> {
  const ask = (call: object): Promise<unknown> => client.call(operation, call as CallOf<OperationId>, signal);
  if (!isList) return of((await ask({ path })) as never);
  const [id] = Object.values(path);
  for (let after: string | undefined; ;) {
    const page = (await ask({ query: { limit: PAGE, after } })) as { has_more: boolean; data: { id: string }[] };
    const item = page.data.find((one) => one.id === id);
    if (item) return of(item as never);
    after = page.data.at(-1)?.id;
    if (!page.has_more || after === undefined) return undefined;
  }
}
