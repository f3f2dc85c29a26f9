import { findId } from '../../input/index.ts';
import { CliFault } from '../../output/index.ts';
import { mustBeConfirmed, runAction, type Call } from '../run-action.ts';
import type { Session } from '../declare.ts';

export async function removeSuppressions(session: Session, call: Call): Promise<void> {
  const { client, terminal, isJson } = session;
  const named = call.words.flat() as string[];
  if (named.length === 1) return runAction(session, { ...call, words: named });
  const typed = named.filter((word) => !word.includes('@'));
  if (typed.length > 0 && typed.length < named.length) {
    throw new CliFault('give either addresses or ids (sup_…), not both in one call', 'usage');
  }
  await mustBeConfirmed(session, call.options, {
    says: `remove ${named.length} suppressions, so that mail is sent to these addresses again`,
    // They have no common name, so their number has to be typed.
    name: () => Promise.resolve(String(named.length)),
  });
  const ids: string[] = [];
  for (const word of typed) ids.push(await findId(client, 'suppression', word));
  const removed = await client.call('removeSuppressions', { body: ids.length > 0 ? { ids } : { emails: named } });
  if (isJson) return terminal.printJson(removed);
  for (const item of removed.data) terminal.print(item.id);
  const skipped = named.length - removed.data.length;
  if (skipped > 0) terminal.hint(`${skipped} of ${named.length} were not suppressed.`);
}
