import { createHash } from 'node:crypto';
import { clientKey } from '../../../platform/network/index.ts';
import { hashToken, newToken } from '../../../platform/secrets/index.ts';
import type { NobodyCtx } from '../../../tenancy/access/index.ts';
import { readMetadata, type ClientMetadata } from './client-metadata.ts';
import {
  countAll,
  countFromAddress,
  insertClient,
  lockClients,
  type NewClient,
  type Registrations,
  type StoredMetadata,
} from './clients.store.ts';
import { OauthRefusal } from './oauth-refusal.ts';
import type { Fields } from './parameters.ts';
import { presentClient } from './present.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const FROM_ADDRESS_MAX = 10;
const PLATFORM_MAX = 1000;

export async function registerClient({ store, browser }: NobodyCtx, fields: Fields) {
  const metadata = readMetadata(fields, store.config.oauth.private_scheme_redirects);
  const token = newToken('rkor_');
  const now = store.clock.now();
  const row: NewClient = {
    ...{ id: store.ids.uuid(), client_id: newToken('rkoc_'), registration_hash: hashToken(token), created_at: now },
    address_hash: createHash('sha256').update(clientKey(browser.address)).digest('base64url'),
    ...stored(metadata),
  };
  await store.db.tx(async (tx) => {
    await lockClients(tx);
    mustBeUnder(await countFromAddress(tx, row.address_hash, now - HOUR_MS), {
      ...{ max: FROM_ADDRESS_MAX, periodMs: HOUR_MS, now },
      say: `At most ${FROM_ADDRESS_MAX} clients an hour are registered from one address, which may be that of a whole office; register once and keep the client_id.`,
    });
    mustBeUnder(await countAll(tx, now - DAY_MS), {
      ...{ max: PLATFORM_MAX, periodMs: DAY_MS, now },
      say: `At most ${PLATFORM_MAX} clients a day are registered with this service.`,
    });
    await insertClient(tx, row);
  });
  return { ...presentClient(store, row), registration_access_token: token };
}

export const stored = (metadata: ClientMetadata): StoredMetadata => ({
  ...metadata,
  redirect_uris: JSON.stringify(metadata.redirect_uris),
  grant_types: JSON.stringify(metadata.grant_types),
});

function mustBeUnder(
  { count, since }: Registrations,
  { max, periodMs, now, say }: { max: number; periodMs: number; now: number; say: string },
): void {
  if (count < max) return;
  const retryAfterSeconds = Math.max(1, Math.ceil(((since ?? now) + periodMs - now) / 1000));
  throw new OauthRefusal('invalid_request', `${say} Try again in ${retryAfterSeconds} s.`, retryAfterSeconds);
}
