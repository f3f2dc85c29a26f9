import type { Store } from '../../../platform/store/index.ts';
import type { Browser } from '../../../tenancy/access/index.ts';
import { audited } from '../../../tenancy/audit/index.ts';
import { findUserByEmailKey } from '../../../tenancy/users/index.ts';
import { insertFailedSignIn, removeFailedSignIn, type FailedSignInRow } from './failed-sign-ins.store.ts';
import { allTeamsOf } from './own-teams.store.ts';

const USER_AGENT_CHARS_MAX = 500;

/** Written for every address alike: whether there is an account is found out later, where no caller waits for the answer. */
export async function noteFailedSignIn(
  { db, ids }: Store,
  { emailKey, browser, requestId }: { emailKey: string; browser: Browser; requestId: string },
): Promise<void> {
  await db.txUnsynced((tx) =>
    insertFailedSignIn(tx, {
      ...{ id: ids.uuid(), email_key: emailKey, address: browser.address, request_id: requestId },
      user_agent: browser.userAgent.slice(0, USER_AGENT_CHARS_MAX),
    }),
  );
}

/** The entry in the audit log of the person's first team; nothing of an address without an account is kept. */
export async function settleFailedSignIn(store: Store, row: FailedSignInRow): Promise<void> {
  const user = await findUserByEmailKey(store.db, row.email_key);
  if (!user) return void (await removeFailedSignIn(store.db, row.id));
  const [team] = await allTeamsOf(store.db, user.id);
  const { address, user_agent, request_id } = row;
  const audit = audited(store, {
    ...{ action: 'session.refused', team_id: team?.id ?? null, subject_id: user.id },
    ...{ actor_kind: 'system', actor_id: null, actor_name: null },
    ...{ address, user_agent, request_id, details: JSON.stringify({ email: user.email }) },
  });
  await audit.store.db.tx((tx) => removeFailedSignIn(tx, row.id));
}
