import type { BodyOf } from '../../client/index.ts';
import { clean, readEmails } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { readText } from '../read-text.ts';

export interface BatchOptions {
  permissive?: boolean;
  idempotencyKey?: string;
}

export async function sendBatch(session: Session, file: string, options: BatchOptions): Promise<void> {
  const { client, terminal, process, isJson } = session;
  const body = readEmails(await readText(process, file, 'the file')) as BodyOf<'sendBatch'>;
  const header = {
    ...(options.idempotencyKey === undefined ? {} : { 'Idempotency-Key': options.idempotencyKey }),
    ...(options.permissive ? { 'x-batch-validation': 'permissive' as const } : {}),
  };
  const sent = await client.call('sendBatch', { body, header });
  const errors = sent.errors ?? [];
  if (errors.length > 0) session.fail();
  if (isJson) return terminal.printJson(sent);
  for (const { id } of sent.data) terminal.print(terminal.isTty ? `Accepted  ${id}` : id);
  // To standard error, also where the ids go into a pipe.
  for (const { index, message } of errors)
    terminal.warn(`Email ${index + 1} of ${body.length} was refused: ${clean(message)}`);
}
