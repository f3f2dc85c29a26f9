import type { AnswerOf } from '../client/index.ts';
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
import { idEnd } from './flag.ts';

const CONTACT: Key = { word: 'contact', says: 'its id or address' };

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

export const searchFlag: Flag = { value: '<text>', says: 'only those whose address or name begins with this' };

/** As the flag takes them. */
const writeProperties = (values: AnswerOf<'getContact'>['properties']): string =>
  Object.entries(values)
    .map(([key, value]) => (typeof value === 'string' ? `${key}=${value}` : `${key}:=${String(value)}`))
    .join(', ');

const properties: Flag = {
  flag: 'property',
  value: '<value>',
  says: 'key=text, or key:=value for a number, true or false',
  isRepeatable: true,
  syntax: 'property',
  isClearable: true,
};

const names = {
  first_name: {
    value: '<name>',
    says: 'its first name; an empty one takes it away',
    isClearable: true,
    isEmptied: true,
  },
  last_name: { value: '<name>', says: 'its last name; an empty one takes it away', isClearable: true, isEmptied: true },
} as const;

export const contacts = {
  command: 'contacts',
  summary: 'the people you write to',
  noun: 'a contact',
  list: listOf('listContacts', {
    summary: 'list contacts, newest first',
    example: 'contacts list --segment-id 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e31',
    filters: {
      segment_id: { value: '<segment>', says: 'only those who are in this segment now, by its id' },
      search: searchFlag,
      id_end: idEnd,
    },
    columns: contactColumns,
    empty: 'There are no contacts yet.',
  }),
  get: detailOf('getContact', {
    summary: 'show a contact with its properties',
    example: 'contacts get ada@example.org',
    path: { contact: CONTACT },
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
    actionOf('createContact', {
      verb: 'create',
      key: 'c',
      summary: 'create a contact, or update the one of this address',
      description:
        'Creates a contact. An address that is one already is updated: what is named changes, and it is never subscribed again. One that had unsubscribed before its contact was erased starts unsubscribed.',
      example: 'contacts create ada@example.org --first-name Ada --property plan=pro --property seats:=3',
      flags: {
        email: { value: '<email>', says: 'the address', isWord: true, isRequired: true },
        ...names,
        unsubscribed: {
          says: 'no broadcast may go to it',
          no: 'a new contact has agreed to get broadcasts, also where its address had unsubscribed before',
          isBoolean: true,
        },
        properties,
        segments: { flag: 'segment', value: '<id>', says: 'adds it to this segment', isRepeatable: true },
        topics: {
          flag: 'topic',
          value: '<choice>',
          says: 'ID=opt_in or ID=opt_out',
          isRepeatable: true,
          syntax: 'topic',
        },
      },
      done: 'Added',
    }),
    actionOf('updateContact', {
      verb: 'update',
      key: 'u',
      summary: 'change a contact',
      example: 'contacts update ada@example.org --last-name King --clear-property plan',
      path: { contact: CONTACT },
      flags: {
        email: { value: '<address>', says: 'its new address' },
        ...names,
        unsubscribed: {
          says: 'no broadcast may go to it any more',
          no: 'broadcasts may go to it again',
          isBoolean: true,
        },
        properties: { ...properties, clear: { value: '<key>', says: 'takes away its value' } },
      },
      current: currentIn('getContact', (contact) => ({ ...contact, properties: writeProperties(contact.properties) })),
      done: 'Changed',
    }),
    actionOf('deleteContact', {
      verb: 'delete',
      key: 'd',
      summary: 'erase a contact and everything personal of it',
      example: 'contacts delete ada@example.org',
      path: { contact: CONTACT },
      done: 'Erased',
      destroys: {
        says: 'erase the contact for good; its consent records keep a hash of the address, and what it was out of',
        name: nameIn('getContact', (contact) => contact.email),
      },
    }),
  ],
} satisfies Family;

export const contactActivity = {
  command: 'contacts',
  summary: 'what happened with a contact',
  noun: 'an entry',
  list: listOf('listContactActivity', {
    verb: 'activity',
    summary: 'list what happened with a contact, newest first',
    example: 'contacts activity ada@example.org',
    path: { contact: CONTACT },
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
