import type { Client } from '../client/index.ts';
import type { Key } from '../families/index.ts';
import { CliFault } from '../output/index.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const PAGE = 100;

/** People know their domains by name; the API knows them by id. */
export async function findId(client: Client, { word, named, latest }: Key, given: string): Promise<string> {
  if (latest && given === 'latest') return findLatest(client, latest);
  if (!named || UUID.test(given)) return given;
  const name = given.toLowerCase().replace(/\.$/, '');
  let after: string | undefined;
  do {
    const page = await client.call(named.list, { query: { limit: PAGE, after } });
    const found = page.data.find((item) => item[named.field] === name);
    if (found) return found.id;
    after = page.has_more ? page.data.at(-1)?.id : undefined;
  } while (after !== undefined);
  throw new CliFault(
    `there is no ${word} ${given} in this team. See what there is with: rasket ${word}s list`,
    'notFound',
  );
}

async function findLatest(client: Client, list: NonNullable<Key['latest']>): Promise<string> {
  const { data } = await client.call(list, { query: { limit: 1 } });
  if (data[0]) return data[0].id;
  throw new CliFault('nothing was sent yet. Send an email with: rasket send', 'notFound');
}

/** The parameters of a path from the words that fill them, in their order. */
export async function readPath(
  client: Client,
  keys: Readonly<Record<string, Key>>,
  words: readonly (string | undefined)[],
): Promise<Record<string, string>> {
  const path: Record<string, string> = {};
  for (const [at, [parameter, key]] of Object.entries(keys).entries()) {
    path[parameter] = await findId(client, key, words[at] ?? '');
  }
  return path;
}
