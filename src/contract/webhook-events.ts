import { resolveRef, type OpenApiDocument, type OrRef, type Schema } from './document.ts';

/** How the contract writes an event that endpoints are sent: the schema of its data, and what the type adds to it. */
interface EventSource {
  says: string;
  /** The name of a schema. */
  data: string;
  /** Further fields of the data, each with the name of its schema. */
  has?: Record<string, string>;
  /** The same for fields that are not always there. */
  may?: Record<string, string>;
}

/**
 * Writes the `webhooks` of the document from the short form of the family: a schema for each event, in which the type decides
 * about the data, and the request that carries it. `WebhookPayload` becomes any of them.
 */
export function addWebhookEvents(document: OpenApiDocument): void {
  const { schemas } = document.components;
  const sources = (document.webhooks ?? {}) as unknown as Record<string, EventSource>;
  const events: OrRef<Schema>[] = [];
  document.webhooks = {};
  for (const [type, source] of Object.entries(sources)) {
    const name = nameEvent(type);
    schemas[name] = {
      type: 'object',
      description: source.says,
      additionalProperties: false,
      required: ['type', 'created_at', 'data'],
      properties: {
        type: { type: 'string', const: type },
        created_at: { type: 'string', format: 'date-time', description: 'When it happened.' },
        data: { $ref: describeData(document, `${name}Data`, source) },
      },
    };
    events.push({ $ref: `${SCHEMAS}${name}` });
    document.webhooks[type] = { post: describeRequest(name, source.says) };
  }
  schemas['WebhookPayload'] = {
    description: 'The signed body of every delivery: what happened, by its type. Fields may be added.',
    anyOf: [...events, { $ref: `${SCHEMAS}PastEvent` }],
  };
}

const SCHEMAS = '#/components/schemas/';

/** `email.delivery_delayed` is described by EmailDeliveryDelayedEvent. */
const nameEvent = (type: string): string =>
  `${type
    .split(/[._]/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('')}Event`;

function describeData(document: OpenApiDocument, name: string, { data, has = {}, may = {} }: EventSource): string {
  const added = Object.entries({ ...has, ...may });
  if (added.length === 0) return `${SCHEMAS}${data}`;
  const base = resolveRef<Schema>(document, { $ref: `${SCHEMAS}${data}` });
  document.components.schemas[name] = {
    ...base,
    required: [...(base.required ?? []), ...Object.keys(has)],
    properties: {
      ...base.properties,
      ...Object.fromEntries(added.map(([field, schema]) => [field, { $ref: `${SCHEMAS}${schema}` }])),
    },
  };
  return `${SCHEMAS}${name}`;
}

const HEADERS = {
  'svix-id': 'Names the event; it is the same in every attempt and replay.',
  'svix-timestamp': 'When this attempt was made, in seconds since 1970.',
  'svix-signature': 'One or two signatures of id, timestamp and body, each `v1,` and base64.',
};

const describeRequest = (schema: string, summary: string) => ({
  tags: ['webhooks'],
  summary,
  description:
    'Sent to the endpoints that subscribe to it, at least once and in no particular order. The same headers are sent as `webhook-*` too.',
  security: [],
  parameters: Object.entries(HEADERS).map(([name, description]) => ({
    name,
    in: 'header' as const,
    required: true,
    description,
    schema: { type: 'string' },
  })),
  requestBody: {
    required: true,
    content: { 'application/json': { schema: { $ref: `${SCHEMAS}${schema}` } } },
  },
  responses: { '2XX': { description: 'The event has arrived. Any other answer, or none in time, is tried again.' } },
});
