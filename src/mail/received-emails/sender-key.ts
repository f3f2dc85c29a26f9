import { normalizeAddress, normalizeAddressStart } from '../../protocol/address/index.ts';

/** PostgreSQL takes 2,704 bytes of a row into an index; a search has 200 characters. */
const KEY_CHARS_MAX = 400;

/** A quoted local part may contain a < as well. */
const BEHIND_A_NAME = /^(?:"(?:[^"\\]|\\.)*"|[^"<]*) <(.+)>$/;
/** A name without an address is quoted if it contains an @. */
const BARE = /@[^"@\s]+$/;

/**
 * Returns the key by which a received email is searched: the address of its From, or else the sender of its envelope.
 */
export function senderKey(sender: string, mailFrom: string): string | null {
  const written = BEHIND_A_NAME.exec(sender)?.[1] ?? (BARE.test(sender) ? sender : mailFrom);
  return written === '' ? null : bounded(normalizeAddress(written));
}

export const senderKeyStart = (search: string): string => bounded(normalizeAddressStart(search));

function bounded(key: string): string {
  const kept = key.slice(0, KEY_CHARS_MAX);
  return kept.isWellFormed() ? kept : kept.slice(0, -1);
}
