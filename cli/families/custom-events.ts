import {
  actionOf,
  currentIn,
  detailOf,
  listOf,
  nameIn,
  type Family,
  type Field,
  type Flag,
  type ItemOf,
  type Key,
} from './family.ts';

const EVENT: Key = { word: 'event', says: 'its id or name' };

type CustomEvent = ItemOf<'listEvents'>;

const schemaInWords = ({ schema: types }: CustomEvent): string =>
  Object.entries(types ?? {})
    .map(([key, type]) => `${key}: ${type}`)
    .join(', ');

const columns: readonly Field<CustomEvent>[] = [
  { name: 'id', label: 'Id', kind: 'id' },
  { name: 'name', label: 'Name', kind: 'name' },
  { name: 'schema', label: 'Payload', words: schemaInWords },
  { name: 'created_at', label: 'Created', kind: 'time' },
  { name: 'updated_at', label: 'Updated', kind: 'time', shown: 'wide' },
];

const schema: Flag = {
  value: '<json>',
  says: 'the type of each key of a payload: string, number, boolean or date',
  fromFile: 'schema',
  isJson: true,
  isClearable: true,
};

export const customEvents = {
  command: 'events',
  summary: 'what your programs tell of contacts, for automations to start at',
  noun: 'an event',
  list: listOf('listEvents', {
    summary: 'list events, newest first',
    example: 'events list',
    columns,
    empty: 'There are no events yet.',
  }),
  get: detailOf('getEvent', {
    summary: 'show an event and its schema',
    example: 'events get order.placed',
    path: { identifier: EVENT },
    fields: columns,
  }),
  actions: [
    actionOf('createEvent', {
      verb: 'create',
      key: 'c',
      summary: 'declare an event',
      description:
        'Declares an event. With a schema, JSON such as {"total": "number", "product": "string"}, a payload may have these keys alone, each of its type.',
      example: `events create order.placed --schema '{"total": "number", "product": "string"}'`,
      flags: {
        name: {
          value: '<name>',
          says: "lower-case letters, digits, '.', '_' and '-'",
          isWord: true,
          isRequired: true,
        },
        schema,
      },
      done: 'Declared',
    }),
    actionOf('sendEvent', {
      verb: 'send',
      key: 's',
      summary: 'tell that an event has happened to a contact',
      description:
        'Tells that an event has happened to one contact, named by its id or its address. Each enabled automation that names the event gets a run; two calls are two runs.',
      example: `events send order.placed --email ada@example.org --payload '{"total": 40, "product": "Tea"}'`,
      flags: {
        event: { value: '[event]', says: 'the name of the event', isWord: true, isRequired: true },
        email: { value: '<address>', says: 'the address of the contact', isOneOf: true },
        contact_id: { flag: 'contact', value: '<id>', says: 'or its id', isOneOf: true },
        payload: { value: '<json>', says: 'what automations may read of it', fromFile: 'payload', isJson: true },
      },
      print: ({ event }) => event,
      tell: ({ event }) => `Sent ${event}`,
    }),
    actionOf('updateEvent', {
      verb: 'update',
      key: 'u',
      summary: 'replace the schema of an event',
      example: `events update order.placed --schema '{"total": "number"}'`,
      path: { identifier: EVENT },
      flags: { schema: { ...schema, clear: { says: 'let a payload hold anything' } } },
      current: currentIn('getEvent'),
      done: 'Changed',
    }),
    actionOf('deleteEvent', {
      verb: 'delete',
      key: 'd',
      summary: 'delete an event; automations that name it never start again',
      example: 'events delete order.placed',
      path: { identifier: EVENT },
      done: 'Deleted',
      destroys: {
        says: 'delete the event; automations that name it never start again by it',
        name: nameIn('getEvent', (event) => event.name),
      },
    }),
  ],
} satisfies Family;
