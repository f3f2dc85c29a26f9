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

const PROPERTY: Key = { word: 'id', says: 'the id of the property' };

const columns: readonly Field<ItemOf<'listContactProperties'>>[] = [
  { name: 'id', label: 'Id', kind: 'id' },
  { name: 'key', label: 'Key', kind: 'whole' },
  { name: 'type', label: 'Type', kind: 'state' },
  { name: 'fallback_value', label: 'Fallback' },
  { name: 'created_at', label: 'Created', kind: 'time' },
];

const fallback_value: Flag = {
  flag: 'fallback',
  value: '<value>',
  says: 'what is printed for a contact without a value',
  isClearable: true,
};

export const contactProperties = {
  command: 'contact-properties',
  alias: 'properties',
  summary: 'declare what you keep of contacts beside their names',
  noun: 'a property',
  list: listOf('listContactProperties', {
    summary: 'list properties, newest first',
    example: 'contact-properties list',
    columns,
    empty: 'There are no properties yet.',
  }),
  get: detailOf('getContactProperty', {
    summary: 'show a property',
    example: 'contact-properties get 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e20',
    path: { contact_property_id: PROPERTY },
    fields: columns,
  }),
  actions: [
    actionOf('createContactProperty', {
      verb: 'create',
      key: 'c',
      summary: 'declare a property',
      example: 'contact-properties create plan --type string --fallback free',
      flags: {
        key: { value: '<key>', says: 'letters, digits and underscores', isWord: true, isRequired: true },
        type: { value: '<type>', says: 'string or number', isRequired: true, choices: ['string', 'number'] },
        fallback_value,
      },
      done: 'Declared',
    }),
    actionOf('updateContactProperty', {
      verb: 'update',
      key: 'u',
      summary: 'change the fallback of a property',
      example: 'contact-properties update 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e20 --fallback basic',
      path: { contact_property_id: PROPERTY },
      flags: { fallback_value: { ...fallback_value, clear: { says: 'print nothing' } } },
      current: currentIn('getContactProperty'),
      done: 'Changed',
    }),
    actionOf('deleteContactProperty', {
      verb: 'delete',
      key: 'd',
      summary: 'delete a property, and its value of every contact',
      example: 'contact-properties delete 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e20',
      path: { contact_property_id: PROPERTY },
      done: 'Deleted',
      hint: ({ segments, broadcasts }) => {
        if (segments.length === 0) return undefined;
        const waiting = broadcasts.map(({ name }) => name).join(', ');
        return {
          words: `Segments whose filter names it: ${segments.map(({ name }) => name).join(', ')}. Conditions on it match nobody from now on.${waiting === '' ? '' : ` Broadcasts that wait for them: ${waiting}.`} See`,
          command: waiting === '' ? ['listSegments'] : ['getFindings'],
        };
      },
      destroys: {
        says: 'take the property and its value away from every contact',
        name: nameIn('getContactProperty', (property) => property.key),
      },
    }),
  ],
} satisfies Family;
