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

/** Outlives the session: it shows that somebody has signed in to an account from this browser, and is no credential. */
const BROWSER_COOKIE = 'rasket_browser';

const PURPOSE = 'known browser';
const SECONDS = 365 * 24 * 3600;
const FORM = /^([A-Za-z0-9_-]{32})\.([A-Za-z0-9_-]{43})$/;

/** Records in the browser that somebody has signed in to this account from it. */
export function rememberBrowser(store: Store, browser: Browser, emailKey: string): void {
  const id = knownBrowser(store, browser, emailKey) ?? newToken('');
  const mac = store.secrets.mac(PURPOSE, signed(id, emailKey)).toString('base64url');
  browser.keep(BROWSER_COOKIE, `${id}.${mac}`, SECONDS);
}

/** Returns the id of the browser, if somebody has signed in to the account from it before. */
function knownBrowser({ secrets }: Store, browser: Pick<Browser, 'cookie'>, emailKey: string): string | undefined {
  const [, id, mac] = FORM.exec(browser.cookie(BROWSER_COOKIE) ?? '') ?? [];
  if (id === undefined || mac === undefined) return undefined;
  const given = Buffer.from(mac, 'base64url');
  const data = signed(id, emailKey);
  const made = [secrets.mac(PURPOSE, data), ...secrets.otherMacs(PURPOSE).map((computeMac) => computeMac(data))];
  return made.some((one) => one.length === given.length && timingSafeEqual(one, given)) ? id : undefined;
}

const signed = (id: string, emailKey: string): Buffer => Buffer.from(`${id} ${emailKey}`);

const ATTEMPTS_MS = 15 * 60_000;
/**
 * `both` limits an address and an account together and is reached first: guesses at one account stop before the
 * account's own limit is used up, so that its owner can still sign in from elsewhere.
 */
const LIMITS = { browser: 10, both: 10, address: 50, account: 100 };
type Kind = keyof typeof LIMITS;
const KINDS: readonly Kind[] = ['browser', 'both', 'address', 'account'];
/** Limits that a successful attempt clears. */
const OWN: ReadonlySet<Kind> = new Set(['browser', 'both']);

interface Attempt {
  /** Hashes of the keys that the attempt was counted under. */
  keys: Partial<Record<Kind, string>>;
}

/**
 * Counts an attempt as failed before the password is checked, so that concurrent attempts cannot exceed the limits.
 * Throws when a limit is reached. An attempt from a browser that has signed in to the account before counts for that
 * browser alone, so that other people's attempts cannot lock it out.
 */
export async function beginAttempt(
  store: Store,
  emailKey: string,
  address: string,
  browser?: Pick<Browser, 'cookie'>,
): Promise<Attempt> {
  const known = browser && knownBrowser(store, browser, emailKey);
  const keys: Attempt['keys'] =
    known === undefined
      ? buildAttemptKeys('', emailKey, address)
      : { browser: hashText(`browser ${known} ${emailKey}`) };
  await countWithin(store, keys, { limits: LIMITS, what: 'Too many failed sign-in attempts' });
  return { keys };
}

/** Limits for requests that anybody can make for an address: each one counts, whether or not there is an account. */
const REQUEST_LIMITS = { both: 10, address: 50, account: 50 };

export const countRequest = (
  store: Store,
  kind: 'sign_up' | 'password_reset',
  { emailKey, address }: { emailKey: string; address: string },
): Promise<void> =>
  countWithin(store, buildAttemptKeys(`${kind} `, emailKey, address), {
    limits: REQUEST_LIMITS,
    what: 'Too many requests for this email address or from your IP address',
  });

const INVITATION = 'invitation ';
const INVITATIONS_MS = 24 * 3_600_000;
const INVITATION_LIMITS = [
  { of: 'address', max: 3, ms: INVITATIONS_MS, say: 'This team has invited this address 3 times within a day' },
  // High enough to invite a whole department at once.
  { of: 'team', max: 50, ms: 3_600_000, say: 'This team has sent 50 invitations within an hour' },
] as const;

/**
 * Counts an invitation of a team, even if it is withdrawn later, because each one mails an address outside of the team.
 * Runs in the transaction that creates the invitation, after the team was locked; a refused one does not count.
 */
