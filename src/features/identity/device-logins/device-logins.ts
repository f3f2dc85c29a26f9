import type { Store } from '../../../platform/store.ts';
import { isoTime } from '../../../platform/clock.ts';
import { clientKey } from '../../../platform/network/index.ts';
import { hashToken, newToken, randomLetters } from '../../../platform/secrets/index.ts';
import type { NobodyCtx, UserCtx } from '../../../tenancy/access/index.ts';
import { countGuess } from '../sessions/attempts.ts';
import { beginProgramSession } from '../sessions/sessions.ts';
import {
  insertDeviceLogin,
  decide,
  findByUserCode,
  findByDeviceCode,
  notePoll,
  takeDeviceLogin,
  type DeviceLoginRow,
  type DeviceLoginStatus,
  removeDeviceLoginsBefore,
} from './device-logins.store.ts';
import { notFound, refuse } from '../../../platform/refusal.ts';
import { kindOfSession } from '../../../tenancy/session-rows/index.ts';

/** Letters without vowels, which could form words, and without letters that look alike. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const HALF = 4;

/** Returns a code of 34 random bits, enough for ten minutes because guesses are limited. */
const newUserCode = (): string => `${randomLetters(LETTERS, HALF)}-${randomLetters(LETTERS, HALF)}`;

/** Normalizes a code as people type it. */
const plainUserCode = (typed: string): string => typed.toUpperCase().replaceAll(/[^A-Z]/g, '');

export const DEVICE_PATH = '/device';
const INTERVAL_SECONDS = 5;
const LIFE_MS = 10 * 60_000;
const BEGUN_MAX = 30;
const USER_AGENT_CHARS_MAX = 500;

export async function beginDeviceLogin({ store, browser }: NobodyCtx, { client_name }: { client_name: string }) {
  const { address } = browser;
  await countGuess(store, {
    of: 'programs that ask to sign in',
    by: [`address ${clientKey(address)}`],
    max: BEGUN_MAX,
  });
  const deviceCode = newToken('rkd_');
  const userCode = newUserCode();
  const now = store.clock.now();
  const expiresAt = now + LIFE_MS;
  const row = {
    id: store.ids.uuid(),
    device_code_hash: hashToken(deviceCode),
    user_code_hash: hashToken(plainUserCode(userCode)),
    client_name,
    address,
    user_agent: browser.userAgent.slice(0, USER_AGENT_CHARS_MAX),
    status: 'pending' as const,
    session_id: null,
    polled_at: null,
    created_at: now,
    expires_at: expiresAt,
  };
  await store.db.tx((tx) => insertDeviceLogin(tx, row));
  const url = `${store.origin()}${DEVICE_PATH}`;
  return {
    object: 'device_login' as const,
    device_code: deviceCode,
    user_code: userCode,
    verification_url: url,
    verification_url_complete: `${url}?code=${userCode}`,
    expires_at: isoTime(expiresAt),
    interval: INTERVAL_SECONDS,
  };
}

const GUESSES_MAX = 10;

/** Returns the program that wants to sign in, for a person who has typed its code. */
export async function getDeviceLogin(ctx: UserCtx, userCode: string) {
  const row = await findByCode(ctx, userCode);
  return present(row, row.status);
}

export const approveDeviceLogin = (ctx: UserCtx, userCode: string) => decideIt(ctx, userCode, 'approved');

export const denyDeviceLogin = (ctx: UserCtx, userCode: string) => decideIt(ctx, userCode, 'denied');

async function decideIt(ctx: UserCtx, userCode: string, status: 'approved' | 'denied') {
  const { store, actor } = ctx;
  // Otherwise a stolen token could create other tokens, which would outlive it.
  if ((await kindOfSession(store.db, actor.sessionId)) === 'device') {
    throw refuse('invalid_permission', {
      say: 'Only a person who is signed in with a browser can approve a program.',
    });
  }
  const row = await findByCode(ctx, userCode);
  const sessionId = status === 'approved' ? actor.sessionId : null;
  if (!(await store.db.tx((tx) => decide(tx, { id: row.id, status, sessionId })))) {
    throw refuse('resource_locked', { status: 409, say: 'This code was already approved or denied.' });
  }
  return present(row, status);
}

/** Finds a login by its code. A code that does not exist is a guess, so each attempt counts before the lookup. */
async function findByCode({ store, actor, browser }: UserCtx, userCode: string): Promise<DeviceLoginRow> {
  const takeBack = await countGuess(store, {
    of: 'codes that do not exist',
    max: GUESSES_MAX,
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

/** Two polls that were sent in time may arrive closer together. */
const LEEWAY_MS = 1000;

const answer = (status: 'pending' | 'denied' | 'expired') => ({
  object: 'device_login' as const,
  status,
  token: null,
  expires_at: null,
});

export async function pollDeviceLogin(ctx: NobodyCtx, deviceCode: string) {
  const { db, clock } = ctx.store;
  const now = clock.now();
  const row = await findByDeviceCode(db, hashToken(deviceCode), now);
  if (!row) return answer('expired');
  const before = now - INTERVAL_SECONDS * 1000 + LEEWAY_MS;
  if (!(await db.txUnsynced((tx) => notePoll(tx, { id: row.id, now, before })))) {
    const say = `Poll every ${INTERVAL_SECONDS} s.`;
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

/** Returns the number removed. */
export const removeExpiredDeviceLogins = ({ db, clock }: Store): Promise<number> =>
  removeDeviceLoginsBefore(db, clock.now());
