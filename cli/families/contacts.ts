import type { AnswerOf } from '../client/index.ts';
import {
  declareAction,
  currentIn,
  declareDetail,
  declareList,
  withRemaining,
  type Family,
  type Field,
  type ItemOf,
} from './family.ts';

type Contact = ItemOf<'listContacts'> | AnswerOf<'getContact'>;

export const contactColumns: readonly Field<Contact>[] = [
  { name: 'id', label: 'Id', kind: 'id' },
  { name: 'email', label: 'Address', kind: 'name' },
  { name: 'first_name', label: 'First name' },
  { name: 'last_name', label: 'Last name' },
  {
    name: 'unsubscribed',
    label: 'Mail',
    kind: 'state',
    value: (contact) => (contact.unsubscribed ? 'unsubscribed' : 'subscribed'),
    tone: (contact) => (contact.unsubscribed ? 'attention' : 'plain'),
  },
  { name: 'created_at', label: 'Created', kind: 'time' },
];

/** Formats properties as the flag takes them. */
const writeProperties = (values: AnswerOf<'getContact'>['properties']): string =>
  Object.entries(values)
    .map(([key, value]) => (typeof value === 'string' ? `${key}=${value}` : `${key}:=${String(value)}`))
    .join(', ');

export const contacts = withRemaining({
  command: 'contacts',
  summary: 'manage the people you write to',
  noun: 'a contact',
  list: declareList('listContacts', { columns: contactColumns, empty: 'There are no contacts yet.' }),
  get: declareDetail('getContact', {
    fields: [
      ...contactColumns,
      {
        name: 'properties',
        label: 'Properties',
        value: ({ properties }) =>
          Object.entries(properties)
            .map(([key, value]) => `${key}=${String(value)}`)
            .join(', '),
      },
    ],
  }),
  actions: [
    declareAction('createContact', { done: 'Added' }),
    declareAction('updateContact', {
      current: currentIn('getContact', (contact) => ({
        ...contact,
        properties: writeProperties(contact.properties),
      })),
    }),
    declareAction('deleteContact', { done: 'Erased' }),
  ],
  elsewhere: { listContactActivity: true },
});

export const contactActivity = {
  command: 'contacts',
  summary: 'show what happened to a contact',
  noun: 'an entry',
  list: declareList('listContactActivity', {
    columns: [
      { name: 'created_at', label: 'When', kind: 'moment' },
      { name: 'type', label: 'What', kind: 'state' },
      { name: 'subject', label: 'Subject' },
      { name: 'link', label: 'Link' },
      { name: 'topic_id', label: 'Topic', kind: 'id', shown: 'wide' },
      { name: 'email_id', label: 'Email', kind: 'id', shown: 'wide' },
      { name: 'source', label: 'Source', shown: 'wide' },
      { name: 'id', label: 'Id', kind: 'id', shown: 'wide' },
    ],
    empty: 'Nothing has happened yet.',
  }),
} satisfies Family;
