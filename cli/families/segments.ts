import { contactColumns, searchFlag } from './contacts.ts';
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
import { grouped } from './field-value.ts';

const SEGMENT: Key = { word: 'segment', says: 'the id of the segment' };
const CONTACT: Key = { word: 'contact', says: 'its id or address' };

const columns: readonly Field<ItemOf<'listSegments'>>[] = [
  { name: 'id', label: 'Id', kind: 'id' },
  { name: 'name', label: 'Name', kind: 'name' },
  { name: 'created_at', label: 'Created', kind: 'time' },
];

type Listed = ItemOf<'listSegments'>;

const count = (name: keyof NonNullable<Listed['counts']>, label: string): Field<Listed> => ({
  name: `counts.${name}`,
  label,
  kind: 'number',
  value: ({ counts }) => counts?.[name],
});

const counted = [
  count('contacts', 'Contacts'),
  count('subscribed', 'Subscribed'),
  count('unsubscribed', 'Unsubscribed'),
];

const filter: Flag = {
  value: '<json>',
  says: 'the filter, such as properties.plan = pro and unsubscribed = false, or as JSON',
  fromFile: 'filter',
  isJson: true,
  isWhere: true,
};

export const segments = {
  command: 'segments',
  summary: 'parts of your contacts, by a filter or by hand',
  noun: 'a segment',
  list: listOf('listSegments', {
    summary: 'list segments, newest first',
    example: 'segments list',
    filters: {
      search: { value: '<text>', says: 'only those whose name contains this' },
      include: {
        value: '<what>',
        says: 'what they are listed with',
        choices: ['counts'],
        preset: 'counts',
        isCostly: true,
      },
    },
    columns: [...columns, ...counted],
    empty: 'There are no segments yet.',
  }),
  get: detailOf('getSegment', {
    summary: 'show a segment and its filter',
    example: 'segments get 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e31',
    path: { segment: SEGMENT },
    fields: [...columns, { name: 'filter', label: 'Filter', kind: 'body' }],
  }),
  actions: [
    actionOf('createSegment', {
      verb: 'create',
      key: 'c',
      summary: 'create a segment',
      example: "segments create Paying --where 'properties.plan = pro and unsubscribed = false'",
      flags: {
        name: { value: '<name>', says: 'what you call it', isWord: true, isRequired: true },
        filter,
      },
      done: 'Created',
    }),
    actionOf('updateSegment', {
      verb: 'update',
      key: 'u',
      summary: 'rename a segment',
      example: "segments update 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e31 --name 'Paying customers'",
      path: { segment: SEGMENT },
      flags: { name: { value: '<name>', says: 'its new name', isRequired: true } },
      current: currentIn('getSegment'),
      done: 'Renamed',
    }),
    actionOf('deleteSegment', {
      verb: 'delete',
      key: 'd',
      summary: 'delete a segment; its contacts stay',
      example: 'segments delete 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e31',
      path: { segment: SEGMENT },
      done: 'Deleted',
      destroys: {
        says: 'delete the segment; drafts that name it cannot be sent until they name another',
        name: nameIn('getSegment', (segment) => segment.name),
      },
    }),
    actionOf('getSegmentMetrics', {
      verb: 'metrics',
      key: 'm',
      summary: 'count who is in a segment now',
      example: 'segments metrics 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e31',
      path: { segment: SEGMENT },
      tell: ({ contacts, subscribed, unsubscribed }) =>
        `Contacts      ${grouped(contacts)}\nSubscribed    ${grouped(subscribed)}\nUnsubscribed  ${grouped(unsubscribed)}`,
    }),
    actionOf('previewSegment', {
      verb: 'preview',
      key: 'p',
      summary: 'count whom a filter matches, and keep nothing',
      example: 'segments preview --where "email contains @example.org"',
      flags: { filter: { ...filter, isRequired: true } },
      print: ({ contacts }) => String(contacts),
      tell: ({ contacts }) =>
        contacts === 1
          ? '1 contact matches; nothing was kept.'
          : `${grouped(contacts)} contacts match; nothing was kept.`,
    }),
  ],
} satisfies Family;

export const segmentContacts = {
  command: 'segments',
  summary: 'who is in a segment',
  noun: 'a contact',
  list: listOf('listSegmentContacts', {
    verb: 'contacts',
    summary: 'list who is in a segment now, newest first',
    example: 'segments contacts 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e31',
    path: { segment: SEGMENT },
    filters: { search: searchFlag },
    columns: contactColumns,
    empty: 'Nobody is in this segment.',
  }),
} satisfies Family;

export const contactSegments = {
  command: 'contacts',
  summary: 'which segments a contact is in',
  noun: 'a segment',
  list: listOf('listContactSegments', {
    verb: 'segments',
    summary: 'list the segments a contact is in now, newest first',
    example: 'contacts segments ada@example.org',
    path: { contact: CONTACT },
    columns,
    empty: 'It is in no segment.',
  }),
  actions: [
    actionOf('addContactToSegment', {
      verb: 'add-segment',
      key: 'a',
      summary: 'add a contact to a segment',
      example: 'contacts add-segment ada@example.org 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e31',
      path: { contact: CONTACT, segment: SEGMENT },
      tell: ({ contact_id: id }) => id,
    }),
    actionOf('removeContactFromSegment', {
      verb: 'remove-segment',
      key: 'e',
      summary: 'take back what add-segment did; who matches the filter stays',
      example: 'contacts remove-segment ada@example.org 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e31',
      path: { contact: CONTACT, segment: SEGMENT },
      tell: ({ contact_id: id }) => id,
    }),
  ],
} satisfies Family;
