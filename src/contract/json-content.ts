import {
  methods,
  resolveRef,
  type MediaType,
  type OpenApiDocument,
  type Operation,
  type OrRef,
  type ResponseObject,
  type Schema,
} from './document.ts';

/** A body or an answer as a family writes it: with the name of its schema where it is JSON, and at most an example of its own. */
interface Short {
  content?: Record<string, MediaType>;
  'x-schema'?: string;
  'x-example'?: unknown;
  /** Whether the same fields are taken as a form too. */
  'x-form'?: boolean;
}

type Body = NonNullable<Operation['requestBody']>;

/**
 * Writes the `content` of each JSON body and answer that only names its schema (`x-schema: Topic`), with the example of that
 * schema. A schema says it once, as `x-example`, and is left without it.
 */
export function addJsonContent(document: OpenApiDocument): void {
  const exampleOf = createExamples(document);
  for (const item of Object.values(document.paths)) {
    for (const operation of methods.flatMap((method) => item[method] ?? [])) {
      if (operation.requestBody) {
        const body = withContent<Body>(operation.requestBody, exampleOf);
        operation.requestBody = { required: true, ...body };
      }
      operation.responses = Object.fromEntries(
        Object.entries(operation.responses).map(([status, response]) => [
          status,
          withContent<OrRef<ResponseObject>>(response, exampleOf),
        ]),
      );
    }
  }
  for (const schema of Object.values(document.components.schemas)) delete schema['x-example'];
}

function withContent<T extends Short | object>(written: T & Short, exampleOf: (name: string) => unknown): T {
  const { 'x-schema': name, 'x-example': own, 'x-form': isForm, ...rest } = written;
  if (!name) return written;
  const media = { schema: { $ref: SCHEMAS + name }, example: own ?? exampleOf(name) };
  const content = { 'application/json': media, ...(isForm && { 'application/x-www-form-urlencoded': media }) };
  return { ...rest, content } as unknown as T;
}

/**
 * The example of a schema by its name. Each field has the value of the schema's own `x-example`; else that of the schema whose
 * name is in its name (TopicListItem, TopicReference and DeletedTopic take the id of Topic); else, where the field is required,
 * what the field's own schema allows alone or has as its example. The `x-example` of a request is taken as it stands: it shows
 * what is worth sending, not every field.
 */
function createExamples(document: OpenApiDocument): (name: string) => unknown {
  const { schemas } = document.components;
  const owners = Object.keys(schemas).filter((name) => schemas[name]?.['x-example'] !== undefined);

  /** Values from the schema's own x-example, then from the schema whose name stands first in this one's (the longest of them). */
  const givenTo = (name: string): Record<string, unknown> => {
    const place = (other: string): number => name.search(new RegExp(`${other}(?![a-z])`));
    const [owner] = owners
      .filter((other) => other !== name && !name.endsWith('List') && place(other) >= 0)
      .sort((a, b) => place(a) - place(b) || b.length - a.length);
    return { ...(owner ? givenTo(owner) : {}), ...(schemas[name]?.['x-example'] as object) };
  };

  const exampleOf = (name: string): unknown => {
    const schema = resolveRef<Schema>(document, { $ref: SCHEMAS + name });
    const own = schema['x-example'];
    if (!schema.properties || (own && name.endsWith('Request'))) return own ?? valueOf(schema);
    const given: Record<string, unknown> = { has_more: false, ...givenTo(name) };
    const values = Object.entries(schema.properties).flatMap(([field, property]) => {
      if (field in given) return [[field, given[field]]];
      if (!schema.required?.includes(field)) return [];
      const value = valueOf(property);
      if (value === undefined)
        throw new Error(`The schema ${name} has no example of ${field}: write it into its x-example`);
      return [[field, value]];
    });
    return Object.fromEntries(values) as unknown;
  };

  const valueOf = (schema: OrRef<Schema>): unknown => {
    if ('$ref' in schema) return exampleOf(schema.$ref.slice(SCHEMAS.length));
    if (schema.const !== undefined) return schema.const;
    return schema.items && [valueOf(schema.items)];
  };
  return exampleOf;
}

const SCHEMAS = '#/components/schemas/';
