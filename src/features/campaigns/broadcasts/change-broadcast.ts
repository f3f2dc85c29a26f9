import type { UpdateBroadcastRequest } from '../../../contract/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { notFound } from '../../../platform/refusal/index.ts';
import { grantIdOf, readApprovedContacts, type Ctx } from '../../../tenancy/access/index.ts';
import { judgedCountsOf } from '../broadcast-recipients/index.ts';
import {
  clearHold,
  deleteBroadcastRow,
  findBroadcast,
  insertBroadcast,
  lockBroadcast,
  markCanceled,
  saveContent,
  type BroadcastRow,
} from './broadcasts.store.ts';
import { broadcastNamed, draftOf } from './create-broadcast.ts';
import { AUDIENCE_GROWN } from './holds.store.ts';
import { mustBeAddressed, readChangedContent } from './read-content.ts';
import { inOtherStatus } from './status-faults.ts';

export async function updateBroadcast({ store, teamId, actor }: Ctx, id: string, input: UpdateBroadcastRequest) {
  await store.db.tx(async (tx) => {
    const row = await locked(tx, teamId, id);
    if (row.status !== 'draft') throw inOtherStatus(row, 'only a draft can be changed', 400);
    const content = readChangedContent(row, input);
    const isNew = (after: string | null, before: string | null) => (after === before ? null : after);
    await mustBeAddressed(tx, teamId, {
      segmentId: isNew(content.segment_id, row.segment_id),
      topicId: isNew(content.topic_id, row.topic_id),
    });
    const authorGrantId = row.author_grant_id === grantIdOf(actor) ? row.author_grant_id : null;
    await saveContent(tx, id, content, { authorGrantId, at: store.clock.now() });
  });
  return broadcastNamed(id);
}

export async function deleteBroadcast({ store, teamId }: Ctx, id: string) {
  await store.db.tx(async (tx) => {
    const row = await locked(tx, teamId, id);
    if (row.status !== 'draft') throw inOtherStatus(row, 'only a draft can be deleted', 403);
    await deleteBroadcastRow(tx, id);
  });
  return { ...broadcastNamed(id), deleted: true as const };
}

export async function cancelBroadcast({ store, teamId }: Ctx, id: string) {
  await store.db.tx(async (tx) => {
    const row = await locked(tx, teamId, id);
    if (await markCanceled(tx, id, store.clock.now())) return;
    throw inOtherStatus(row, 'only one that is scheduled, queued, being sent or held can be canceled', 403);
  });
  return broadcastNamed(id);
}

/**
 * It goes on where it was held: what its pages have sent is sent. What has come of that holds it no more, nor does an
 * audience that has grown, whose size `held` shows.
 */
export async function resumeBroadcast({ store, teamId, actor }: Ctx, id: string) {
  await store.db.tx(async (tx) => {
    const row = await locked(tx, teamId, id);
    const seen = (await judgedCountsOf(tx, [id])).get(id) ?? { delivered: 0, bounced: 0, complained: 0 };
    const before = row.held_reason === AUDIENCE_GROWN ? null : row.approved_contacts;
    const approvedContacts = readApprovedContacts(actor) ?? before;
    if (await clearHold(tx, id, { at: store.clock.now(), seen, approvedContacts })) return;
    throw inOtherStatus(row, 'only one that is held can be resumed', 403);
  });
  return broadcastNamed(id);
}

const NAME_CHARS_MAX = 200;

/** A draft with the same content; whom it reaches is asked anew when it is sent. */
export async function duplicateBroadcast(ctx: Ctx, id: string) {
  const { store, teamId } = ctx;
  const row = await findBroadcast(store.db, teamId, id);
  if (!row) throw notFound('Broadcast');
  const name = [...`Copy of ${row.name}`].slice(0, NAME_CHARS_MAX).join('');
  const copy = draftOf(ctx, { ...row, name });
  await store.db.tx((tx) => insertBroadcast(tx, copy));
  return broadcastNamed(copy.id);
}

async function locked(tx: Executor, teamId: string, id: string): Promise<BroadcastRow> {
  const row = await lockBroadcast(tx, teamId, id);
  if (!row) throw notFound('Broadcast');
  return row;
}
