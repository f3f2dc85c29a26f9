import { fetchFilesOf, lookAt } from '../features/identity/approval-review/index.ts';
import {
  approveCall,
  getApproval,
  listApprovals,
  rejectCall,
  type Look,
} from '../features/identity/approvals/index.ts';
import { pageOf, type OperationCtx, type Operations } from './operation.ts';

const lookFor =
  (ctx: OperationCtx): Look =>
  (call, files) =>
    lookAt(ctx, call, files);

export const approvals = {
  listApprovals: (ctx, { query = {} }) => listApprovals(ctx, query, pageOf(query), ctx.maker),
  getApproval: (ctx, { path }) => getApproval(ctx, path.approval_id, ctx.maker, lookFor(ctx)),
  approveCall: (ctx, { path }) =>
    approveCall(ctx, path.approval_id, ctx.maker, { fill: (call) => fetchFilesOf(ctx, call), look: lookFor(ctx) }),
  rejectCall: (ctx, { path, body }) => rejectCall(ctx, path.approval_id, body?.reason, ctx.maker),
} satisfies Partial<Operations>;
