import { createHash, timingSafeEqual } from 'node:crypto';
import { clientKey } from '../../../platform/network/index.ts';
import { hashToken, newToken } from '../../../platform/secrets/index.ts';
import type { NobodyCtx, OperatorCtx } from '../../../tenancy/access/index.ts';
import { readMetadata, type ClientMetadata } from './client-metadata.ts';
import {
  countAll,
  countFromAddress,
  insertClient,
  lockClients,
  findClient,
  markClientDeleted,
  replaceMetadata,
  clientPage,
  findListedClient,
  markClientDisabled,
  markClientEnabled,
  type NewClient,
  type Registrations,
  type StoredMetadata,
  type ClientRow,
  type ClientState,
  type ListedClient,
} from './clients.store.ts';
import { OauthRefusal, oauthRefusal, type Fields } from './parameters.ts';
import { presentClient, revokeByItself, revokeByOperator, presentListedClient } from './grants.ts';
import { liveGrantsOfClient } from './grants.store.ts';
import type { Page } from '../../../platform/db/index.ts';
import { notFound } from '../../../platform/refusal.ts';
import type { Store } from '../../../platform/store.ts';
import { foldText } from '../../../protocol/contact-filter/index.ts';
import { removeAsksOfClient } from './tokens.store.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const FROM_ADDRESS_MAX = 10;
const PLATFORM_MAX = 1000;

export async function registerClient({ store, browser }: NobodyCtx, fields: Fields) {
  const metadata = readMetadata(fields, store.config.oauth.private_scheme_redirects);
  const token = newToken('rkor_');
  const now = store.clock.now();
  const row: NewClient = {
    id: store.ids.uuid(),
    client_id: newToken('rkoc_'),
    registration_hash: hashToken(token),
    created_at: now,
    address_hash: createHash('sha256').update(clientKey(browser.address)).digest('base64url'),
    ...stored(metadata),
  };
  await store.db.tx(async (tx) => {
    await lockClients(tx);
    mustBeUnder(await countFromAddress(tx, row.address_hash, now - HOUR_MS), {
      max: FROM_ADDRESS_MAX,
      periodMs: HOUR_MS,
      now,
      say: `At most ${FROM_ADDRESS_MAX} clients an hour can be registered from one IP address; register once and reuse the client_id.`,
    });
    mustBeUnder(await countAll(tx, now - DAY_MS), {
      max: PLATFORM_MAX,
      periodMs: DAY_MS,
      now,
      say: `At most ${PLATFORM_MAX} clients a day can be registered with this service.`,
    });
    await insertClient(tx, row);
  });
  return { ...presentClient(store, row), registration_access_token: token };
}

