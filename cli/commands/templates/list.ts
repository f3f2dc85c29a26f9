import { formatTable, formatTime } from '../../output/index.ts';
import { hintMore, type Paging, type Session } from '../declare.ts';
import { styleOf } from './state.ts';

export async function listTemplates({ client, terminal, isJson }: Session, options: Paging): Promise<void> {
  const { limit, after, before } = options;
  const page = await client.call('listTemplates', { query: { limit, after, before } });
  if (isJson) return terminal.printJson(page);
  if (page.data.length === 0) {
    return terminal.hint('There are no templates yet; write one with: rasket templates create NAME --html HTML');
  }
  const table = formatTable(terminal, page.data, [
    { title: 'ID', value: (template) => template.id, isWhole: true },
    { title: 'ALIAS', value: (template) => template.alias },
    { title: 'STATUS', value: (template) => template.status, style: (template) => styleOf(template.status) },
    { title: 'NAME', value: (template) => template.name },
    { title: 'CHANGED', value: (template) => formatTime(terminal, template.updated_at) },
  ]);
  terminal.print(table);
  hintMore(terminal, 'templates list', page);
}
