import type { BodyOf } from '../../client/index.ts';
import { readEmails } from '../../input/index.ts';
import { clean } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { readText, prepare, type Call } from '../run-action.ts';

export async function sendBatch(session: Session, call: Call): Promise<void> {
  const { client, terminal, process, isJson } = session;
  const { idempotencyKey }: { idempotencyKey?: string } = call.options;
  const [, { file, permissive }] = await prepare(session, call);
  const body = readEmails(await readText(process, String(file), 'the file')) as BodyOf<'sendBatch'>;
  const header = {
    ...(idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey }),
    ...(permissive ? { 'x-batch-validation': 'permissive' as const } : {}),
  };
  const sent = await client.call('sendBatch', { body, header });
  const errors = sent.errors ?? [];
  if (errors.length > 0) session.fail();
  if (isJson) return terminal.printJson(sent);
  for (const { id } of sent.data) terminal.print(terminal.isTty ? `Accepted  ${id}` : id);
  // Goes to standard error even when the ids go into a pipe.
  for (const { index, message } of errors)
    terminal.warn(`Email ${index + 1} of ${body.length} was refused: ${clean(message)}`);
}
