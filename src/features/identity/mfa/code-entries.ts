import type { Executor } from '../../../platform/db/index.ts';
import { invalidField, refuse } from '../../../platform/refusal.ts';
import type { Store } from '../../../platform/store.ts';
import { fromBase32, matchingStep, base32 } from '../../../protocol/totp.ts';
import {
  countFailure,
  forgetFailures,
  SEALED_MFA_SECRETS,
  uncountFailure,
  useRecoveryHash,
  useStep,
  type SecretRow,
} from './mfa.store.ts';
import { hashToken, randomSecret } from '../../../platform/secrets/index.ts';

const CODES = 10;
/** 80 random bits, so that a plain hash is enough. */
const CODE_BYTES = 10;

/** Returns new codes in groups of four characters, for writing down. */
export const newRecoveryCodes = (): string[] =>
  Array.from({ length: CODES }, () =>
    base32(randomSecret(CODE_BYTES))
      .toLowerCase()
      .replaceAll(/.{4}(?=.)/g, '$&-'),
  );

/** Reports whether a text without hyphens is a recovery code. */
const isRecoveryCode = (text: string): boolean => /^[a-z2-7]{16}$/i.test(text);

export const hashOfRecoveryCode = (text: string): string => hashToken(text.replaceAll('-', '').toLowerCase());

/**
 * Limits guesses: three codes of a million are right at any moment, so at 20 guesses a day, finding one takes
 * centuries. Each kind has its own count, so that somebody who uses up the guesses at codes does not keep the owner
 * from using a recovery code.
 */
const FAILURES_MAX = 20;
export const FAILURES_MS = 24 * 3_600_000;

type Kind = 'code' | 'recovery_code' | 'password';

/** A code that a person has entered. */
export type Entry = { kind: 'code'; code: string } | { kind: 'recovery_code'; hash: string };

const bare = (text: string): string => text.replaceAll(/[\s-]/g, '');

export function readAppCode(text: string): Entry {
  const code = bare(text);
  if (/^\d{6}$/.test(code)) return { kind: 'code', code };
  throw invalidField('code', 'code must be the six digits that the app shows.');
}

export function readRecoveryCode(text: string): Entry {
  if (isRecoveryCode(bare(text))) return { kind: 'recovery_code', hash: hashOfRecoveryCode(bare(text)) };
  throw invalidField('recovery_code', 'recovery_code must be one of the recovery codes, like k3vq-7mzc-p2ya-w5td.');
}

export function readEitherCode(text: string): Entry {
  if (isRecoveryCode(bare(text))) return readRecoveryCode(text);
  if (/^\d{6}$/.test(bare(text))) return readAppCode(text);
  throw invalidField('code', 'code must be the six digits that the app shows, or a recovery code.');
}

/**
 * Counts an entry as wrong before it is checked, so that concurrent entries cannot exceed the limit. Throws if the
 * limit is reached.
 */
export async function countEntry(tx: Executor, userId: string, kind: Kind, now: number): Promise<void> {
  const { failures, since } = await countFailure(tx, { userId, kind }, { now, from: now - FAILURES_MS });
  if (failures <= FAILURES_MAX) return;
  const retryAfterSeconds = Math.max(1, Math.ceil((since + FAILURES_MS - now) / 1000));
  throw refuse('rate_limit_exceeded', {
    say: `Too many wrong entries for this account. Try again in ${retryAfterSeconds} s.`,
    retryAfterSeconds,
  });
}

/** Uses up the code in the transaction of what it permits. Throws if it is wrong or was used before. */
export async function mustSpend(
  { secrets, clock }: Store,
  tx: Executor,
  secret: SecretRow,
  entry: Entry,
): Promise<void> {
  if (entry.kind === 'recovery_code') {
    if (await useRecoveryHash(tx, secret.user_id, entry.hash)) return;
    throw wrong('recovery_code', 'The recovery code is wrong or was already used.');
  }
  const key = fromBase32(secrets.open(secret.secret, SEALED_MFA_SECRETS.purpose, secret.id));
  if (!key) throw new Error('the secret of an authenticator app is not in Base32');
  const step = matchingStep(key, entry.code, { now: clock.now(), after: secret.last_step });
  if (step !== undefined && (await useStep(tx, secret.id, step))) return;
  throw wrong('code', 'The code is wrong or was already used; wait for the next one.');
}

/** Clears the count after a right entry. */
export const settleEntries = (tx: Executor, userId: string, kind: Kind): Promise<number> =>
  forgetFailures(tx, userId, kind);

export async function mustBePassword(
  { db, clock, passwords }: Store,
  { id, password_hash: hash }: { id: string; password_hash: string | null },
  password: string,
): Promise<void> {
  await db.tx((tx) => countEntry(tx, id, 'password', clock.now()));
  const isRight = await passwords.matches(password, hash).catch(async (error: unknown) => {
    await db.tx((tx) => uncountFailure(tx, id, 'password'));
    throw error;
  });
  if (!isRight) throw wrong('password', 'The password is wrong.');
  await db.tx((tx) => forgetFailures(tx, id, 'password'));
}

const wrong = (field: string, say: string) =>
  refuse('validation_error', { status: 422, say, errors: [{ path: field, message: say }] });
