import type { UpdateTopicRequest } from '../../contract/index.ts';
import { isUniqueViolation } from '../../platform/db/index.ts';
import { notFound, refuse } from '../../platform/refusal/index.ts';
import type { Ctx } from '../access/index.ts';
import { topicNameTaken } from './create-topic.ts';
import { findTopic, updateTopicRow } from './topics.store.ts';

export async function updateTopic({ store, teamId }: Ctx, id: string, input: UpdateTopicRequest) {
  // Clients that build a body from what they have read repeat the id.
  if (input.id !== undefined && input.id.toLowerCase() !== id) {
    throw refuse('invalid_parameter', { say: 'id is another one than in the path; leave it out or repeat it.' });
  }
  try {
    await store.db.tx(async (tx) => {
      const row = await findTopic(tx, teamId, id);
      if (!row) throw notFound('Topic');
      const { name = row.name, description = row.description, visibility = row.visibility } = input;
      await updateTopicRow(tx, { id, name, description, visibility });
    });
  } catch (error) {
    throw isUniqueViolation(error) ? topicNameTaken(input.name ?? '') : error;
  }
  return { object: 'topic' as const, id };
}
