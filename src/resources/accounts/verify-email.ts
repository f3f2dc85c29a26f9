import { isoTime } from '../../platform/clock/index.ts';
import { isUniqueViolation, type Executor } from '../../platform/db/index.ts';
import { notFound, refuse } from '../../platform/refusal/index.ts';
import { hashToken } from '../../platform/secrets/index.ts';
import type { NobodyCtx } from '../access/index.ts';
import { findUserByEmailKey, insertUser } from '../users/index.ts';
import { auditedOf } from './audited-of.ts';
import { mustTakeSignUps } from './sign-up.ts';
import {
  findSignUpByToken,
  isInvited,
  lockSignUpsOf,
  noteSignUpVerified,
  removeOtherSignUps,
  type SignUpRow,
} from './sign-ups.store.ts';

/** Makes the account that was asked for. The token came to the address by mail, and sets the password it was asked for with. */
export async function verifyEmail(ctx: NobodyCtx, token: string) {
  const { store } = ctx;
  mustTakeSignUps(store);
  const hash = hashToken(token);
  const now = store.clock.now();
  const row = await findSignUpByToken(store.db, hash);
  if (!row || row.expires_at <= now) throw gone();
  const held = auditedOf(ctx, { action: 'account.created', user: row, team_id: null });
  const at = await held.db
    .tx(async (tx) => {
      await lockSignUpsOf(tx, row.email_key);
      if (await noteSignUpVerified(tx, row.id, now)) {
        if (store.config.accounts.sign_up === 'invitation' && !(await isInvited(tx, row.email_key, now))) throw gone();
        await makeUser(tx, row, now);
        return now;
      }
      return (await findSignUpByToken(tx, hash))?.verified_at ?? undefined;
    })
    .catch((error: unknown) => {
      throw isUniqueViolation(error) ? exists() : error;
    });
  if (at === undefined) throw gone();
  return { object: 'user' as const, id: row.id, email_verified_at: isoTime(at) };
}

async function makeUser(tx: Executor, row: SignUpRow, now: number): Promise<void> {
  if (await findUserByEmailKey(tx, row.email_key)) throw exists();
  const { id, email, email_key, name, password_hash } = row;
  await insertUser(tx, { id, email, email_key, name, password_hash, email_verified_at: now, created_at: now });
  await removeOtherSignUps(tx, row);
}

/** Unknown, expired, withdrawn and replaced are one answer. */
const gone = () => notFound('Request for an account');

const exists = () =>
  refuse('resource_locked', {
    say: 'This address has an account already; sign in, or ask for a new password.',
  });
