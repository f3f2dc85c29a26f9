import type { QueryOf } from '../../contract/index.ts';
import type { Page } from '../../platform/db/index.ts';
import { notFound } from '../../platform/refusal/index.ts';
import type { Actor, Ctx } from '../access/index.ts';
import { approvalPage, findApproval } from './approvals.store.ts';
import type { Maker } from './decide.ts';
import { brokenOffBefore, presentApproval, presentSummary } from './present.ts';

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

export async function getApproval({ store, teamId, actor }: Ctx, id: string, { summaryOf }: Words) {
  const row = await findApproval(store.db, teamId, id);
  const only = grantIn(actor);
  if (!row || (only !== undefined && row.grant_id !== only)) throw notFound('Approval');
  return presentApproval(row, { summaryOf, now: store.clock.now() });
}
