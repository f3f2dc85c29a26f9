import { fetchFilesOf } from '../flow/approvals/index.ts';
import { approveCall, getApproval, listApprovals, rejectCall } from '../resources/approvals/index.ts';
import { pageOf, type Operations } from './operation.ts';

export const approvals = {
  listApprovals: (ctx, { query = {} }) => listApprovals(ctx, query, pageOf(query), ctx.maker),
  getApproval: (ctx, { path }) => getApproval(ctx, path.approval_id, ctx.maker),
  approveCall: (ctx, { path }) => approveCall(ctx, path.approval_id, ctx.maker, (call) => fetchFilesOf(ctx, call)),
  rejectCall: (ctx, { path, body }) => rejectCall(ctx, path.approval_id, body?.reason, ctx.maker),
} satisfies Partial<Operations>;
