import type { OpenApiDocument, OrRef, Parameter, Schema } from './document.ts';

/** How a family writes what all families have alike, in one line. */
interface Shape {
  /** A page of a list: the schema of its items, and what they are called together. */
  'x-page-of'?: string;
  'x-plural'?: string;
  /** The answer to a change: `{object, id}`, with what stands in `object`. */
  'x-reference-to'?: string;
  /** The answer to a deletion: `{object, id, deleted}`. */
  'x-deleted'?: string;
  /** How the id begins in these two, where it is no UUID. */
  'x-id-prefix'?: string;
  'x-example'?: unknown;
}

/** A cursor of a list, AfterTopic or BeforeTopic: what its id is the id of, with the article. */
interface Cursor {
  'x-cursor'?: string;
  /** The form of the id, where it is no UUID. */
  pattern?: string;
  example?: unknown;
}

/** Writes out the pages, references, deletions and cursors that a family only names. */
export function addUsualShapes({ components: { schemas, parameters } }: OpenApiDocument): void {
  for (const [name, shape] of Object.entries(schemas as Record<string, Shape>)) {
    const properties = propertiesOf(shape);
    if (!properties) continue;
    schemas[name] = {
      type: 'object',
      additionalProperties: false,
      required: Object.keys(properties),
      properties,
      ...('x-example' in shape && { 'x-example': shape['x-example'] }),
    };
  }
  for (const [name, cursor] of Object.entries(parameters as Record<string, Cursor>)) {
    if (cursor['x-cursor']) parameters[name] = cursorOf(name.startsWith('After'), cursor['x-cursor'], cursor);
  }
}

function propertiesOf(shape: Shape): Record<string, OrRef<Schema>> | undefined {
  const prefix = shape['x-id-prefix'];
  const id = prefix ? { type: 'string', pattern: `^${prefix}` } : { type: 'string', format: 'uuid' };
  if (shape['x-reference-to']) return { object: { type: 'string', const: shape['x-reference-to'] }, id };
  if (shape['x-deleted']) {
    return { object: { type: 'string', const: shape['x-deleted'] }, id, deleted: { type: 'boolean', const: true } };
  }
  if (!shape['x-page-of']) return undefined;
  const description = `Whether more ${shape['x-plural']} follow in this direction.`;
  const items = { $ref: `#/components/schemas/${shape['x-page-of']}` };
  return {
    object: { type: 'string', const: 'list' },
    has_more: { type: 'boolean', description },
    data: { type: 'array', maxItems: 100, items },
  };
}

function cursorOf(isAfter: boolean, object: string, { pattern, example }: Cursor): Parameter {
  const noun = object.replace(/^an? /, '').replace(/ \(.*\)$/, '');
  const [name, description] = isAfter
    ? ['after', `Start after this ${noun}. Not together with \`before\`.`]
    : ['before', `End before this ${noun}. Not together with \`after\`.`];
  const message = { 'x-message': `${name} must be the id of ${object}` };
  const schema = pattern ? { type: 'string', pattern, ...message } : { type: 'string', format: 'uuid', ...message };
  return { name, in: 'query', description, schema, example };
}
