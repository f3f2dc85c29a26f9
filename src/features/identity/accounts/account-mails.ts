import { hasOneTeam } from '../../../tenancy/teams/index.ts';
import { auditAttempt } from './audit-attempt.ts';
import type { Executor } from '../../../platform/db/index.ts';
import type { Store } from '../../../platform/store.ts';
import { findUserByEmailKey, type UserRow } from '../../../tenancy/users/index.ts';
import {
  countMailsAskedFor,
  admitPasswordReset,
  lockPasswordResets,
  notePasswordResetMailed,
  removePasswordReset,
  admitSignUp,
  isInvited,
  lockSignUps,
  removeSignUp,
  oldestVerifiedDomain,
  verifiedDomainNamed,
  removeAccountNoticesBefore,
  removePasswordResetsBefore,
  removeSignUpsBefore,
  type PasswordResetRow,
  type Admission,
  type SignUpRow,
} from './accounts.store.ts';
import { parseMailbox } from '../../../protocol/address/index.ts';

const HOUR_MS = 3_600_000;
const MAILS_PER_HOUR = 3;

interface MailKind {
  table: 'sign_ups' | 'password_resets';
  lock(tx: Executor, emailKey: string): Promise<Admission[]>;
  admit(tx: Executor, id: string, at: number): Promise<number>;
}

/**
 * Each kind has its own limit, so that somebody who signs up with another person's address does not use up that
 * person's password resets. Requesting resets for another person does not lock them out either: each of the 3 mails
 * contains a link that works for as long as the mail counts towards the limit, and only the owner of the mailbox reads
 * it.
 */
const SIGN_UPS: MailKind = { table: 'sign_ups', lock: lockSignUps, admit: admitSignUp };
const RESETS: MailKind = { table: 'password_resets', lock: lockPasswordResets, admit: admitPasswordReset };

/**
 * Returns the mail to send to the person who requested an account. Returns undefined if there is none; the request is
 * then removed.
 */
export async function chooseSignUpMail(
  store: Store,
  row: SignUpRow,
): Promise<{ kind: 'verify' | 'exists'; to: string } | undefined> {
  const { config, db, clock } = store;
  const user = await findUserByEmailKey(db, row.email_key);
  const { sign_up: mode } = config.accounts;
  const may = mode === 'open' || (mode === 'invitation' && (await isInvited(db, row.email_key, clock.now())));
  if ((user ?? may) && (await isAdmitted(store, row, SIGN_UPS))) {
    // Use the mailbox of the account, because the address in the request may be spelled so that it reaches somebody
    // else.
    return user ? { kind: 'exists', to: user.email } : { kind: 'verify', to: row.email };
  }
  await removeSignUp(db, row.id);
  return undefined;
}

/**
 * Returns the account that a password reset is for. Returns undefined if no mail must be sent; the request is then
 * removed.
 */
export async function findResetUser(store: Store, row: PasswordResetRow): Promise<UserRow | undefined> {
  const user = await findUserByEmailKey(store.db, row.email_key);
  if (user && (await isAdmitted(store, row, RESETS))) return user;
  await removePasswordReset(store.db, row.id);
  return undefined;
}

/**
 * Reports whether an address may get one more mail of a kind. Its requests are processed one at a time, even across
 * processes.
 */
function isAdmitted(
  { db, clock }: Store,
  row: { id: string; email_key: string },
  { table, lock, admit }: MailKind,
): Promise<boolean> {
  const now = clock.now();
  return db.tx(async (tx) => {
    const all = await lock(tx, row.email_key);
    // It was admitted before and not mailed yet, or another process has just admitted it.
    if ((all.find(({ id }) => id === row.id)?.admitted_at ?? null) !== null) return true;
    const counted = await countMailsAskedFor(tx, table, { emailKey: row.email_key, since: now - HOUR_MS });
    if (counted >= MAILS_PER_HOUR) return false;
    return (await admit(tx, row.id, now)) === 1;
  });
}

/** Records the outcome of the mail. From now on the token works, and the audit log has an entry. */
export async function noteResetMailed(
  store: Store,
  row: PasswordResetRow,
  { user, fault }: { user: UserRow; fault: string | null },
): Promise<void> {
  const audit = await auditAttempt(store, user, row, 'password.reset_requested');
  await audit.store.db.tx((tx) =>
    notePasswordResetMailed(tx, row.id, { userId: user.id, at: store.clock.now(), fault }),
  );
}

/** Sender of account mails: an address, and the team that owns its domain. */
export interface AccountSender {
  teamId: string;
  address: string;
}

const LOCAL_PART = 'notifications';

/** Returns the sender; undefined if no domain can send account mail. */
export async function accountSender({ db, config }: Pick<Store, 'db' | 'config'>): Promise<AccountSender | undefined> {
  const { mail_from: from } = config.accounts;
  if (from === '') {
    const oldest = await oldestVerifiedDomain(db);
    return oldest && { teamId: oldest.team_id, address: `${LOCAL_PART}@${oldest.name}` };
  }
  const parsed = parseMailbox(from);
  const domain = parsed.ok ? await verifiedDomainNamed(db, parsed.mailbox.domain) : undefined;
  return domain && { teamId: domain.team_id, address: from };
}

/**
 * Returns the sender of reports that name recipients of all teams. Its team can read them: where there are several teams, only the
 * operator may decide which one that is.
 */
export async function reportSender(store: Pick<Store, 'db' | 'config'>): Promise<AccountSender | undefined> {
  const isDecided = store.config.accounts.mail_from !== '' || (await hasOneTeam(store.db));
  return isDecided ? accountSender(store) : undefined;
}

const NOTICES_KEPT_MS = 30 * 24 * 3_600_000;

/** Removes expired requests and old notices. Returns the number of requests removed. */
export async function forgetAccountRequests({ db, clock }: Store): Promise<number> {
  const now = clock.now();
  await removeAccountNoticesBefore(db, now - NOTICES_KEPT_MS);
  return (await removeSignUpsBefore(db, now)) + (await removePasswordResetsBefore(db, now));
}
