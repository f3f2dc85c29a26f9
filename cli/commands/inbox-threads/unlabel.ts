import { findLabels } from '../../input/index.ts';
import type { Session } from '../declare.ts';
import { runAction, type Call } from '../run-action.ts';

/** The label may be named by its name too. */
export async function unlabel(session: Session, call: Call): Promise<void> {
  const [inbox = '', thread = '', label = ''] = call.words as string[];
  const [id = ''] = await findLabels(session.client, inbox, [label]);
  await runAction(session, { ...call, words: [inbox, thread, id] });
}
