import type { QueryOf } from '../../client/index.ts';
import { formatTable, formatTime } from '../../output/index.ts';
import { hintMore, type Paging, type Session } from '../declare.ts';

export interface ListSuppressionsOptions extends Paging {
  origin?: QueryOf<'listSuppressions'>['origin'];
}

export async function listSuppressions(session: Session, options: ListSuppressionsOptions): Promise<void> {
  const { client, terminal, isJson } = session;
  const { limit, after, before, origin } = options;
  const page = await client.call('listSuppressions', { query: { limit, after, before, origin } });
  if (isJson) return terminal.printJson(page);
  if (page.data.length === 0) return terminal.hint('There are no such suppressions.');
  const table = formatTable(terminal, page.data, [
    { title: 'ID', value: (item) => item.id, isWhole: true },
    { title: 'ADDRESS', value: (item) => item.email },
    { title: 'ORIGIN', value: (item) => item.origin },
    { title: 'CREATED', value: (item) => formatTime(terminal, item.created_at) },
    { title: 'BY EMAIL', value: (item) => item.source_id },
  ]);
  terminal.print(table);
  hintMore(terminal, 'suppressions list', page);
}
