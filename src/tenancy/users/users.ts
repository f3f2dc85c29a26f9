import { mustResistGuessing } from './password-rules.ts';
import { defineHook } from '../../platform/hook.ts';
import { isUniqueViolation, type Executor } from '../../platform/db/index.ts';
import { invalidField, invalidFields, notFound, refuse } from '../../platform/refusal.ts';
import type { Store } from '../../platform/store.ts';
import { parseMailbox, normalizeAddress } from '../../protocol/address/index.ts';
import { insertUser, findUserByEmailKey, lockUser, setDisabled, type UserRow } from './users.store.ts';
import { withdrawAllInvitations } from '../members/index.ts';
import { endSessionsOfUser } from '../session-rows/index.ts';
import { isoTime } from '../../platform/clock.ts';

const EMAIL_CHARS_MAX = 320;
const NAME_CHARS_MAX = 200;
const PASSWORD_CHARS_MIN = 6;
const PASSWORD_CHARS_MAX = 4096;

/**
 * Characters that a name may not have: it is shown within other text, in mails and on pages, and must neither end a
 * line nor reverse its direction.
 */
const MISLEADING = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;

interface NewUser {
  email: string;
  name?: string | null | undefined;
  password: string;
  /** True if the address is known to belong to the person. */
  isVerified: boolean;
}

/** Creates a user. `also` writes rows that belong to a new user, in the same transaction. */
export async function createUser(
  store: Store,
  { email, name = null, password, isVerified }: NewUser,
  also?: (tx: Executor, user: UserRow) => Promise<unknown>,
): Promise<UserRow> {
  const address = readUserEmail(email);
  const chars = [...password].length;
  if (chars < PASSWORD_CHARS_MIN || chars > PASSWORD_CHARS_MAX) {
    throw invalidField('password', `password must have ${PASSWORD_CHARS_MIN} to ${PASSWORD_CHARS_MAX} characters.`);
  }
  mustResistGuessing(password, address);
  if (name !== null && ([...name].length > NAME_CHARS_MAX || MISLEADING.test(name))) {
    const rule = `one line of at most ${NAME_CHARS_MAX} characters, without characters that change the text direction`;
    throw invalidField('name', `name must be ${rule}.`);
  }
  const created_at = store.clock.now();
  const row = {
    id: store.ids.uuid(),
    email: address,
    email_key: toEmailKey(address),
    name,
    created_at,
    password_hash: await store.passwords.hash(password),
    email_verified_at: isVerified ? created_at : null,
    mfa_enabled_at: null,
    disabled_at: null,
  };
  try {
    await store.db.tx(async (tx) => {
      await insertUser(tx, row);
      await also?.(tx, row);
    });
  } catch (error) {
    throw isUniqueViolation(error)
      ? invalidField('email', `A user with the address ${address} already exists.`)
      : error;
  }
  return row;
}

/** Reads the address in the form in which its owner writes it. */
export function readUserEmail(email: string): string {
  const parsed = parseMailbox(email);
  const tooLong = [...email].length > EMAIL_CHARS_MAX;
  if (parsed.ok && parsed.mailbox.name === '' && !tooLong) return parsed.mailbox.address;
  const fault = parsed.ok
    ? `email must be an address without a name, of at most ${EMAIL_CHARS_MAX} characters`
    : `email must be an address: ${parsed.fault}`;
  throw invalidFields([{ path: 'email', message: fault }]);
}

export const presentUser = (row: UserRow) => ({
  object: 'user' as const,
  id: row.id,
  email: row.email,
  name: row.name,
  email_verified_at: row.email_verified_at === null ? null : isoTime(row.email_verified_at),
  created_at: isoTime(row.created_at),
});

export async function findNamedUser(db: Executor, email: string): Promise<UserRow> {
  const user = await findUserByEmailKey(db, toEmailKey(email));
  if (!user) throw notFound('User');
  return user;
}

/**
 * Refuses a disabled person who has given the right password, or comes from single sign-on, before a session begins.
 */
export function mustNotBeDisabled({ disabled_at: at }: Pick<UserRow, 'disabled_at'>): void {
  if (at === null) return;
  throw refuse('invalid_permission', { say: 'This account is disabled; contact the operator of this service.' });
}

/** A disabled person, and the number of open invitations of theirs that were withdrawn. */
export type DisabledUser = UserRow & { invitations_withdrawn: number };

/**
 * Prevents a person from signing in, and ends every session, the grants of apps for them, and the invitations that they
 * sent, which may be to addresses of their own. A new password withdraws no invitations, because the person who invited
 * remains.
 */
export const disableUser = (store: Store, email: string): Promise<DisabledUser> =>
  setState(store, email, store.clock.now());

export const enableUser = (store: Store, email: string): Promise<UserRow> => setState(store, email, null);

/** Ends the grants of apps for a person whom an operator disables. */
export const revokeGrants = defineHook<(tx: Executor, userId: string, at: number) => Promise<unknown>>('revokeGrants');

async function setState({ db }: Store, email: string, at: number | null): Promise<DisabledUser> {
  const { id } = await findNamedUser(db, email);
  return db.tx(async (tx) => {
    const user = await lockUser(tx, id);
    if (!user) throw notFound('User');
    if ((user.disabled_at === null) === (at === null)) {
      const state = at === null ? 'enabled' : 'disabled';
      throw refuse('resource_locked', { say: `${user.email} is already ${state}.` });
    }
    await setDisabled(tx, id, at);
    // Sessions end when the person is enabled, too: one that began at the very moment of the disabling must not become
    // valid.
    await endSessionsOfUser(tx, id);
    const withdrawn = await withdrawAllInvitations(tx, id);
    if (at !== null) await revokeGrants.call(tx, id, at);
    return { ...user, disabled_at: at, invitations_withdrawn: withdrawn };
  });
}

/**
 * Returns the form in which the addresses of people are compared. Maps through capitals and back, so that ß and ss, or
 * the dotless ı and i, are not two accounts. Mail never goes to this form: it goes to the address as its owner wrote
 * it.
 */
export const toEmailKey = (email: string): string =>
  normalizeAddress(email.trim()).normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC');
