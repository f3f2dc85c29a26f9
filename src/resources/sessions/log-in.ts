import { refuse } from '../../platform/refusal/index.ts';
import { hashToken, isPassword, newToken } from '../../platform/secrets/index.ts';
import type { Store } from '../../platform/store/index.ts';
import type { NobodyCtx } from '../access/index.ts';
import { audited, whoActed } from '../audit/index.ts';
import { endSessionOfToken, insertSession } from '../session-rows/index.ts';
import { presentTeam } from '../teams/index.ts';
import { emailKeyOf, findUserByEmailKey, presentUser } from '../users/index.ts';
import { beginAttempt, forgiveAttempt, settleAttempt } from './attempts.ts';
import { SESSION_COOKIE } from './authenticate-session.ts';
import { teamsOf } from './own-teams.store.ts';

const DAY_SECONDS = 24 * 3600;
const USER_AGENT_CHARS_MAX = 500;

/** Answers alike, and works as hard, whether the address is unknown or the password wrong. */
export async function logIn(
  { store, browser, requestId }: NobodyCtx,
  { email, password }: { email: string; password: string },
) {
  const emailKey = emailKeyOf(email);
  const attempt = await beginAttempt(store, emailKey, browser.address);
  const { user, isRight } = await check(store, emailKey, password).catch(async (error: unknown) => {
    await store.db.txUnsynced((tx) => forgiveAttempt(tx, attempt));
    throw error;
  });
  if (!user || !isRight) throw refuse('validation_error', { status: 422, say: 'The email or the password is wrong.' });
  const teams = await teamsOf(store.db, user.id);
  const team = teams.find(({ risk_state: state }) => state === 'normal') ?? teams[0];
  const token = newToken('rks_');
  const now = store.clock.now();
  const seconds = store.config.sessions.days * DAY_SECONDS;
  const { address } = browser;
  const before = browser.cookie(SESSION_COOKIE);
  const userAgent = browser.userAgent.slice(0, USER_AGENT_CHARS_MAX);
  const session = {
    ...{ id: store.ids.uuid(), token_hash: hashToken(token), user_id: user.id, current_team_id: team?.id ?? null },
    ...{ created_at: now, last_used_at: now, expires_at: now + seconds * 1000, address, user_agent: userAgent },
  };
  const actor = { kind: 'session' as const, sessionId: session.id, userId: user.id, name: user.email, role: null };
  const audit = audited(store, {
    ...{ action: 'session.begun', team_id: team?.id ?? null, subject_id: session.id, ...whoActed(actor) },
    ...{ address, user_agent: userAgent, request_id: requestId, details: null },
  });
  await audit.store.db.tx(async (tx) => {
    if (before !== undefined) await endSessionOfToken(tx, hashToken(before));
    await insertSession(tx, session);
    await settleAttempt(tx, attempt);
  });
  browser.keep(SESSION_COOKIE, token, seconds);
  return {
    object: 'session' as const,
    user: presentUser(user),
    current_team: team ? presentTeam(store.config, team) : null,
  };
}

async function check(store: Store, emailKey: string, password: string) {
  const user = await findUserByEmailKey(store.db, emailKey);
  return { user, isRight: await isPassword(password, user?.password_hash ?? null) };
}
