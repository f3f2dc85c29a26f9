import type { Client } from '../client/index.ts';
import { CliFault } from '../output/index.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The ids of the labels of an inbox that are named so, in any letter case. */
export async function findLabels(client: Client, inbox: string, named: readonly string[]): Promise<string[]> {
  if (named.every((one) => UUID.test(one))) return [...named];
  const { data } = await client.call('listInboxLabels', { path: { inbox } });
  return named.map((one) => {
    const found = data.find(({ id, name }) => id === one || name.toLowerCase() === one.toLowerCase());
    if (found) return found.id;
    throw new CliFault(`there is no label ${one} in this inbox.`, 'notFound', [
      { words: 'See what there is with', command: ['listInboxLabels', inbox] },
      { words: 'Make it with', command: ['createInboxLabel', inbox, one] },
    ]);
  });
}
