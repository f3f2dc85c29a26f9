import { contactColumns } from './contacts.ts';
import { declareAction, declareDetail, declareFamily, declareList, withRemaining } from './family.ts';
import { grouped } from './field-value.ts';

const columns = ['id', 'name', 'created_at'] as const;

export const segments = withRemaining({
  summary: 'group contacts by a filter or by hand',
  list: declareList('listSegments', {
    fields: {
      'counts.contacts': { kind: 'number' },
      'counts.subscribed': { kind: 'number' },
      'counts.unsubscribed': { kind: 'number' },
    },
    columns: [...columns, 'counts.contacts', 'counts.subscribed', 'counts.unsubscribed'],
  }),
  get: declareDetail('getSegment', { fields: { filter: { kind: 'body' } }, columns: [...columns, 'filter'] }),
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

export const segmentContacts = declareFamily({
  noun: 'a contact',
  list: declareList('listSegmentContacts', { ...contactColumns, empty: 'Nobody is in this segment.' }),
});

export const contactSegments = declareFamily({
  list: declareList('listContactSegments', { columns, empty: 'The contact is in no segment.' }),
  actions: [
    declareAction('addContactToSegment', { describe: ({ contact_id: id }) => id }),
    declareAction('removeContactFromSegment', { describe: ({ contact_id: id }) => id }),
  ],
});
