import { createHash, randomBytes } from 'node:crypto';

const TOKEN_BYTES = 24;

/** A fresh bearer token: 192 random bits behind the kind's prefix. */
export const newToken = (prefix: string): string => prefix + randomBytes(TOKEN_BYTES).toString('base64url');

/** For secrets that are not written as tokens. */
export const randomSecret = (bytes: number): Buffer => randomBytes(bytes);

/** Tokens are random, so a plain hash is enough: there is no dictionary to try. */
export const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex');
