import { declareAction, declareDetail, declareList, withRemaining, type FieldsOf } from './family.ts';

const columns = ['id', 'key', 'type', 'fallback_value', 'created_at'] as const;
const fields: FieldsOf<'listContactProperties'> = { type: { kind: 'state' } };

export const contactProperties = withRemaining({
  alias: 'properties',
  summary: 'declare custom properties of contacts',
  list: declareList('listContactProperties', { fields, columns }),
  get: declareDetail('getContactProperty', { fields, columns }),
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
