import { expect, test } from 'vitest';
import type { OpenApiDocument, Schema } from './document.ts';
import { addJsonContent, addUsualShapes } from './expand-sources.ts';

/** Returns the responses of one operation, each named after the schema it refers to. */
function answers(schemas: Record<string, unknown>): Record<string, unknown> {
  const responses = Object.fromEntries(Object.keys(schemas).map((name) => [name, { 'x-schema': name }]));
  const document = { paths: { '/a': { get: { responses } } }, components: { schemas, parameters: {} } };
  addUsualShapes(document as unknown as OpenApiDocument);
  addJsonContent(document as unknown as OpenApiDocument);
  const written = document.paths['/a'].get.responses as unknown as Record<
    string,
    { content: { 'application/json': { example: unknown } } }
  >;
  return Object.fromEntries(
    Object.entries(written).map(([name, { content }]) => [name, content['application/json'].example]),
  );
}

const string: Schema = { type: 'string' };
const Topic = {
  properties: { object: { const: 'topic' }, id: string, name: string },
  required: ['object', 'id', 'name'],
  'x-example': { id: '1', name: 'News' },
};

test('every response with an object takes the example of its schema', () => {
  const schemas = {
    Topic: { ...Topic },
    TopicListItem: { properties: { id: string, name: string }, required: ['id', 'name'] },
    TopicList: { 'x-page-of': 'TopicListItem', 'x-plural': 'topics' },
    DeletedTopic: { 'x-deleted': 'topic' },
    TopicMetrics: { properties: { id: string, sent: string }, required: ['sent'], 'x-example': { sent: '7' } },
    UpdateTopicRequest: { properties: { id: string, name: string }, 'x-example': { name: 'New' } },
  };
  expect(answers(schemas)).toEqual({
    Topic: { object: 'topic', id: '1', name: 'News' },
    TopicListItem: { id: '1', name: 'News' },
    TopicList: { object: 'list', has_more: false, data: [{ id: '1', name: 'News' }] },
    DeletedTopic: { object: 'topic', id: '1', deleted: true },
    TopicMetrics: { id: '1', sent: '7' },
    UpdateTopicRequest: { name: 'New' },
  });
  expect(Object.values(schemas).filter((schema) => 'x-example' in schema)).toEqual([]);
});

test('a schema without an example of a required field is refused', () => {
  expect(() => answers({ Topic: { ...Topic, 'x-example': { id: '1' } } })).toThrow(
    'The schema Topic has no example of name: write it into its x-example',
  );
});
