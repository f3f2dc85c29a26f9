import type { Page } from '../../../platform/db/index.ts';
import { notFound } from '../../../platform/refusal/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { foldText } from '../../../protocol/contact-filter/index.ts';
import type { OperatorCtx } from '../../../tenancy/access/index.ts';
import { removeAsksOfClient } from './asks.store.ts';
import {
  clientPage,
  findListedClient,
  markClientDisabled,
  markClientEnabled,
  type ClientState,
  type ListedClient,
} from './clients.store.ts';
import { revokeByOperator } from './grants.ts';
import { liveGrantsOfClient } from './grants.store.ts';
import { presentListedClient } from './present.ts';

const SEARCHED_ROWS = 1000;

interface Wanted {
  search?: string | undefined;
  state?: ClientState | undefined;
}

export async function listOauthClients(store: Store, wanted: Wanted, page: Page) {
  const { rows, hasMore } = await read(store, wanted, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(presentListedClient) };
}

/** Letter case is folded here and not in SQL, as in every search by name: SQLite folds ASCII alone. */
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
 * Its tokens are refused from the first transaction on, on every node; then the grants say why. What a killed process leaves
 * live is ended when it is asked for again, and before the client is enabled.
 */
export async function disableOauthClient(ctx: OperatorCtx, id: string, reason: string) {
  const { store, actor } = ctx;
  const client = await clientOf(store, id);
  await store.db.tx(async (tx) => {
    await markClientDisabled(tx, id, { at: store.clock.now(), reason: reason.trim(), by: actor.name });
    await removeAsksOfClient(tx, client.client_id);
  });
  await endGrants(ctx, client.client_id);
  return presentListedClient(await clientOf(store, id));
}

export async function enableOauthClient(ctx: OperatorCtx, id: string) {
  const { store } = ctx;
  const client = await clientOf(store, id);
  if (client.disabled_at !== null) {
    await endGrants(ctx, client.client_id);
    await store.db.tx((tx) => markClientEnabled(tx, id));
  }
  return presentListedClient(await clientOf(store, id));
}

async function endGrants(ctx: OperatorCtx, clientId: string): Promise<void> {
  for (const grant of await liveGrantsOfClient(ctx.store.db, clientId)) await revokeByOperator(ctx, grant);
}

async function clientOf(store: Store, id: string): Promise<ListedClient> {
  const client = await findListedClient(store.db, id, store.clock.now());
  if (!client) throw notFound('Client');
  return client;
}
