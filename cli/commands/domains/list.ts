import { formatTable, formatTime } from '../../output/index.ts';
import { hintMore, type Paging, type Session } from '../declare.ts';
import { styleOf } from './records.ts';

export async function listDomains({ client, terminal, isJson }: Session, options: Paging): Promise<void> {
  const { limit, after, before } = options;
  const page = await client.call('listDomains', { query: { limit, after, before } });
  if (isJson) return terminal.printJson(page);
  if (page.data.length === 0)
    return terminal.hint('There are no domains yet; add one with: rasket domains create NAME');
  const table = formatTable(terminal, page.data, [
    { title: 'ID', value: (domain) => domain.id, isWhole: true },
    { title: 'NAME', value: (domain) => domain.name },
    { title: 'STATUS', value: (domain) => domain.status, style: (domain) => styleOf(domain.status) },
    { title: 'REGION', value: (domain) => domain.region },
    { title: 'CREATED', value: (domain) => formatTime(terminal, domain.created_at) },
  ]);
  terminal.print(table);
  hintMore(terminal, 'domains list', page);
}
