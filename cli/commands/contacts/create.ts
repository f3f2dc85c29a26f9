import { CliFault } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { readLineOptions, sendLines } from '../line-batches.ts';
import { runAction, type Call } from '../run-action.ts';

export async function runCreateContact(session: Session, call: Call): Promise<void> {
  const options = readLineOptions(call, 'email');
  if (!options) return runAction(session, call);
  if (call.words[0] !== undefined) throw new CliFault('--file contains the addresses; omit the argument', 'usage');
  await sendLines(session, options, {
    operation: 'createContactBatch',
    shape: '{"email", "first_name", "last_name", "unsubscribed", "properties", "segments", "topics"}',
    presets: {},
    // The server takes an address once in a batch; a later line with it updates the contact.
    readKey: ({ email }) => (typeof email === 'string' ? email.trim().toLowerCase() : undefined),
    describe: ({ accepted, created }) => `${created} created, ${accepted - created} updated`,
  });
}
