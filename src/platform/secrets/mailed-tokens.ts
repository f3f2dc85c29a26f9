import type { Secrets } from './secrets.ts';
import { hashToken } from './tokens.ts';

/**
 * Tokens that are made anew from the id of their row when a mail is written, so that each is kept nowhere but in that mail;
 * the row keeps a hash, which tells it.
 */
export interface MailedTokens {
  make(secrets: Secrets, id: string): string;
  /** Also of a row that was made before the instance key was replaced; undefined where that key is gone. */
  of(secrets: Secrets, row: { id: string; token_hash: string }): string | undefined;
}

/** A prefix of its own lets scanners of logs and repositories recognise what they found. */
export function mailedTokens(prefix: string, purpose: string): MailedTokens {
  const tokenFrom = (mac: Buffer): string => prefix + mac.toString('base64url');
  const make: MailedTokens['make'] = (secrets, id) => tokenFrom(secrets.mac(purpose, Buffer.from(id)));
  return {
    make,
    of(secrets, { id, token_hash: hash }) {
      const older = secrets.otherMacs(purpose).map((mac) => tokenFrom(mac(Buffer.from(id))));
      return [make(secrets, id), ...older].find((token) => hashToken(token) === hash);
    },
  };
}
