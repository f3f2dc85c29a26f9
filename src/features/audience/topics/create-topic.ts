import type { CreateTopicRequest } from '../../../contract/index.ts';
import { isUniqueViolation } from '../../../platform/db/index.ts';
import { refuse } from '../../../platform/refusal/index.ts';
import { lockTeam, type Ctx } from '../../../tenancy/access/index.ts';
import { mustBeConfirmable } from './confirmation.ts';
import { countTopics, insertTopic } from './topics.store.ts';

/** Each of them is read with every segment and on every contact's preference page. */
const TOPICS_MAX = 200;

export async function createTopic({ store, teamId }: Ctx, input: CreateTopicRequest) {
  const id = store.ids.uuid();
  const { name, default_subscription, description = null, visibility = 'private', confirmation = 'none' } = input;
  const row = {
    ...{ id, team_id: teamId, name, description, default_subscription, visibility, confirmation },
    confirmation_template_id: input.confirmation_template_id?.toLowerCase() ?? null,
    created_at: store.clock.now(),
  };
  try {
    await store.db.tx(async (tx) => {
      await lockTeam(tx, teamId);
      if ((await countTopics(tx, teamId)) >= TOPICS_MAX) throw tooMany();
      await mustBeConfirmable(tx, teamId, row);
      await insertTopic(tx, row);
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