export async function countInvitation(
  tx: Executor,
  { teamId, emailKey, now }: { teamId: string; emailKey: string; now: number },
): Promise<void> {
  for (const { of, max, ms, say } of INVITATION_LIMITS) {
    const key = `${INVITATION}${hashText(of === 'address' ? `${teamId} ${emailKey}` : teamId)}`;
    const { failures, since } = await countAttempt(tx, key, { now, from: now - ms });
    if (failures > max) throw tooMany(say, since + ms - now);
  }
}

/** Removes attempts that are too old to count. */
export const forgetOldAttempts = (db: Executor, now: number): Promise<number> =>
  removeAttemptsBefore(db, now - ATTEMPTS_MS, { kept: INVITATION, keptFrom: now - INVITATIONS_MS });

/** Clears the attempts on an account whose password was replaced; `address` is the client address of that change. */
export async function forgetAttemptsAt(tx: Executor, emailKey: string, address: string): Promise<void> {
  const { both, account } = buildAttemptKeys('', emailKey, address);
  await forgetAttempts(tx, both);
  await forgetAttempts(tx, account);
}

function buildAttemptKeys(kind: string, emailKey: string, address: string) {
  const from = clientKey(address);
  return {
    both: hashText(`${kind}both ${from} ${emailKey}`),
    address: hashText(`${kind}address ${from}`),
    account: hashText(`${kind}account ${emailKey}`),
  };
}

async function countWithin(
  { db, clock }: Store,
  keys: Attempt['keys'],
  { limits, what }: { limits: Partial<Record<Kind, number>>; what: string },
): Promise<void> {
  const now = clock.now();
  // The same order everywhere, so that transactions cannot deadlock.
  const over = await db.txUnsynced(async (tx) => {
    for (const kind of KINDS) {
      const key = keys[kind];
      const limit = limits[kind];
      if (key === undefined || limit === undefined) continue;
      const { failures, since } = await countAttempt(tx, key, { now, from: now - ATTEMPTS_MS });
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

/** Clears what the successful attempt had counted. */
export async function settleAttempt(tx: Executor, { keys }: Attempt): Promise<void> {
  for (const kind of KINDS) {
    const key = keys[kind];
    if (key !== undefined) await (OWN.has(kind) ? forgetAttempts(tx, key) : uncountAttempt(tx, key));
  }
}

/** Undoes the count of an attempt that failed for another reason, such as an internal error. */
export async function forgiveAttempt(tx: Executor, { keys }: Attempt): Promise<void> {
  for (const kind of KINDS) {
    const key = keys[kind];
    if (key !== undefined) await uncountAttempt(tx, key);
  }
}

const hashText = (key: string): string => createHash('sha256').update(key).digest('base64url');

const USER_AGENT_CHARS_MAX = 500;

/**
 * Records a failed sign-in for any address. A background job determines whether there is an account, so that the
 * response time does not reveal it.
 */
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

/** Adds the entry to the audit log of the person's first team; addresses without an account leave no trace. */
export async function settleFailedSignIn(store: Store, row: FailedSignInRow): Promise<void> {
  const user = await findUserByEmailKey(store.db, row.email_key);
  if (!user) return void (await removeFailedSignIn(store.db, row.id));
  const audit = await auditAttempt(store, user, row, 'session.refused');
  await audit.store.db.tx((tx) => removeFailedSignIn(tx, row.id));
}

export interface Guess {
  /** Continues "Too many ". */
  of: string;
  /** Keys of the guesser, such as the address; each is counted separately. */
  by: readonly string[];
  max: number;
}

/**
 * Counts a guess before it is checked. Throws if the limit is exceeded. Returns a function that undoes the count if it
 * was no guess.
 */
export async function countGuess(
  { db, clock }: Store,
  { of, by, max }: Guess,
): Promise<(tx: Executor) => Promise<void>> {
  const keys = by.map((key) => hashText(`${of} ${key}`));
  const now = clock.now();
  // The same order everywhere, so that transactions cannot deadlock.
  const over = await db.txUnsynced(async (tx) => {
    for (const key of keys) {
      const { failures, since } = await countAttempt(tx, key, { now, from: now - ATTEMPTS_MS });
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
    for (const key of keys) await uncountAttempt(tx, key);
  };
}
