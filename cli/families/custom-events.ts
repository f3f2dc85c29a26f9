import { declareAction, declareDetail, declareList, withRemaining, type Fields, type ItemOf } from './family.ts';

type CustomEvent = ItemOf<'listEvents'>;

const schemaInWords = ({ schema: types }: CustomEvent): string =>
  Object.entries(types ?? {})
    .map(([key, type]) => `${key}: ${type}`)
    .join(', ');

const fields: Fields<CustomEvent> = { schema: { label: 'Payload', words: schemaInWords } };
const columns = ['id', 'name', 'schema', 'created_at'] as const;
const wide = ['updated_at'] as const;

export const customEvents = withRemaining({
  summary: 'declare and send events about contacts, which start automations',
  list: declareList('listEvents', { fields, columns, wide }),
  get: declareDetail('getEvent', { fields, columns, wide }),
  actions: [
    declareAction('createEvent', { done: 'Declared' }),
    declareAction('sendEvent', { print: ({ event }) => event, describe: ({ event }) => `Sent ${event}` }),
  ],
});
