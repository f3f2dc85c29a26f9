import type { BodyOf } from '../../client/index.ts';
import { clean, CliFault } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { readText } from './read-content.ts';

export interface BatchOptions {
  permissive?: boolean;
  idempotencyKey?: string;
}

export async function sendBatch(session: Session, file: string, options: BatchOptions): Promise<void> {
  const { client, terminal, isJson } = session;
  const body = readList(await readText(file, 'the file'));
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
    process.stderr.write(`Email ${index + 1} of ${body.length} was refused: ${clean(message)}\n`);
}

function readList(text: string): BodyOf<'sendBatch'> {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch (error) {
    throw new CliFault(`the file is not JSON: ${(error as Error).message}`);
  }
  if (!Array.isArray(list)) throw new CliFault('the file must hold a JSON list of emails: [{"from": …, "to": …}, …]');
  return list as BodyOf<'sendBatch'>;
}
