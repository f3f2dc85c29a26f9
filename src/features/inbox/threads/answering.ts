import { isoTime } from '../../../platform/clock.ts';
import type { Actor, Ctx } from '../../../tenancy/access/index.ts';
import { deleteAnswering, listAnswering, putAnswering } from '../store/answering.store.ts';
import { loadAnswering, threadNamed } from './read-threads.ts';

/** An announcement ends after this time without another one, so that a lost connection leaves nothing behind. */
const ANNOUNCED_MS = 120_000;

/** Announces that the signed-in person writes a reply, or renews the announcement. */
export async function announceAnswer(ctx: Ctx, named: string, threadId: string) {
  const { store, teamId } = ctx;
  const { id } = await threadNamed(ctx, named, threadId);
  const userId = readUserId(ctx.actor);
  const at = store.clock.now();
  const expiresAt = at + ANNOUNCED_MS;
  await store.db.tx(async (tx) => {
    const before = await listAnswering(tx, { teamId, threadIds: [id], at });
    const own = before.find((row) => row.user_id === userId);
    const begun = own ? { sinceId: own.since_id, since: Number(own.since) } : { sinceId: store.ids.uuid(), since: at };
    await putAnswering(tx, { threadId: id, userId, ...begun, expiresAt });
  });
  return presentAnswering(ctx, id, expiresAt);
}

export async function withdrawAnswer(ctx: Ctx, named: string, threadId: string) {
  const { id } = await threadNamed(ctx, named, threadId);
  await deleteAnswering(ctx.store.db, { threadId: id, userId: readUserId(ctx.actor) });
  return presentAnswering(ctx, id, null);
}

function readUserId(actor: Actor): string {
  if (actor.kind !== 'session') throw new Error('the announcement of a reply was called without a session');
  return actor.userId;
}

async function presentAnswering(ctx: Ctx, threadId: string, expiresAt: number | null) {
  const find = await loadAnswering(ctx, ctx.store.db, [threadId]);
  return {
    object: 'inbox_answering' as const,
    thread_id: threadId,
    answering: find(threadId),
    expires_at: expiresAt === null ? null : isoTime(expiresAt),
  };
}
