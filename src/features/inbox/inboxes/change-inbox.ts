import type { UpdateInboxAgentRequest, UpdateInboxRequest } from '../../../contract/index.ts';
import { recordEvents } from '../../../mail/events/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { notFound } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import {
  draftsIn,
  inboxesOfDomain,
  lockInbox,
  markInboxDeleted,
  presentInbox,
  sourceOf,
  unreadIn,
  updateInboxRow,
  type InboxChange,
} from '../inbox-rows/index.ts';
import { inboxNamed } from './read-inboxes.ts';

export async function updateInbox(ctx: Ctx, named: string, input: UpdateInboxRequest) {
  const { thread_by_subject: bySubject, ...rest } = input;
  const change = { ...rest, ...(bySubject === undefined ? {} : { thread_by_subject: bySubject ? 1 : 0 }) };
  return { object: 'inbox' as const, id: await changeInbox(ctx, named, change) };
}

export async function getInboxAgent(ctx: Ctx, named: string) {
  const row = await inboxNamed(ctx, named);
  return {
    object: 'inbox_agent' as const,
    instructions: row.agent_instructions,
    tone: row.agent_tone as Exclude<UpdateInboxAgentRequest['tone'], undefined>,
    actions: JSON.parse(row.agent_actions) as NonNullable<UpdateInboxAgentRequest['actions']>,
  };
}

export async function updateInboxAgent(ctx: Ctx, named: string, input: UpdateInboxAgentRequest) {
  const id = await changeInbox(ctx, named, {
    ...(input.instructions === undefined ? {} : { agent_instructions: input.instructions }),
    ...(input.tone === undefined ? {} : { agent_tone: input.tone }),
    ...(input.actions === undefined ? {} : { agent_actions: JSON.stringify([...new Set(input.actions)]) }),
  });
  return { object: 'inbox_agent' as const, id };
}

async function changeInbox(ctx: Ctx, named: string, change: InboxChange): Promise<string> {
  const { store, teamId, actor } = ctx;
  const { id } = await inboxNamed(ctx, named);
  const at = store.clock.now();
  await store.db.tx(async (tx) => {
    const row = await lockInbox(tx, teamId, id);
    if (!row) throw notFound('Inbox');
    await updateInboxRow(tx, id, change, at);
    const unread = (await unreadIn(tx, [id])).get(id) ?? 0;
    const inbox = presentInbox({ ...row, ...change, updated_at: at }, { unread, drafts: await draftsIn(tx, id) });
    const data = { source: sourceOf(actor), inbox_id: id, inbox };
    await recordEvents(tx, store.ids, [{ teamId, type: 'inbox.updated', subjectId: id, data, at }]);
  });
  return id;
}

/** Its threads are hidden with it at once; their rows go in the background. */
export async function deleteInbox(ctx: Ctx, named: string) {
  const { id } = await inboxNamed(ctx, named);
  await ctx.store.db.tx(async (tx) => {
    if (!(await endInbox(tx, ctx, id))) throw notFound('Inbox');
  });
  return { object: 'inbox' as const, id, deleted: true as const };
}

/** In the transaction that deletes their domain. */
export async function deleteInboxesOfDomain(tx: Executor, ctx: Ctx, domainId: string): Promise<void> {
  for (const { id } of await inboxesOfDomain(tx, domainId)) await endInbox(tx, ctx, id);
}

async function endInbox(tx: Executor, { store, teamId, actor }: Ctx, id: string): Promise<boolean> {
  const at = store.clock.now();
  if (!(await markInboxDeleted(tx, teamId, id, at))) return false;
  const data = { source: sourceOf(actor), inbox_id: id };
  await recordEvents(tx, store.ids, [{ teamId, type: 'inbox.deleted', subjectId: id, data, at }]);
  return true;
}
