import type { Page } from '../../platform/db/index.ts';
import { notFound } from '../../platform/refusal/index.ts';
import type { Ctx } from '../access/index.ts';
import { presentWebhook } from './present.ts';
import { findWebhook, listWebhookRows, type WebhookRow } from './webhooks.store.ts';

export async function getWebhook(ctx: Ctx, id: string) {
  return presentWebhook(ctx.store, await webhookNamed(ctx, id));
}

export async function listWebhooks(ctx: Ctx, page: Page) {
  const { rows, hasMore } = await listWebhookRows(ctx.store.db, ctx.teamId, page);
  const data = rows.map((row) => presentWebhook(ctx.store, row));
  return { object: 'list' as const, has_more: hasMore, data };
}

export async function webhookNamed(ctx: Ctx, id: string): Promise<WebhookRow> {
  const row = await findWebhook(ctx.store.db, ctx.teamId, id);
  if (!row) throw notFound('Webhook');
  return row;
}
