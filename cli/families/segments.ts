import { contactColumns } from './contacts.ts';
import {
  declareAction,
  declareDetail,
  declareList,
  withRemaining,
  type Family,
  type Field,
  type ItemOf,
} from './family.ts';
import { grouped } from './field-value.ts';

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

export const segments = withRemaining({
  command: 'segments',
  summary: 'group contacts by a filter or by hand',
  noun: 'a segment',
  list: declareList('listSegments', { columns: [...columns, ...counted], empty: 'There are no segments yet.' }),
  get: declareDetail('getSegment', { fields: [...columns, { name: 'filter', label: 'Filter', kind: 'body' }] }),
  actions: [
    declareAction('createSegment'),
    declareAction('updateSegment', { done: 'Renamed' }),
    declareAction('deleteSegment'),
    declareAction('getSegmentMetrics', {
      describe: ({ contacts, subscribed, unsubscribed }) =>
        `Contacts      ${grouped(contacts)}\nSubscribed    ${grouped(subscribed)}\nUnsubscribed  ${grouped(unsubscribed)}`,
    }),
    declareAction('previewSegment', {
      print: ({ contacts }) => String(contacts),
      describe: ({ contacts }) =>
        contacts === 1
          ? '1 contact matches; nothing was stored.'
          : `${grouped(contacts)} contacts match; nothing was stored.`,
    }),
  ],
  elsewhere: { listSegmentContacts: true },
});

export const segmentContacts = {
  command: 'segments',
  summary: 'list the contacts in a segment',
  noun: 'a contact',
  list: declareList('listSegmentContacts', { columns: contactColumns, empty: 'Nobody is in this segment.' }),
} satisfies Family;

export const contactSegments = {
  command: 'contacts',
  summary: 'list the segments of a contact',
  noun: 'a segment',
  list: declareList('listContactSegments', { columns, empty: 'The contact is in no segment.' }),
  actions: [
    declareAction('addContactToSegment', { describe: ({ contact_id: id }) => id }),
    declareAction('removeContactFromSegment', { describe: ({ contact_id: id }) => id }),
  ],
} satisfies Family;
