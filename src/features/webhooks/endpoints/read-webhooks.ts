import type { Page } from '../../../platform/db/index.ts';
import { notFound } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { presentWebhook } from './present.ts';
import { outstandingOf, type Outstanding } from './webhook-events.store.ts';
import { findWebhook, listWebhookRows, type WebhookRow } from './webhooks.store.ts';

export async function getWebhook(ctx: Ctx, id: string) {
  const row = await webhookNamed(ctx, id);
  return presentOne(ctx, row, await outstandingOf(ctx.store.db, [id]));
}

export async function listWebhooks(ctx: Ctx, page: Page) {
  const { rows, hasMore } = await listWebhookRows(ctx.store.db, ctx.teamId, page);
  const outstanding = await outstandingOf(
    ctx.store.db,
    rows.map(({ id }) => id),
  );
  const data = rows.map((row) => presentOne(ctx, row, outstanding));
  return { object: 'list' as const, has_more: hasMore, data };
}

const presentOne = ({ store }: Ctx, row: WebhookRow, outstanding: ReadonlyMap<string, Outstanding>) =>
  presentWebhook(store, row, outstanding.get(row.id) ?? { waiting: 0, parked: 0 });

export async function webhookNamed(ctx: Ctx, id: string): Promise<WebhookRow> {
  const row = await findWebhook(ctx.store.db, ctx.teamId, id);
  if (!row) throw notFound('Webhook');
  return row;
}
