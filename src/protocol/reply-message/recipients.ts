import { formatMailbox, normalizeAddress, parseMailbox, type Mailbox } from '../address/index.ts';
import { withoutReplyToken } from './reply-address.ts';

/** Mailboxes as they are shown, of a message that is answered. */
export interface Correspondents {
  from: string;
  replyTo: readonly string[];
  to: readonly string[];
  cc: readonly string[];
}

/**
 * Whom an answer goes to: Reply-To, or else From; of a message of our own, those it went to. To all, the others get a copy.
 * The addresses of the inbox (normalised) are left out, also with a reply token in them, so that it does not write to itself,
 * as it would where a stranger names it in Reply-To. Mail-Followup-To is not looked at: it is no standard, nobody sees it, and
 * with it a stranger chooses to whom a company writes.
 */
export function replyRecipients(
  answered: Correspondents,
  { own, all }: { own: ReadonlySet<string>; all: boolean },
): { to: string[]; cc: string[] } {
  const seen = new Set<string>();
  const take = (written: readonly string[]): string[] => written.flatMap((one) => taken(one, own, seen));
  const candidates = [answered.replyTo, [answered.from], answered.to];
  let to: string[] = [];
  for (const written of candidates) if (to.length === 0) to = take(written);
  return { to, cc: all ? take([...answered.to, ...answered.cc]) : [] };
}

function taken(written: string, own: ReadonlySet<string>, seen: Set<string>): string[] {
  const parsed = parseMailbox(written);
  if (!parsed.ok) return [];
  const key = normalizeAddress(parsed.mailbox.address);
  if (seen.has(key) || own.has(key) || own.has(withoutReplyToken(key))) return [];
  seen.add(key);
  return [formatMailbox(plainName(parsed.mailbox))];
}

/** A name that is an address would show another recipient than the one who gets it; marks of direction turn names around. */
function plainName(mailbox: Mailbox): Mailbox {
  const name = mailbox.name.replaceAll(/\p{Bidi_Control}+/gu, '').trim();
  return { ...mailbox, name: name.includes('@') ? '' : name };
}
