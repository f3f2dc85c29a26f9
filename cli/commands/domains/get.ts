import { domains } from '../../families/domains.ts';
import type { Session } from '../declare.ts';
import { getItem, type GetOptions } from '../run-get.ts';
import { printDomain } from './records.ts';

export async function getDomain(
  session: Session,
  words: readonly (string | undefined)[],
  options: GetOptions & { zone?: boolean },
): Promise<void> {
  const found = await getItem<'getDomain'>(session, domains, words, options);
  if (found) printDomain(session.terminal, found, options.zone ?? false);
}
