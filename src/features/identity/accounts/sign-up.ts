import { refuse } from '../../../platform/refusal/index.ts';
import { hashToken } from '../../../platform/secrets/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import type { NobodyCtx } from '../../../tenancy/access/index.ts';
import { countRequest } from '../sessions/index.ts';
import { emailKeyOf, presentUser, readUserEmail } from '../../../tenancy/users/index.ts';
import { signUpTokens, verificationTokens } from './account-tokens.ts';
import { insertSignUp } from './sign-ups.store.ts';

export const SIGN_UP_COOKIE = 'rasket_signup';
const LIFE_MS = 3 * 24 * 3_600_000;

/**
 * Notes what was asked for and looks nothing up: what becomes of it is decided where its mail is written, so that neither the
 * answer nor its time says whether the address has an account or an invitation.
 */
export async function signUp(
  { store, browser }: NobodyCtx,
  { email: written, password, name = null }: { email: string; password: string; name?: string | null },
) {
  mustTakeSignUps(store);
  const email = readUserEmail(written);
  const emailKey = emailKeyOf(email);
  const { address } = browser;
  await countRequest(store, 'sign_up', { emailKey, address });
  const id = store.ids.uuid();
  const now = store.clock.now();
  const row = {
    ...{ id, email, email_key: emailKey, name, password_hash: await store.passwords.hash(password) },
    ...{ token_hash: hashToken(verificationTokens.make(store.secrets, id)), address },
    ...{
      created_at: now,
      expires_at: now + LIFE_MS,
      admitted_at: null,
      mailed_at: null,
      fault: null,
      verified_at: null,
    },
  };
  await store.db.tx((tx) => insertSignUp(tx, row));
  browser.keep(SIGN_UP_COOKIE, signUpTokens.make(store.secrets, id), LIFE_MS / 1000);
  return presentUser({ ...row, email_verified_at: null, mfa_enabled_at: null, disabled_at: null });
}

export function mustTakeSignUps({ config }: Store): void {
  if (config.accounts.sign_up !== 'closed') return;
  throw refuse('invalid_permission', {
    say: 'Nobody makes an account by themselves here; ask whoever runs this service.',
  });
}
