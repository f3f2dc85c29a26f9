import { parseDomainName, parseMailbox, splitAddress } from '../../../protocol/address/index.ts';

const EMAIL_CHARS_MAX = 320;

/** A bare address as mail would go to it; undefined for everything else. */
export function readAddress(text: string): string | undefined {
  if (text.length > EMAIL_CHARS_MAX) return undefined;
  const parsed = parseMailbox(text.trim());
  return parsed.ok && parsed.mailbox.name === '' ? parsed.mailbox.address : undefined;
}

/** Its domain in the form in which domains are kept. */
export function domainOfAddress(address: string): string | undefined {
  const parsed = parseDomainName(splitAddress(address)?.domain ?? '');
  return parsed.ok ? parsed.domain : undefined;
}
