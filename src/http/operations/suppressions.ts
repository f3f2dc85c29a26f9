import type {
  AddSuppressionsRequest,
  CreateSuppressionRequest,
  RemoveSuppressionsRequest,
} from '../../contract/index.ts';
import {
  addSuppressions,
  createSuppression,
  deleteSuppression,
  getSuppression,
  listSuppressions,
  removeSuppressions,
} from '../../resources/suppressions/index.ts';
import { CREATED, type KeyHandler } from '../operation.ts';
import { pageOf } from '../page.ts';

export const suppressions: Record<string, KeyHandler> = {
  createSuppression(ctx, { body, reply }) {
    reply.code(CREATED);
    return createSuppression(ctx, body as CreateSuppressionRequest);
  },
  listSuppressions: (ctx, { query }) =>
    listSuppressions(ctx, query as Parameters<typeof listSuppressions>[1], pageOf(query)),
  getSuppression: (ctx, { path }) => getSuppression(ctx, path.suppression ?? ''),
  deleteSuppression: (ctx, { path }) => deleteSuppression(ctx, path.suppression ?? ''),
  addSuppressions(ctx, { body, reply }) {
    reply.code(CREATED);
    return addSuppressions(ctx, body as AddSuppressionsRequest);
  },
  removeSuppressions: (ctx, { body }) => removeSuppressions(ctx, body as RemoveSuppressionsRequest),
};
