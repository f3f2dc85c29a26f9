import type { Session } from './door.ts';
import { SmtpReply } from './smtp-reply.ts';

/** RFC 6531 §3.4: an address with a local part beyond ASCII needs SMTPUTF8 at MAIL; a domain can be written in ASCII. */
export function mustFitCharset({ envelope }: Session, address: string): void {
  if (address.includes('\ufffd')) throw new SmtpReply(501, '5.1.3', 'The address is not UTF-8');
  const local = address.slice(0, address.lastIndexOf('@'));
  if (envelope.smtpUtf8 || !/[^\0-\x7f]/.test(local)) return;
  throw new SmtpReply(553, '5.6.7', 'An address beyond ASCII needs the parameter SMTPUTF8 at MAIL');
}
