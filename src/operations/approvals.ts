import { fetchFilesOf, lookAt } from '../flow/approvals/index.ts';
import { approveCall, getApproval, listApprovals, rejectCall } from '../resources/approvals/index.ts';
import { pageOf, type Operations } from './operation.ts';

export const approvals = {
  listApprovals: (ctx, { query = {} }) => listApprovals(ctx, query, pageOf(query), ctx.maker),
  getApproval: (ctx, { path }) => getApproval(ctx, path.approval_id, ctx.maker, lookAt),
  approveCall: (ctx, { path }) =>
    approveCall(ctx, path.approval_id, ctx.maker, { fill: (call) => fetchFilesOf(ctx, call), look: lookAt }),
  rejectCall: (ctx, { path, body }) => rejectCall(ctx, path.approval_id, body?.reason, ctx.maker),
} satisfies Partial<Operations>;
