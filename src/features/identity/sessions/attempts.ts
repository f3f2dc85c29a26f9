import { auditAttempt } from '../accounts/audit-attempt.ts';
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Executor } from '../../../platform/db/index.ts';
import { clientKey } from '../../../platform/network/index.ts';
import { refuse } from '../../../platform/refusal.ts';
import type { Store } from '../../../platform/store.ts';
import type { Browser } from '../../../tenancy/access/index.ts';
import {
  countAttempt,
  forgetAttempts,
  removeAttemptsBefore,
  uncountAttempt,
  insertFailedSignIn,
  removeFailedSignIn,
  type FailedSignInRow,
} from './sign-ins.store.ts';
import { newToken } from '../../../platform/secrets/index.ts';
import { findUserByEmailKey } from '../../../tenancy/users/index.ts';

/** Outlives the session: it says that somebody has signed in to an account from this browser, and is no credential. */
const BROWSER_COOKIE = 'rasket_browser';

const PURPOSE = 'known browser';
const SECONDS = 365 * 24 * 3600;
const FORM = /^([A-Za-z0-9_-]{32})\.([A-Za-z0-9_-]{43})$/;

/** Keeps in the browser that this account was signed in to from it. */
export function rememberBrowser(store: Store, browser: Browser, emailKey: string): void {
  const id = knownBrowser(store, browser, emailKey) ?? newToken('');
  const mac = store.secrets.mac(PURPOSE, signed(id, emailKey)).toString('base64url');
  browser.keep(BROWSER_COOKIE, `${id}.${mac}`, SECONDS);
}

/** What tells this browser from others, where the account was signed in to from it. */
function knownBrowser({ secrets }: Store, browser: Pick<Browser, 'cookie'>, emailKey: string): string | undefined {
  const [, id, mac] = FORM.exec(browser.cookie(BROWSER_COOKIE) ?? '') ?? [];
  if (id === undefined || mac === undefined) return undefined;
  const given = Buffer.from(mac, 'base64url');
  const data = signed(id, emailKey);
  const made = [secrets.mac(PURPOSE, data), ...secrets.otherMacs(PURPOSE).map((macOf) => macOf(data))];
  return made.some((one) => one.length === given.length && timingSafeEqual(one, given)) ? id : undefined;
}

const signed = (id: string, emailKey: string): Buffer => Buffer.from(`${id} ${emailKey}`);

const ATTEMPTS_MS = 15 * 60_000;
/**
 * The first is the narrowest: a stranger who guesses at one account is stopped by it before the account's own limit is used up, so
 * that its owner can still sign in from elsewhere.
 */
const LIMITS = { browser: 10, both: 10, address: 50, account: 100 };
type Kind = keyof typeof LIMITS;
const KINDS: readonly Kind[] = ['browser', 'both', 'address', 'account'];
/** Those that success ends. */
const OWN: ReadonlySet<Kind> = new Set(['browser', 'both']);

interface Attempt {
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
      const party = parties[kind];
      const limit = limits[kind];
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

const hashOf = (party: string): string => createHash('sha256').update(party).digest('base64url');

const USER_AGENT_CHARS_MAX = 500;

/** Written for every address alike: whether there is an account is found out later, where no caller waits for the answer. */
export async function noteFailedSignIn(
  { db, ids }: Store,
  { emailKey, browser, requestId }: { emailKey: string; browser: Browser; requestId: string },
): Promise<void> {
  await db.txUnsynced((tx) =>
    insertFailedSignIn(tx, {
      id: ids.uuid(),
      email_key: emailKey,
      address: browser.address,
      request_id: requestId,
      user_agent: browser.userAgent.slice(0, USER_AGENT_CHARS_MAX),
    }),
  );
}

/** The entry in the audit log of the person's first team; nothing of an address without an account is kept. */
export async function settleFailedSignIn(store: Store, row: FailedSignInRow): Promise<void> {
  const user = await findUserByEmailKey(store.db, row.email_key);
  if (!user) return void (await removeFailedSignIn(store.db, row.id));
  const audit = await auditAttempt(store, user, row, 'session.refused');
  await audit.store.db.tx((tx) => removeFailedSignIn(tx, row.id));
}

export interface Guess {
  /** Continues "Too many ". */
  of: string;
  /** Who guesses, each counted alone. */
  by: readonly string[];
  max: number;
}

/**
 * Counts what may be tried a few times only, before it is looked at; throws where that was too often. Answers how to take it
 * back, for what was no guess.
 */
export async function countGuess(
  { db, clock }: Store,
  { of, by, max }: Guess,
): Promise<(tx: Executor) => Promise<void>> {
  const parties = by.map((party) => hashOf(`${of} ${party}`));
  const now = clock.now();
  // The same order everywhere, so that no two transactions wait for each other.
  const over = await db.txUnsynced(async (tx) => {
    for (const party of parties) {
      const { failures, since } = await countAttempt(tx, party, { now, from: now - ATTEMPTS_MS });
      if (failures > max) return since;
    }
    return undefined;
  });
  if (over !== undefined) {
    const retryAfterSeconds = Math.max(1, Math.ceil((over + ATTEMPTS_MS - now) / 1000));
    const say = `Too many ${of}. Try again in ${retryAfterSeconds} s.`;
    throw refuse('rate_limit_exceeded', { say, retryAfterSeconds });
  }
  return async (tx) => {
    for (const party of parties) await uncountAttempt(tx, party);
  };
}
