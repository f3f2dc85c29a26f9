import { seeWhatThereIs, type CallOf, type Client } from '../client/index.ts';
import type { Key } from '../families/index.ts';
import { CliFault } from '../output/index.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const PAGE = 100;
/** Never repeated in a message. */
const SECRET = /^rk_/;

interface Page {
  data: readonly { id: string; name?: string | null; email?: string }[];
  has_more: boolean;
}

/** People know their domains and keys by name, and each other by address; the API knows them by id. */
export async function findId(client: Client, { word, named, latest }: Key, given: string): Promise<string> {
  if (latest && given === 'latest') return findLatest(client, latest);
  if (!named || UUID.test(given)) return given;
  const list = seeWhatThereIs(named.list);
  if (SECRET.test(given)) throw new CliFault(`name the ${word} by its id or name, not by its secret.`, 'usage', list);
  const name = given.toLowerCase().replace(/\.$/, '');
  const ids: string[] = [];
  let after: string | undefined;
  do {
    const call = { query: { limit: PAGE, after } } as CallOf<typeof named.list>;
    const page: Page = await client.call(named.list, call);
    ids.push(...page.data.filter((item) => item[named.field]?.toLowerCase() === name).map(({ id }) => id));
    after = page.has_more ? page.data.at(-1)?.id : undefined;
  } while (after !== undefined && ids.length < 2);
  const [id, another] = ids;
  if (another !== undefined) {
    throw new CliFault(`several ${word}s are called ${given}; name the one that is meant by its id.`, 'usage', list);
  }
  if (id !== undefined) return id;
  const where = named.list === 'listTeams' ? 'among yours' : 'in this team';
  throw new CliFault(`there is no ${word} ${given} ${where}.`, 'notFound', list);
}

async function findLatest(client: Client, list: NonNullable<Key['latest']>): Promise<string> {
  const { data } = await client.call(list, { query: { limit: 1 } });
  if (data[0]) return data[0].id;
  throw new CliFault('nothing was sent yet.', 'notFound', {
    words: 'See how to send with',
    command: ['sendEmail', '--help'],
  });
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
