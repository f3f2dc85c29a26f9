import { health } from '../../families/system.ts';
import { formatItem } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { getItem, type GetOptions } from '../run-get.ts';

/** Prints the response and its server. */
export async function getHealth(
  session: Session,
  words: readonly (string | undefined)[],
  options: GetOptions,
): Promise<void> {
  const found = await getItem(session, health, words, options);
  if (!found) return;
  const fields = [...health.get.fields, { name: 'server', label: 'Server' }];
  session.terminal.print(formatItem(session.terminal, fields, { ...found, server: session.client.url }));
}
