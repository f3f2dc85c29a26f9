import { isoTime } from '../../../platform/clock/index.ts';
import { clientKey } from '../../../platform/network/index.ts';
import { hashToken, newToken } from '../../../platform/secrets/index.ts';
import type { NobodyCtx } from '../../../tenancy/access/index.ts';
import { countGuess } from '../sessions/index.ts';
import { insertDeviceLogin } from './device-logins.store.ts';
import { newUserCode, plainUserCode } from './user-code.ts';

export const DEVICE_PATH = '/device';
export const INTERVAL_SECONDS = 5;
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
  const [deviceCode, userCode, now] = [newToken('rkd_'), newUserCode(), store.clock.now()];
  const expiresAt = now + LIFE_MS;
  const row = {
    ...{
      id: store.ids.uuid(),
      device_code_hash: hashToken(deviceCode),
      user_code_hash: hashToken(plainUserCode(userCode)),
    },
    ...{ client_name, address, user_agent: browser.userAgent.slice(0, USER_AGENT_CHARS_MAX) },
    ...{ status: 'pending' as const, session_id: null, polled_at: null, created_at: now, expires_at: expiresAt },
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
