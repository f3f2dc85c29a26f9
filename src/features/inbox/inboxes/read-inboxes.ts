import type { Page } from '../../../platform/db/index.ts';
import { notFound, refuse } from '../../../platform/refusal/index.ts';
import type { Actor, Ctx } from '../../../tenancy/access/index.ts';
import {
  channelRows,
  draftsIn,
  findInbox,
  listInboxRows,
  presentInbox,
  presentInboxItem,
  unreadIn,
  type InboxRow,
} from '../inbox-rows/index.ts';

/** Finds an inbox by its id or its address. Throws if the team has none, or if the caller may not access it. */
export async function inboxNamed({ store, teamId, actor }: Ctx, named: string): Promise<InboxRow> {
  const row = await findInbox(store.db, teamId, named);
  if (!row || (row.channel !== 'open' && !reachesEvery(actor))) throw notFound('Inbox');
  return row;
}

/**
 * Returns whether a caller may access the restricted and personal inboxes of a team: its owners and admins, keys with
 * full access, and the program itself. Other members, viewers and all apps may access only the open ones.
 */
function reachesEvery(actor: Actor): boolean {
  if (actor.kind === 'session') return actor.role === 'owner' || actor.role === 'admin';
  return actor.kind === 'job' || (actor.kind === 'api_key' && actor.domainId === null);
}

export async function getInbox(ctx: Ctx, named: string) {
  const row = await inboxNamed(ctx, named);
  const { db } = ctx.store;
  const unread = (await unreadIn(db, [row.id])).get(row.id) ?? 0;
  return presentInbox(row, { unread, drafts: await draftsIn(db, row.id) });
}

export async function listInboxes({ store, teamId, actor }: Ctx, page: Page) {
  const { rows, hasMore } = await listInboxRows(store.db, teamId, { ...page, onlyOpen: !reachesEvery(actor) });
  const unread = await unreadIn(
    store.db,
    rows.map((row) => row.id),
  );
  const data = rows.map((row) => presentInboxItem(row, unread.get(row.id) ?? 0));
  return { object: 'list' as const, has_more: hasMore, data };
}

/** Lists the open inboxes of a team. Throws if it has none: an empty list would say that there is one to be let into. */
export async function listInboxChannels({ store, teamId }: Ctx) {
  const reached = (await channelRows(store.db, teamId)).filter(({ channel }) => channel === 'open');
  if (reached.length === 0) {
    throw refuse('inbox_not_set_up', { say: 'This team has no open inbox channel; create one with POST /inboxes.' });
  }
  const data = reached.map((row) => ({
    object: 'inbox_channel' as const,
    id: row.id,
    address: row.address,
    name: row.name ?? row.address,
    restricted: false,
  }));
  return { object: 'list' as const, data };
}