const stored = (metadata: ClientMetadata): StoredMetadata => ({
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

const SEARCHED_ROWS = 1000;

interface Wanted {
  search?: string | undefined;
  state?: ClientState | undefined;
}

export async function listOauthClients(store: Store, wanted: Wanted, page: Page) {
  const { rows, hasMore } = await read(store, wanted, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(presentListedClient) };
}

/** Letter case is folded here and not in SQL, as in every search by name, because SQLite folds only ASCII. */
async function read({ db, clock }: Store, { search, state }: Wanted, page: Page) {
  const among = { state, now: clock.now() };
  if (search === undefined) return clientPage(db, among, page);
  const text = foldText(search);
  const found: ListedClient[] = [];
  const isBack = page.before !== undefined;
  for (let at: Page = { ...page, limit: SEARCHED_ROWS }; ;) {
    const { rows, hasMore } = await clientPage(db, among, at);
    const fitting = rows.filter((row) =>
      foldText(`${row.name}\n${row.client_id}\n${row.redirect_uris}`).includes(text),
    );
    if (isBack) found.unshift(...fitting);
    else found.push(...fitting);
    const edge = (isBack ? rows[0] : rows.at(-1))?.id;
    if (!hasMore || edge === undefined || found.length > page.limit) break;
    at = { limit: SEARCHED_ROWS, ...(isBack ? { before: edge } : { after: edge }) };
  }
  const rows = isBack ? found.slice(-page.limit) : found.slice(0, page.limit);
  return { rows, hasMore: found.length > page.limit };
}

/**
 * Disables a client. Every node refuses its tokens from the first transaction on; its grants are then revoked with the
 * reason. If the process is killed in between, the remaining grants are revoked when the call is repeated, and at the
 * latest before the client is enabled.
 */
export async function disableOauthClient(ctx: OperatorCtx, id: string, reason: string) {
  const { store, actor } = ctx;
  const client = await mustFindClient(store, id);
  await store.db.tx(async (tx) => {
    await markClientDisabled(tx, id, { at: store.clock.now(), reason: reason.trim(), by: actor.name });
    await removeAsksOfClient(tx, client.client_id);
  });
  await endGrants(ctx, client.client_id);
  return presentListedClient(await mustFindClient(store, id));
}

export async function enableOauthClient(ctx: OperatorCtx, id: string) {
  const { store } = ctx;
  const client = await mustFindClient(store, id);
  if (client.disabled_at !== null) {
    await endGrants(ctx, client.client_id);
    await store.db.tx((tx) => markClientEnabled(tx, id));
  }
  return presentListedClient(await mustFindClient(store, id));
}

async function endGrants(ctx: OperatorCtx, clientId: string): Promise<void> {
  for (const grant of await liveGrantsOfClient(ctx.store.db, clientId)) await revokeByOperator(ctx, grant);
}

async function mustFindClient(store: Store, id: string): Promise<ListedClient> {
  const client = await findListedClient(store.db, id, store.clock.now());
  if (!client) throw notFound('Client');
  return client;
}

export async function getClient(ctx: NobodyCtx, clientId: string) {
  return presentClient(ctx.store, await authenticateClient(ctx, clientId));
}

/** Replaces all fields; an omitted one is cleared (RFC 7592 §2.2). */
export async function replaceClient(ctx: NobodyCtx, clientId: string, fields: Fields) {
  const { store } = ctx;
  const client = await authenticateClient(ctx, clientId);
  if (fields['registration_access_token'] !== undefined) throw bad('registration_access_token must not be sent.');
  const { client_id: named = clientId } = fields;
  if (named !== clientId) throw bad('client_id must match the client in the path.');
  const metadata = stored(readMetadata(fields, store.config.oauth.private_scheme_redirects));
  const replaced = await store.db.tx((tx) => replaceMetadata(tx, clientId, metadata));
  if (replaced === 0) throw noToken();
  return presentClient(store, { ...client, ...metadata });
}

/** Removes a client. Its tokens end at once; its grants are then revoked with the reason. */
export async function deleteClient(ctx: NobodyCtx, clientId: string) {
  const { store } = ctx;
  await authenticateClient(ctx, clientId);
  const grants = await store.db.tx(async (tx) => {
    await markClientDeleted(tx, clientId, store.clock.now());
    return liveGrantsOfClient(tx, clientId);
  });
  for (const grant of grants) await revokeByItself(store, grant, { reason: 'client' }, ctx);
  return { object: 'oauth_client' as const, client_id: clientId, deleted: true as const };
}

/**
 * Returns the client of a registration token. A wrong token and an unknown client cause the same error, so that nobody
 * can find out which clients exist.
 */
async function authenticateClient({ store, bearer }: NobodyCtx, clientId: string): Promise<ClientRow> {
  const client = bearer === undefined || clientId.includes('\0') ? undefined : await findClient(store.db, clientId);
  if (!client || !isSame(hashToken(bearer ?? ''), client.registration_hash)) throw noToken();
  return client;
}

const isSame = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));

const noToken = (): OauthRefusal =>
  oauthRefusal('invalid_token', 'Send the registration access token of this client (rkor_) as a bearer token.');

const bad = (say: string): OauthRefusal => oauthRefusal('invalid_client_metadata', say);
