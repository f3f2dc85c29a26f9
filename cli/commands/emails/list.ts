import type { QueryOf } from '../../client/index.ts';
import { formatTable, formatTime } from '../../output/index.ts';
import { hintMore, type Paging, type Session } from '../declare.ts';
import { styleOf } from './state.ts';

export interface ListEmailsOptions extends Paging {
  status?: QueryOf<'listEmails'>['status'];
  apiKeyId?: string;
  startDate?: string;
  endDate?: string;
  search?: string;
}

export async function listEmails({ client, terminal, isJson }: Session, options: ListEmailsOptions): Promise<void> {
  const { limit, after, before, status, apiKeyId, startDate, endDate, search } = options;
  const query = {
    limit,
    after,
    before,
    status,
    api_key_id: apiKeyId,
    start_date: startDate,
    end_date: endDate,
    search,
  };
  const page = await client.call('listEmails', { query });
  if (isJson) return terminal.printJson(page);
  if (page.data.length === 0) return terminal.hint('There are no such emails.');
  const table = formatTable(terminal, page.data, [
    { title: 'ID', value: (email) => email.id, isWhole: true },
    { title: 'CREATED', value: (email) => formatTime(terminal, email.created_at) },
    { title: 'STATE', value: (email) => email.last_event, style: (email) => styleOf(email.last_event) },
    { title: 'TO', value: (email) => email.to.join(', ') },
    { title: 'SUBJECT', value: (email) => email.subject },
  ]);
  terminal.print(table);
  hintMore(terminal, 'emails list', page);
}
