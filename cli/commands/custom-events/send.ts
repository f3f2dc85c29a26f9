import type { Session } from '../declare.ts';
import { readLineOptions, sendLines } from '../line-batches.ts';
import { runAction, type Call } from '../run-action.ts';

export async function runSendEvent(session: Session, call: Call): Promise<void> {
  const options = readLineOptions(call, 'event');
  if (!options) return runAction(session, call);
  const [event] = call.words as [string | undefined];
  await sendLines(session, options, {
    operation: 'sendEventBatch',
    shape: '{"event", "contact_id" or "email", "payload"}',
    presets: event === undefined ? {} : { event },
    describe: ({ accepted }) => `${accepted} sent`,
  });
}
