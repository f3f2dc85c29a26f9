import { cleanLines, formatPairs } from '../../output/index.ts';
import type { Session } from '../declare.ts';

export async function getEmail({ client, terminal, isJson }: Session, id: string): Promise<void> {
  const email = await client.call('getEmail', { path: { email_id: id } });
  if (isJson) return terminal.printJson(email);
  const fields = formatPairs(terminal, [
    ['Id', email.id],
    ['State', email.last_event],
    ['Created', email.created_at],
    ['Scheduled', email.scheduled_at],
    ['From', email.from],
    ['To', email.to.join(', ')],
    ['Cc', email.cc.join(', ')],
    ['Bcc', email.bcc.join(', ')],
    ['Reply to', email.reply_to.join(', ')],
    ['Subject', email.subject],
    ['Message-ID', email.message_id],
    ['Tags', email.tags.map((tag) => `${tag.name}=${tag.value}`).join(', ')],
  ]);
  const bodies = [email.text, email.html].filter((body) => body !== null && body !== '');
  terminal.print([fields, ...bodies.map((body) => cleanLines(body ?? ''))].join('\n\n'));
}
