import { normalizeAddress, parseMailbox } from '../../protocol/address/index.ts';

/** What an address is found by, however it is written; undefined when it is none, or a name stands with it. */
export function keyOf(text: string): string | undefined {
  const parsed = parseMailbox(text);
  if (!parsed.ok || parsed.mailbox.name !== '') return undefined;
  return normalizeAddress(parsed.mailbox.address);
}
