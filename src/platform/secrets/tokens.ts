import { createHash, randomBytes, randomInt } from 'node:crypto';
import type { Secrets } from './secrets.ts';

const TOKEN_BYTES = 24;

/** A fresh bearer token: 192 random bits behind the kind's prefix. */
export const newToken = (prefix: string): string => prefix + randomBytes(TOKEN_BYTES).toString('base64url');

/** For secrets that are not written as tokens. */
export const randomSecret = (bytes: number): Buffer => randomBytes(bytes);

/** Tokens are random, so a plain hash is enough: there is no dictionary to try. */
export const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex');

/** For codes that people type. */
export const randomLetters = (letters: string, count: number): string =>
  Array.from({ length: count }, () => letters[randomInt(letters.length)]).join('');

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
