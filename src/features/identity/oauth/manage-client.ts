import { timingSafeEqual } from 'node:crypto';
import { hashToken } from '../../../platform/secrets/index.ts';
import type { NobodyCtx } from '../../../tenancy/access/index.ts';
import { readMetadata } from './client-metadata.ts';
import { findClient, markClientDeleted, replaceMetadata, type ClientRow } from './clients.store.ts';
import { liveGrantsOfClient } from './grants.store.ts';
import { revokeByItself } from './grants.ts';
import { oauthRefusal, type OauthRefusal } from './oauth-refusal.ts';
import type { Fields } from './parameters.ts';
import { presentClient } from './present.ts';
import { stored } from './register-client.ts';

export async function getClient(ctx: NobodyCtx, clientId: string) {
  return presentClient(ctx.store, await clientOf(ctx, clientId));
}

/** Every field anew: what is left out is cleared (RFC 7592 §2.2). */
export async function replaceClient(ctx: NobodyCtx, clientId: string, fields: Fields) {
  const { store } = ctx;
  const client = await clientOf(ctx, clientId);
  if (fields['registration_access_token'] !== undefined) throw bad('registration_access_token must not be sent.');
  const { client_id: named = clientId } = fields;
  if (named !== clientId) throw bad('client_id must be the client of this address.');
  const metadata = stored(readMetadata(fields, store.config.oauth.private_scheme_redirects));
  const replaced = await store.db.tx((tx) => replaceMetadata(tx, clientId, metadata));
  if (replaced === 0) throw noToken();
  return presentClient(store, { ...client, ...metadata });
}

/** Its tokens end with it at once; then the grants say why. */
export async function deleteClient(ctx: NobodyCtx, clientId: string) {
  const { store } = ctx;
  await clientOf(ctx, clientId);
  const grants = await store.db.tx(async (tx) => {
    await markClientDeleted(tx, clientId, store.clock.now());
    return liveGrantsOfClient(tx, clientId);
  });
  for (const grant of grants) await revokeByItself(store, grant, { reason: 'client' }, ctx);
  return { object: 'oauth_client' as const, client_id: clientId, deleted: true as const };
}

/** The same answer to a wrong token and for a client that is not there: strangers do not learn which there are. */
async function clientOf({ store, bearer }: NobodyCtx, clientId: string): Promise<ClientRow> {
  const client = bearer === undefined || clientId.includes('\0') ? undefined : await findClient(store.db, clientId);
  if (!client || !isSame(hashToken(bearer ?? ''), client.registration_hash)) throw noToken();
  return client;
}

const isSame = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));

const noToken = (): OauthRefusal =>
  oauthRefusal('invalid_token', 'Send the registration access token of this client (rkor_) as a bearer token.');

const bad = (say: string): OauthRefusal => oauthRefusal('invalid_client_metadata', say);
