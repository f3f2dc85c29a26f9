import type { Page } from '../../../platform/db/index.ts';
import { notFound } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import {
  deleteDraftRow,
  filesOfDrafts,
  findDraft,
  listDraftRows,
  lockDraft,
  removeDraftFiles,
  type DraftFileRow,
  type DraftRow,
  type InboxRow,
} from '../inbox-rows/index.ts';
import { inboxNamed } from '../inboxes/index.ts';
import { recordDraftEvent } from './draft-event.ts';
import { presentDraft, presentDraftItem } from './present.ts';

export async function mustFindDraft(
  ctx: Ctx,
  named: string,
  id: string,
): Promise<{ inbox: InboxRow; row: DraftRow; files: DraftFileRow[] }> {
  const inbox = await inboxNamed(ctx, named);
  const row = await findDraft(ctx.store.db, inbox.id, id);
  if (!row) throw notFound('Draft');
  return { inbox, row, files: await filesOfDrafts(ctx.store.db, [row.id]) };
}

export async function listDrafts(ctx: Ctx, named: string, page: Page) {
  const inbox = await inboxNamed(ctx, named);
  const { rows, hasMore } = await listDraftRows(ctx.store.db, inbox.id, page);
  const ids = rows.map((row) => row.id);
  const files = Map.groupBy(await filesOfDrafts(ctx.store.db, ids), (file) => file.draft_id);
  return {
    object: 'list' as const,
    has_more: hasMore,
    data: rows.map((row) => presentDraftItem(row, files.get(row.id) ?? [])),
  };
}

export async function getDraft(ctx: Ctx, named: string, id: string) {
  const { row, files } = await mustFindDraft(ctx, named, id);
  return presentDraft(row, files);
}

export async function deleteDraft(ctx: Ctx, named: string, id: string) {
  const { store } = ctx;
  const inbox = await inboxNamed(ctx, named);
  const left = await store.db.tx(async (tx) => {
    const row = await lockDraft(tx, inbox.id, id);
    if (!row) throw notFound('Draft');
    const files = await filesOfDrafts(tx, [row.id]);
    await recordDraftEvent(ctx, tx, 'inbox.draft.deleted', { row, files, at: store.clock.now() });
    await deleteDraftRow(tx, row.id);
    return removeDraftFiles(tx, [row.id]);
  });
  for (const owner of left) await store.blobs.remove(owner);
  return { object: 'inbox_draft' as const, id: id.toLowerCase(), deleted: true as const };
}
