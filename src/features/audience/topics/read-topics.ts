import { isoTime } from '../../../platform/clock/index.ts';
import type { Page } from '../../../platform/db/index.ts';
import { notFound } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { findTopic, listTopicRows, type TopicRow } from './topics.store.ts';

export async function getTopic({ store, teamId }: Ctx, id: string) {
  const row = await findTopic(store.db, teamId, id);
  if (!row) throw notFound('Topic');
  return { object: 'topic' as const, ...present(row) };
}

export async function listTopics({ store, teamId }: Ctx, page: Page) {
  const { rows, hasMore } = await listTopicRows(store.db, teamId, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(present) };
}

const present = (row: TopicRow) => ({
  id: row.id,
  name: row.name,
  description: row.description,
  default_subscription: row.default_subscription,
  visibility: row.visibility,
  confirmation: row.confirmation,
  confirmation_template_id: row.confirmation_template_id,
  created_at: isoTime(row.created_at),
});
