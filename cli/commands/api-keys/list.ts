import type { QueryOf } from '../../client/index.ts';
import { formatTable, formatTime } from '../../output/index.ts';
import { hintMore, type Paging, type Session } from '../declare.ts';

type Query = QueryOf<'listApiKeys'>;

export interface ListApiKeysOptions extends Paging {
  status?: Query['status'];
  search?: string;
  permission?: Query['permission'];
}

export async function listApiKeys({ client, terminal, isJson }: Session, options: ListApiKeysOptions): Promise<void> {
  const { limit, after, before, status, search, permission } = options;
  const page = await client.call('listApiKeys', { query: { limit, after, before, status, search, permission } });
  if (isJson) return terminal.printJson(page);
  if (page.data.length === 0) return terminal.hint('There are no such keys.');
  const table = formatTable(terminal, page.data, [
    { title: 'ID', value: (key) => key.id, isWhole: true },
    { title: 'NAME', value: (key) => key.name },
    { title: 'KEY', value: (key) => `${key.key_prefix}…` },
    { title: 'PERMISSION', value: (key) => key.permission },
    { title: 'STATUS', value: (key) => key.status, style: (key) => (key.status === 'active' ? 'plain' : 'red') },
    { title: 'LAST USED', value: (key) => formatTime(terminal, key.last_used_at) },
  ]);
  terminal.print(table);
  hintMore(terminal, 'keys list', page);
}
