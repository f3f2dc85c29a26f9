import type { ApprovalContent, QueryOf } from '../../../contract/index.ts';
import type { Page } from '../../../platform/db/index.ts';
import { notFound } from '../../../platform/refusal/index.ts';
import type { Actor, Ctx } from '../../../tenancy/access/index.ts';
import { approvalPage, findApproval, type ApprovalRow } from './approvals.store.ts';
import type { Maker } from './decide.ts';
import { CONTENT_BYTES_MAX, hasGrown, type Look } from './looked.ts';
import { readCall } from './proposed-call.ts';
import { brokenOffBefore, presentApproval, presentSummary, statusAt } from './present.ts';

type Words = Pick<Maker, 'summaryOf'>;

/** An app sees its own. */
const grantIn = (actor: Actor): string | undefined => (actor.kind === 'oauth_grant' ? actor.grantId : undefined);

export async function listApprovals(
  { store, teamId, actor }: Ctx,
  { status }: NonNullable<QueryOf<'listApprovals'>>,
  page: Page,
  { summaryOf }: Words,
) {
  const now = store.clock.now();
  const filter = { teamId, grantId: grantIn(actor), status, now, brokenOff: brokenOffBefore(now) };
  const { rows, hasMore } = await approvalPage(store.db, filter, page);
  return {
    ...{ object: 'list' as const, has_more: hasMore },
    data: rows.map((row) => presentSummary(row, { summaryOf, now })),
  };
}

/** Returns an approval. An app gets no content: its scopes may not cover it, and it is for the person who decides. */
export async function getApproval({ store, teamId, actor }: Ctx, id: string, { summaryOf }: Words, look: Look) {
  const row = await findApproval(store.db, teamId, id);
  const only = grantIn(actor);
  if (!row || (only !== undefined && row.grant_id !== only)) throw notFound('Approval');
  const now = store.clock.now();
  const isShown = only === undefined && statusAt(row, now) === 'pending';
  return presentApproval(row, { summaryOf, now, content: isShown ? await readContent(row, look) : null });
}

async function readContent(row: ApprovalRow, look: Look): Promise<ApprovalContent> {
  const { call, files } = readCall(row.operation_id, row.call);
  const { content, bytes, hash } = await look(call, files);
  const { audience } = content;
  const isChanged = hash !== row.seen_hash || hasGrown(row.seen_contacts, audience?.subscribed);
  // It had less when the app asked, so it cannot be approved; what is too large to show is omitted.
  if (bytes > CONTENT_BYTES_MAX) return { is_changed: true, messages: [], sender: null, audience: null, changes: [] };
  return {
    is_changed: isChanged,
    ...content,
    audience: audience && { ...audience, subscribed_before: row.seen_contacts },
  };
}
