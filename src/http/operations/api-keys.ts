import type { CreateApiKeyRequest, UpdateApiKeyRequest } from '../../contract/index.ts';
import { createApiKey, deleteApiKey, listApiKeys, updateApiKey } from '../../resources/api-keys/index.ts';
import { CREATED, type KeyHandler } from '../operation.ts';
import { pageOf } from '../page.ts';

export const apiKeys: Record<string, KeyHandler> = {
  createApiKey(ctx, { body, reply }) {
    reply.code(CREATED);
    return createApiKey(ctx, body as CreateApiKeyRequest);
  },
  listApiKeys: (ctx, { query }) => listApiKeys(ctx, query as Parameters<typeof listApiKeys>[1], pageOf(query)),
  updateApiKey: (ctx, { path, body }) => updateApiKey(ctx, path.api_key_id ?? '', body as UpdateApiKeyRequest),
  deleteApiKey: (ctx, { path }) => deleteApiKey(ctx, path.api_key_id ?? ''),
};
