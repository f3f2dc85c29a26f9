import type { Executor } from '../../../platform/db/index.ts';
import { hashToken, newToken } from '../../../platform/secrets/index.ts';
import type { NobodyCtx } from '../../../tenancy/access/index.ts';
import { audited, whoActed } from '../../../tenancy/audit/index.ts';
import { lockAccount } from '../../../tenancy/members/index.ts';
import { copySession, ownerOfSession } from '../../../tenancy/session-rows/index.ts';
import { SESSION_PREFIX } from './authenticate-session.ts';
import { DAY_SECONDS } from './begin-session.ts';

/** What was approved in a session of a browser. */
export interface Approved {
  sessionId: string;
  clientName: string;
  address: string;
  userAgent: string;
}

export type Begun = { token: string; expiresAt: number } | 'ended' | 'taken';

/**
 * Begins the session of a program, as whom and in the team in which it was approved: `ended` where that session has ended
 * since. `take` is part of the same transaction; it answers whether it is still to be begun.
 */
export async function beginProgramSession(
  { store, requestId }: NobodyCtx,
  { sessionId, clientName, address, userAgent }: Approved,
  take: (tx: Executor) => Promise<boolean>,
): Promise<Begun> {
  const owner = await ownerOfSession(store.db, sessionId);
  if (!owner) return 'ended';
  const token = newToken(SESSION_PREFIX);
  const now = store.clock.now();
  const expiresAt = now + store.config.sessions.days * DAY_SECONDS * 1000;
  const id = store.ids.uuid();
  const row = {
    ...{ id, token_hash: hashToken(token), client_name: clientName, address, user_agent: userAgent },
    ...{ created_at: now, last_used_at: now, expires_at: expiresAt },
  };
  const actor = { kind: 'session' as const, sessionId: id, userId: owner.user_id, name: owner.email, role: null };
  const audit = audited(store, {
    ...{ action: 'session.begun', team_id: owner.team_id, subject_id: id, ...whoActed(actor) },
    ...{ address, user_agent: userAgent, request_id: requestId },
    details: JSON.stringify({ kind: 'device', client_name: clientName }),
  });
  const begin = audit.store.db.tx(async (tx) => {
    // A request that ends all sessions of the person at this moment waits, and ends this one too.
    await lockAccount(tx, owner.user_id);
    if (!(await copySession(tx, sessionId, row))) return 'ended' as const;
    if (!(await take(tx))) throw new Taken();
    return { token, expiresAt };
  });
  return begin.catch((error: unknown) => {
    if (error instanceof Taken) return 'taken' as const;
    throw error;
  });
}

/** Undoes what was begun: somebody else was first. */
class Taken extends Error {}
