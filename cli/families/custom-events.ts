import { declareAction, declareDetail, declareList, withRemaining, type Field, type ItemOf } from './family.ts';

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

export const customEvents = withRemaining({
  command: 'events',
  summary: 'declare and send events about contacts, which start automations',
  noun: 'an event',
  list: declareList('listEvents', { columns, empty: 'There are no events yet.' }),
  get: declareDetail('getEvent', { fields: columns }),
  actions: [
    declareAction('createEvent', { done: 'Declared' }),
    declareAction('sendEvent', { print: ({ event }) => event, describe: ({ event }) => `Sent ${event}` }),
    declareAction('updateEvent'),
    declareAction('deleteEvent'),
  ],
});
