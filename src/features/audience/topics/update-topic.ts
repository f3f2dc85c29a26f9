import type { UpdateTopicRequest } from '../../../contract/index.ts';
import { isUniqueViolation } from '../../../platform/db/index.ts';
import { notFound } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { mustBeConfirmable } from './confirmation.ts';
import { removeConfirmationsFor } from './confirmations.store.ts';
import { topicNameTaken } from './create-topic.ts';
import { findTopic, updateTopicRow, type TopicRow } from './topics.store.ts';

export async function updateTopic({ store, teamId }: Ctx, id: string, input: UpdateTopicRequest) {
  try {
    await store.db.tx(async (tx) => {
      const row = await findTopic(tx, teamId, id);
      if (!row) throw notFound('Topic');
      const after = changed(row, input);
      if (asksOtherwise(row, after)) await mustBeConfirmable(tx, teamId, after);
      await updateTopicRow(tx, after);
      if (after.confirmation === 'none') await removeConfirmationsFor(tx, id);
    });
  } catch (error) {
    throw isUniqueViolation(error) ? topicNameTaken(input.name ?? '') : error;
  }
  return { object: 'topic' as const, id };
}

function changed(row: TopicRow, input: UpdateTopicRequest): TopicRow {
  const { name = row.name, description = row.description, visibility = row.visibility } = input;
  const { confirmation = row.confirmation, confirmation_template_id: template = row.confirmation_template_id } = input;
  const confirmation_template_id = template?.toLowerCase() ?? null;
  return { ...row, name, description, visibility, confirmation, confirmation_template_id };
}

/** A topic whose template was changed since may still get another name. */
const asksOtherwise = (before: TopicRow, after: TopicRow): boolean =>
  before.confirmation !== after.confirmation || before.confirmation_template_id !== after.confirmation_template_id;
