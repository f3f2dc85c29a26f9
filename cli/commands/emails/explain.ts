import { readHistory } from '../../client/index.ts';
import { formatHistory } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { findId } from '../../input/find-id.ts';

/** Explains what happened to an email, from its acceptance to the next step, in whole sentences. */
export async function explainEmail(session: Session, id: string, options: { transcript?: boolean }): Promise<void> {
  const { client, terminal, isJson } = session;
  const history = await readHistory(client, await findId(client, 'email_id', id, { isRead: true }));
  const { email, events, attempts, pending, suppressed, requestId } = history;
  if (isJson) return terminal.printJson({ email, events, attempts, pending, suppressed, request_id: requestId });
  const told = formatHistory(terminal, history, {
    withTranscript: options.transcript ?? false,
    say: session.formatAdvices,
  });
  for (const text of told) terminal.printText(text);
  if (options.transcript && attempts.length === 0)
    terminal.printText('There is no SMTP dialogue: no delivery was attempted.');
}
