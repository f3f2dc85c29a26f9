import { createHash } from 'node:crypto';
import type { Executor } from '../../platform/db/index.ts';
import { clientKey } from '../../platform/network/index.ts';
import { refuse } from '../../platform/refusal/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { countAttempt, forgetAttempts, uncountAttempt } from './attempts.store.ts';

export const ATTEMPTS_MS = 15 * 60_000;
/**
 * The first is the narrowest: a stranger who guesses at one account is stopped by it before the account's own limit is used up, so
 * that its owner can still sign in from elsewhere.
 */
const LIMITS = { both: 10, address: 50, account: 100 };
type Kind = keyof typeof LIMITS;
const KINDS: readonly Kind[] = ['both', 'address', 'account'];

export interface Attempt {
  /** By which kind of party it was counted, as hashes. */
  parties: Record<Kind, string>;
}

/** Counts an attempt as failed before it is looked at: of many at once none comes past the limits. Throws when one is reached. */
export async function beginAttempt(store: Store, emailKey: string, address: string): Promise<Attempt> {
  const parties = partiesOf('', emailKey, address);
  await countWithin(store, parties, { limits: LIMITS, what: 'Too many attempts to sign in have failed' });
  return { parties };
}

/** What a stranger asks for in the name of an address: each request counts, whether or not there is an account. */
const REQUEST_LIMITS = { both: 10, address: 50, account: 50 };

export const countRequest = (
  store: Store,
  kind: 'sign_up' | 'password_reset',
  { emailKey, address }: { emailKey: string; address: string },
): Promise<void> =>
  countWithin(store, partiesOf(`${kind} `, emailKey, address), {
    limits: REQUEST_LIMITS,
    what: 'Too many requests were made for this address, or from yours',
  });

/** Of an account whose password is a new one; `address` is from where that was done. */
export async function forgetAttemptsAt(tx: Executor, emailKey: string, address: string): Promise<void> {
  const { both, account } = partiesOf('', emailKey, address);
  await forgetAttempts(tx, both);
  await forgetAttempts(tx, account);
}

function partiesOf(kind: string, emailKey: string, address: string): Record<Kind, string> {
  const from = clientKey(address);
  return {
    both: hash(`${kind}both ${from} ${emailKey}`),
    address: hash(`${kind}address ${from}`),
    account: hash(`${kind}account ${emailKey}`),
  };
}

async function countWithin(
  { db, clock }: Store,
  parties: Record<Kind, string>,
  { limits, what }: { limits: Record<Kind, number>; what: string },
): Promise<void> {
  const now = clock.now();
  // The same order everywhere, so that no two transactions wait for each other.
  const over = await db.txUnsynced(async (tx) => {
    for (const kind of KINDS) {
      const { failures, since } = await countAttempt(tx, parties[kind], { now, from: now - ATTEMPTS_MS });
      if (failures > limits[kind]) return since;
    }
    return undefined;
  });
  if (over === undefined) return;
  const retryAfterSeconds = Math.max(1, Math.ceil((over + ATTEMPTS_MS - now) / 1000));
  throw refuse('rate_limit_exceeded', { say: `${what}. Try again in ${retryAfterSeconds} s.`, retryAfterSeconds });
}

/** The attempt succeeded. */
export async function settleAttempt(tx: Executor, { parties }: Attempt): Promise<void> {
  await forgetAttempts(tx, parties.both);
  await uncountAttempt(tx, parties.address);
  await uncountAttempt(tx, parties.account);
}

/** What failed was not the attempt. */
export async function forgiveAttempt(tx: Executor, { parties }: Attempt): Promise<void> {
  for (const kind of KINDS) await uncountAttempt(tx, parties[kind]);
}

const hash = (party: string): string => createHash('sha256').update(party).digest('base64url');
