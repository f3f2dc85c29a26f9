import { declareAction, declareDetail, declareList, withRemaining, type Field, type ItemOf } from './family.ts';

const columns: readonly Field<ItemOf<'listContactProperties'>>[] = [
  { name: 'id', label: 'Id', kind: 'id' },
  { name: 'key', label: 'Key', kind: 'whole' },
  { name: 'type', label: 'Type', kind: 'state' },
  { name: 'fallback_value', label: 'Fallback' },
  { name: 'created_at', label: 'Created', kind: 'time' },
];

export const contactProperties = withRemaining({
  command: 'contact-properties',
  alias: 'properties',
  summary: 'declare custom properties of contacts',
  noun: 'a property',
  list: declareList('listContactProperties', { columns, empty: 'There are no properties yet.' }),
  get: declareDetail('getContactProperty', { fields: columns }),
  actions: [
    declareAction('createContactProperty', { done: 'Declared' }),
    declareAction('updateContactProperty'),
    declareAction('deleteContactProperty', {
      warn: ({ segments, broadcasts }) => {
        if (segments.length === 0) return undefined;
        const waiting = broadcasts.map(({ name }) => name).join(', ');
        return {
          words: `Segments that filter by it: ${segments.map(({ name }) => name).join(', ')}. Conditions on it match nobody from now on.${waiting === '' ? '' : ` Broadcasts that wait for these segments: ${waiting}.`} See`,
          command: waiting === '' ? ['listSegments'] : ['getFindings'],
        };
      },
    }),
  ],
});
