import { refuse } from '../../platform/refusal/index.ts';
import { hashToken, isPassword, newToken } from '../../platform/secrets/index.ts';
import type { NobodyCtx } from '../access/index.ts';
import { audited, whoActed } from '../audit/index.ts';
import { insertSession } from '../session-rows/index.ts';
import { presentTeam } from '../teams/index.ts';
import { emailKeyOf, findUserByEmailKey, presentUser } from '../users/index.ts';
import { beginAttempt, settleAttempt } from './attempts.ts';
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
  const user = await findUserByEmailKey(store.db, emailKey);
  const isRight = await isPassword(password, user?.password_hash ?? null);
  if (!user || !isRight) throw refuse('validation_error', { status: 422, say: 'The email or the password is wrong.' });
  const [team] = await teamsOf(store.db, user.id);
  const token = newToken('rks_');
  const now = store.clock.now();
  const seconds = store.config.sessions.days * DAY_SECONDS;
  const { address } = browser;
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
