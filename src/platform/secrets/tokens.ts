import { createHash, randomBytes, randomInt } from 'node:crypto';
import type { Secrets } from './secrets.ts';

const TOKEN_BYTES = 24;

/** Returns a new bearer token: the prefix of its kind and 192 random bits. */
export const newToken = (prefix: string): string => prefix + randomBytes(TOKEN_BYTES).toString('base64url');

/** For secrets that are not written as tokens. */
export const randomSecret = (bytes: number): Buffer => randomBytes(bytes);

/** Tokens are random, so a plain hash is enough: there is no dictionary to try. */
export const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex');

/** For codes that people type. */
export const randomLetters = (letters: string, count: number): string =>
  Array.from({ length: count }, () => letters[randomInt(letters.length)]).join('');

/**
 * Tokens that are derived again from the id of their row whenever a mail is written, so that a token exists only in the
 * mail; the row stores a hash for checking it.
 */
export interface MailedTokens {
  make(secrets: Secrets, id: string): string;
  /** Also works for a row from before the instance key was replaced; undefined if that key is gone. */
  of(secrets: Secrets, row: { id: string; token_hash: string }): string | undefined;
}

/** A distinctive prefix lets scanners of logs and repositories recognize the token. */
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
