import { createHash } from 'node:crypto';
import type { Executor } from '../../../platform/db/index.ts';
import { clientKey } from '../../../platform/network/index.ts';
import { refuse } from '../../../platform/refusal/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import type { Browser } from '../../../tenancy/access/index.ts';
import { countAttempt, forgetAttempts, removeAttemptsBefore, uncountAttempt } from './attempts.store.ts';
import { knownBrowser } from './known-browser.ts';

export const ATTEMPTS_MS = 15 * 60_000;
/**
 * The first is the narrowest: a stranger who guesses at one account is stopped by it before the account's own limit is used up, so
 * that its owner can still sign in from elsewhere.
 */
const LIMITS = { browser: 10, both: 10, address: 50, account: 100 };
type Kind = keyof typeof LIMITS;
const KINDS: readonly Kind[] = ['browser', 'both', 'address', 'account'];
/** Those that success ends. */
const OWN: ReadonlySet<Kind> = new Set(['browser', 'both']);

export interface Attempt {
  /** By which kinds of party it was counted, as hashes. */
  parties: Partial<Record<Kind, string>>;
}

/**
 * Counts an attempt as failed before it is looked at: of many at once none comes past the limits. Throws when one is reached. From
 * a browser that the account was signed in to from before, it is counted for that browser alone: whatever strangers do, it is
 * not they who use that up.
 */
export async function beginAttempt(
  store: Store,
  emailKey: string,
  address: string,
  browser?: Pick<Browser, 'cookie'>,
): Promise<Attempt> {
  const known = browser && knownBrowser(store, browser, emailKey);
  const parties: Attempt['parties'] =
    known === undefined ? partiesOf('', emailKey, address) : { browser: hashOf(`browser ${known} ${emailKey}`) };
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

const INVITATION = 'invitation ';
const INVITATIONS_MS = 24 * 3_600_000;
const INVITATION_LIMITS = [
  { of: 'address', max: 3, ms: INVITATIONS_MS, say: 'This team has invited this address 3 times within a day' },
  // A department may be invited in one go.
  { of: 'team', max: 50, ms: 3_600_000, say: 'This team has sent 50 invitations within an hour' },
] as const;

/**
 * Counts an invitation of a team, withdrawn or not: each mails a stranger. In the transaction that makes it and behind the lock of
 * the team; what is refused is counted for nothing.
 */
export async function countInvitation(
  tx: Executor,
  { teamId, emailKey, now }: { teamId: string; emailKey: string; now: number },
): Promise<void> {
  for (const { of, max, ms, say } of INVITATION_LIMITS) {
    const party = `${INVITATION}${hashOf(of === 'address' ? `${teamId} ${emailKey}` : teamId)}`;
    const { failures, since } = await countAttempt(tx, party, { now, from: now - ms });
    if (failures > max) throw tooMany(say, since + ms - now);
  }
}

/** What limits nothing any more. */
export const forgetOldAttempts = (db: Executor, now: number): Promise<number> =>
  removeAttemptsBefore(db, now - ATTEMPTS_MS, { kept: INVITATION, keptFrom: now - INVITATIONS_MS });

/** Of an account whose password is a new one; `address` is from where that was done. */
export async function forgetAttemptsAt(tx: Executor, emailKey: string, address: string): Promise<void> {
  const { both, account } = partiesOf('', emailKey, address);
  await forgetAttempts(tx, both);
  await forgetAttempts(tx, account);
}

function partiesOf(kind: string, emailKey: string, address: string) {
  const from = clientKey(address);
  return {
    both: hashOf(`${kind}both ${from} ${emailKey}`),
    address: hashOf(`${kind}address ${from}`),
    account: hashOf(`${kind}account ${emailKey}`),
  };
}

async function countWithin(
  { db, clock }: Store,
  parties: Attempt['parties'],
  { limits, what }: { limits: Partial<Record<Kind, number>>; what: string },
): Promise<void> {
  const now = clock.now();
  // The same order everywhere, so that no two transactions wait for each other.
  const over = await db.txUnsynced(async (tx) => {
    for (const kind of KINDS) {
      const [party, limit] = [parties[kind], limits[kind]];
      if (party === undefined || limit === undefined) continue;
      const { failures, since } = await countAttempt(tx, party, { now, from: now - ATTEMPTS_MS });
      if (failures > limit) return since;
    }
    return undefined;
  });
  if (over === undefined) return;
  throw tooMany(what, over + ATTEMPTS_MS - now);
}

function tooMany(what: string, waitMs: number) {
  const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1000));
  return refuse('rate_limit_exceeded', { say: `${what}. Try again in ${retryAfterSeconds} s.`, retryAfterSeconds });
}

/** The attempt succeeded. */
export async function settleAttempt(tx: Executor, { parties }: Attempt): Promise<void> {
  for (const kind of KINDS) {
    const party = parties[kind];
    if (party !== undefined) await (OWN.has(kind) ? forgetAttempts(tx, party) : uncountAttempt(tx, party));
  }
}

/** What failed was not the attempt. */
export async function forgiveAttempt(tx: Executor, { parties }: Attempt): Promise<void> {
  for (const kind of KINDS) {
    const party = parties[kind];
    if (party !== undefined) await uncountAttempt(tx, party);
  }
}

export const hashOf = (party: string): string => createHash('sha256').update(party).digest('base64url');
