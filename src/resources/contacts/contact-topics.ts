import type { Page } from '../../platform/db/index.ts';
import type { Ctx } from '../access/index.ts';
import { choicesOf, listTopicRows, liveTopics, readChoices, type Choice } from '../topics/index.ts';
import { contactNamed } from './find-contact.ts';
import { chooseTopics } from './write-change.ts';

/** Every topic of the team, with the contact's own choice where there is one. */
export async function listContactTopics({ store, teamId }: Ctx, name: string, page: Page) {
  const contact = await contactNamed(store.db, teamId, name);
  const { rows, hasMore } = await listTopicRows(store.db, teamId, page);
  const chosen = new Map(
    (await choicesOf(store.db, [contact.id])).map(({ topic_id, subscription }) => [topic_id, subscription]),
  );
  const data = rows.map(({ id, name: called, description, default_subscription }) => ({
    id,
    name: called,
    description,
    subscription: chosen.get(id) ?? default_subscription,
  }));
  return { object: 'list' as const, has_more: hasMore, data };
}

export async function updateContactTopics({ store, teamId }: Ctx, name: string, given: readonly Choice[]) {
  return store.db.tx(async (tx) => {
    const contact = await contactNamed(tx, teamId, name, true);
    const topics = readChoices(given, await liveTopics(tx, teamId));
    await chooseTopics(store, tx, { rows: [contact], choices: topics, source: 'api' });
    return { object: 'contact_topics' as const, contact_id: contact.id, topics };
  });
}
