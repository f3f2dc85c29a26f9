import {
  addSuppressions,
  createSuppression,
  deleteSuppression,
  getSuppression,
  listSuppressions,
  removeSuppressions,
} from '../mail/suppressions/index.ts';
import { pageOf, type Operations } from './operation.ts';

export const suppressions = {
  createSuppression: (ctx, { body }) => createSuppression(ctx, body),
  listSuppressions: (ctx, { query = {} }) => listSuppressions(ctx, query, pageOf(query)),
  getSuppression: (ctx, { path }) => getSuppression(ctx, path.suppression),
  deleteSuppression: (ctx, { path }) => deleteSuppression(ctx, path.suppression),
  addSuppressions: (ctx, { body }) => addSuppressions(ctx, body),
  removeSuppressions: (ctx, { body }) => removeSuppressions(ctx, body),
} satisfies Partial<Operations>;
