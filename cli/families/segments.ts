import { contactColumns } from './contacts.ts';
import { actionOf, detailOf, listOf, withRest, type Family, type Field, type ItemOf } from './family.ts';
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

export const segments = withRest({
  command: 'segments',
  summary: 'group contacts by a filter or by hand',
  noun: 'a segment',
  list: listOf('listSegments', { columns: [...columns, ...counted], empty: 'There are no segments yet.' }),
  get: detailOf('getSegment', { fields: [...columns, { name: 'filter', label: 'Filter', kind: 'body' }] }),
  actions: [
    actionOf('createSegment'),
    actionOf('updateSegment', { done: 'Renamed' }),
    actionOf('deleteSegment'),
    actionOf('getSegmentMetrics', {
      tell: ({ contacts, subscribed, unsubscribed }) =>
        `Contacts      ${grouped(contacts)}\nSubscribed    ${grouped(subscribed)}\nUnsubscribed  ${grouped(unsubscribed)}`,
    }),
    actionOf('previewSegment', {
      print: ({ contacts }) => String(contacts),
      tell: ({ contacts }) =>
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
  list: listOf('listSegmentContacts', { columns: contactColumns, empty: 'Nobody is in this segment.' }),
} satisfies Family;

export const contactSegments = {
  command: 'contacts',
  summary: 'list the segments of a contact',
  noun: 'a segment',
  list: listOf('listContactSegments', { columns, empty: 'The contact is in no segment.' }),
  actions: [
    actionOf('addContactToSegment', { tell: ({ contact_id: id }) => id }),
    actionOf('removeContactFromSegment', { tell: ({ contact_id: id }) => id }),
  ],
} satisfies Family;
