import { formatPairs } from '../../output/index.ts';
import type { Session } from '../declare.ts';

export async function get({ client, terminal, isJson }: Session, email: string, id: string): Promise<void> {
  const found = await client.call('getAttachment', { path: { email_id: email, attachment_id: id } });
  if (isJson) return terminal.printJson(found);
  const pairs = formatPairs(terminal, [
    ['Id', found.id],
    ['Filename', found.filename],
    ['Type', found.content_type],
    ['Disposition', found.content_disposition],
    ['Content-ID', found.content_id],
    ['Bytes', found.size],
    ['Link', found.download_url],
    ['Good until', found.expires_at],
  ]);
  terminal.print(pairs);
}
