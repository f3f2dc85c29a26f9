import { listContactTopics, updateContactTopics } from '../features/audience/contacts/index.ts';
import { createTopic, deleteTopic, getTopic, listTopics, updateTopic } from '../features/audience/topics/index.ts';
import { pageOf, type Operations } from './operation.ts';

export const topics = {
  createTopic: (ctx, { body }) => createTopic(ctx, body),
  listTopics: (ctx, { query }) => listTopics(ctx, pageOf(query)),
  getTopic: (ctx, { path }) => getTopic(ctx, path.topic_id),
  updateTopic: (ctx, { path, body }) => updateTopic(ctx, path.topic_id, body),
  deleteTopic: (ctx, { path }) => deleteTopic(ctx, path.topic_id),
  listContactTopics: (ctx, { path, query }) => listContactTopics(ctx, path.contact, pageOf(query)),
  updateContactTopics: (ctx, { path, body }) => updateContactTopics(ctx, path.contact, body.topics),
} satisfies Partial<Operations>;
