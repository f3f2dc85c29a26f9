import { isoTime } from '../../../platform/clock/index.ts';
import { clientKey } from '../../../platform/network/index.ts';
import { notFound, refuse } from '../../../platform/refusal/index.ts';
import { hashToken } from '../../../platform/secrets/index.ts';
import type { UserCtx } from '../../../tenancy/access/index.ts';
import { kindOfSession } from '../../../tenancy/session-rows/index.ts';
import { countGuess } from '../sessions/index.ts';
import { decide, findByUserCode, type DeviceLoginRow, type DeviceLoginStatus } from './device-logins.store.ts';
import { plainUserCode } from './user-code.ts';

const GUESSES_MAX = 10;

/** What asks, for a person who has typed its code. */
export async function getDeviceLogin(ctx: UserCtx, userCode: string) {
  const row = await look(ctx, userCode);
  return present(row, row.status);
}

export const approveDeviceLogin = (ctx: UserCtx, userCode: string) => decideIt(ctx, userCode, 'approved');

export const denyDeviceLogin = (ctx: UserCtx, userCode: string) => decideIt(ctx, userCode, 'denied');

async function decideIt(ctx: UserCtx, userCode: string, status: 'approved' | 'denied') {
  const { store, actor } = ctx;
  // Else one token that was stolen would make itself others, which outlive it.
  if ((await kindOfSession(store.db, actor.sessionId)) === 'device') {
    throw refuse('invalid_permission', {
      say: 'A program is approved in a browser, by a person who is signed in there.',
    });
  }
  const row = await look(ctx, userCode);
  const sessionId = status === 'approved' ? actor.sessionId : null;
  if (!(await store.db.tx((tx) => decide(tx, { id: row.id, status, sessionId })))) {
    throw refuse('resource_locked', { status: 409, say: 'This code was approved or denied before.' });
  }
  return present(row, status);
}

/** A code that does not exist is a guess, and is counted before it is looked for. */
async function look({ store, actor, browser }: UserCtx, userCode: string): Promise<DeviceLoginRow> {
  const takeBack = await countGuess(store, {
    ...{ of: 'codes that do not exist', max: GUESSES_MAX },
    by: [`person ${actor.userId}`, `address ${clientKey(browser.address)}`],
  });
  const row = await findByUserCode(store.db, hashToken(plainUserCode(userCode)), store.clock.now());
  if (!row) throw notFound('Code');
  await store.db.txUnsynced((tx) => takeBack(tx));
  return row;
}

const present = (row: DeviceLoginRow, status: DeviceLoginStatus) => ({
  object: 'device_login' as const,
  id: row.id,
  status,
  client_name: row.client_name,
  address: row.address,
  user_agent: row.user_agent,
  created_at: isoTime(row.created_at),
  expires_at: isoTime(row.expires_at),
});
