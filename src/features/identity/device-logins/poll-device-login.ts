import { isoTime } from '../../../platform/clock/index.ts';
import { refuse } from '../../../platform/refusal/index.ts';
import { hashToken } from '../../../platform/secrets/index.ts';
import type { NobodyCtx } from '../../../tenancy/access/index.ts';
import { beginProgramSession } from '../sessions/index.ts';
import { INTERVAL_SECONDS } from './begin-device-login.ts';
import { findByDeviceCode, notePoll, takeDeviceLogin, type DeviceLoginRow } from './device-logins.store.ts';

/** Two questions that were asked in time may arrive closer to each other. */
const LEEWAY_MS = 1000;

const answer = (status: 'pending' | 'denied' | 'expired') => ({
  ...{ object: 'device_login' as const, status, token: null, expires_at: null },
});

export async function pollDeviceLogin(ctx: NobodyCtx, deviceCode: string) {
  const { db, clock } = ctx.store;
  const now = clock.now();
  const row = await findByDeviceCode(db, hashToken(deviceCode), now);
  if (!row) return answer('expired');
  const before = now - INTERVAL_SECONDS * 1000 + LEEWAY_MS;
  if (!(await db.txUnsynced((tx) => notePoll(tx, { id: row.id, now, before })))) {
    const say = `Ask every ${INTERVAL_SECONDS} s.`;
    throw refuse('rate_limit_exceeded', { say, retryAfterSeconds: INTERVAL_SECONDS });
  }
  if (row.status === 'denied') return answer('denied');
  return row.status === 'approved' && row.session_id !== null ? begin(ctx, row, row.session_id) : answer('pending');
}

async function begin(ctx: NobodyCtx, row: DeviceLoginRow, sessionId: string) {
  const { client_name: clientName, address, user_agent: userAgent } = row;
  const begun = await beginProgramSession(ctx, { sessionId, clientName, address, userAgent }, (tx) =>
    takeDeviceLogin(tx, row.id),
  );
  if (begun === 'ended') return answer('denied');
  if (begun === 'taken') return answer('expired');
  const { token, expiresAt } = begun;
  return { object: 'device_login' as const, status: 'approved' as const, token, expires_at: isoTime(expiresAt) };
}
