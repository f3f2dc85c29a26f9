import type { Client } from './client.ts';
import type { CallOf, OperationId } from './routes.ts';

/** Where something of a thing is found: in the item of the same path, or in a list of items. */
export interface Lookup<Found> {
  operation: OperationId;
  isList: boolean;
  of: (item: never) => Found;
}

export type Naming = Lookup<string>;

const PAGE = 100;

/** What a person calls the thing at a path, to be typed before it is destroyed. */
export async function nameOf(
  client: Client,
  naming: Naming,
  path: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<string> {
  const [id] = Object.values(path);
  // What is in no list is the API's to refuse; until then its id stands for it.
  return (await lookUp(client, naming, path, signal)) ?? id ?? '';
}

/** Undefined where it is in no list. */
export async function lookUp<Found>(
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
