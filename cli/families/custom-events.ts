import { actionOf, detailOf, listOf, withRest, type Field, type ItemOf } from './family.ts';

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

export const customEvents = withRest({
  command: 'events',
  summary: 'declare and send events about contacts, which start automations',
  noun: 'an event',
  list: listOf('listEvents', { columns, empty: 'There are no events yet.' }),
  get: detailOf('getEvent', { fields: columns }),
  actions: [
    actionOf('createEvent', { done: 'Declared' }),
    actionOf('sendEvent', { print: ({ event }) => event, tell: ({ event }) => `Sent ${event}` }),
    actionOf('updateEvent'),
    actionOf('deleteEvent'),
  ],
});
