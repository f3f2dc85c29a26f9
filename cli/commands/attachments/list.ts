import { formatTable } from '../../output/index.ts';
import { hintMore, type Paging, type Session } from '../declare.ts';

export async function list(session: Session, email: string, { limit, after, before }: Paging): Promise<void> {
  const { client, terminal, isJson } = session;
  const page = await client.call('listAttachments', { path: { email_id: email }, query: { limit, after, before } });
  if (isJson) return terminal.printJson(page);
  if (page.data.length === 0) return terminal.hint('There are no such attachments.');
  const table = formatTable(terminal, page.data, [
    { title: 'ID', value: (item) => item.id, isWhole: true },
    { title: 'BYTES', value: (item) => item.size },
    { title: 'TYPE', value: (item) => item.content_type },
    { title: 'FILENAME', value: (item) => item.filename },
    { title: 'CID', value: (item) => item.content_id },
  ]);
  terminal.print(table);
  hintMore(terminal, `attachments list ${email}`, page);
}
