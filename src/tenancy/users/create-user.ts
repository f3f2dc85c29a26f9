import { isUniqueViolation, type Executor } from '../../platform/db/index.ts';
import { invalidField, invalidFields } from '../../platform/refusal/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { parseMailbox } from '../../protocol/address/index.ts';
import { emailKeyOf } from './email-key.ts';
import { insertUser, type UserRow } from './users.store.ts';

const EMAIL_CHARS_MAX = 320;
const NAME_CHARS_MAX = 200;
const PASSWORD_CHARS_MIN = 6;
const PASSWORD_CHARS_MAX = 4096;

/** A name stands among the words of others, in mails and on pages: it neither ends their line nor turns them around. */
const MISLEADING = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;

export interface NewUser {
  email: string;
  name?: string | null | undefined;
  password: string;
  /** Whether it is known that the address is theirs. */
  isVerified: boolean;
}

/** `also` writes what belongs to a new user, in the same transaction. */
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
  if (name !== null && ([...name].length > NAME_CHARS_MAX || MISLEADING.test(name))) {
    const rule = `one line of at most ${NAME_CHARS_MAX} characters, none of which turns the direction of the text around`;
    throw invalidField('name', `name must be ${rule}.`);
  }
  const created_at = store.clock.now();
  const row = {
    ...{ id: store.ids.uuid(), email: address, email_key: emailKeyOf(address), name, created_at },
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
      ? invalidField('email', `There is a user with the address ${address} already.`)
      : error;
  }
  return row;
}

/** The address as its owner writes it. */
export function readUserEmail(email: string): string {
  const parsed = parseMailbox(email);
  const tooLong = [...email].length > EMAIL_CHARS_MAX;
  if (parsed.ok && parsed.mailbox.name === '' && !tooLong) return parsed.mailbox.address;
  const fault = parsed.ok
    ? `email must be an address without a name, of at most ${EMAIL_CHARS_MAX} characters`
    : `email must be an address: ${parsed.fault}`;
  throw invalidFields([{ path: 'email', message: fault }]);
}
