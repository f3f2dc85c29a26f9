import type { CreateTopicRequest } from '../../contract/index.ts';
import { isUniqueViolation } from '../../platform/db/index.ts';
import { refuse } from '../../platform/refusal/index.ts';
import type { Ctx } from '../access/index.ts';
import { countTopics, insertTopic } from './topics.store.ts';

/** Each of them is read with every segment and on every contact's preference page. */
const TOPICS_MAX = 200;

export async function createTopic({ store, teamId }: Ctx, input: CreateTopicRequest) {
  const id = store.ids.uuid();
  const { name, default_subscription, description = null, visibility = 'private' } = input;
  const created_at = store.clock.now();
  try {
    await store.db.tx(async (tx) => {
      if ((await countTopics(tx, teamId)) >= TOPICS_MAX) throw tooMany();
      await insertTopic(tx, { id, team_id: teamId, name, description, default_subscription, visibility, created_at });
    });
  } catch (error) {
    throw isUniqueViolation(error) ? topicNameTaken(name) : error;
  }
  return { object: 'topic' as const, id };
}

export const topicNameTaken = (name: string) =>
  refuse('invalid_parameter', {
    say: `name: there is a topic called ${JSON.stringify(name)} already; choose another.`,
  });

const tooMany = () =>
  refuse('validation_error', { status: 422, say: `A team may have at most ${TOPICS_MAX} topics; delete one first.` });
