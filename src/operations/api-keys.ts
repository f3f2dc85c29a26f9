import { createApiKey, deleteApiKey, listApiKeys, updateApiKey } from '../tenancy/api-keys/index.ts';
import { pageOf, type Operations } from './operation.ts';

export const apiKeys = {
  createApiKey: (ctx, { body }) => createApiKey(ctx, body),
  listApiKeys: (ctx, { query = {} }) => listApiKeys(ctx, query, pageOf(query)),
  updateApiKey: (ctx, { path, body }) => updateApiKey(ctx, path.api_key_id, body),
  deleteApiKey: (ctx, { path }) => deleteApiKey(ctx, path.api_key_id),
} satisfies Partial<Operations>;
