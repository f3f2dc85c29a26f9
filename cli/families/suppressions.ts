import type { ItemOf } from './family.ts';
import { actionOf, detailOf, listOf, type Family, type Field, type Key } from './family.ts';

const columns: readonly Field<ItemOf<'listSuppressions'>>[] = [
  { name: 'id', label: 'Id', kind: 'id' },
  { name: 'email', label: 'Address', kind: 'name' },
  { name: 'origin', label: 'Origin', kind: 'state' },
  { name: 'created_at', label: 'Created', kind: 'time' },
  { name: 'source_id', label: 'By email', kind: 'id' },
];

const SUPPRESSION: Key = { word: 'suppression', says: 'its id (sup_…) or the address' };

export const suppressions = {
  command: 'suppressions',
  summary: 'the addresses that no mail goes to',
  noun: 'a suppression',
  list: listOf('listSuppressions', {
    summary: 'list suppressed addresses, newest first',
    example: 'suppressions list --origin bounce',
    filters: {
      origin: {
        value: '<origin>',
        says: 'only those suppressed by a bounce, by a complaint or as manual',
        choices: ['bounce', 'complaint', 'manual'],
      },
      search: { value: '<text>', says: 'only those whose address begins with this' },
    },
    columns,
    empty: 'There are no suppressions yet.',
  }),
  get: detailOf('getSuppression', {
    summary: 'show why and since when an address is suppressed',
    example: 'suppressions get someone@example.org',
    path: { suppression: SUPPRESSION },
    fields: columns,
  }),
  actions: [
    actionOf('createSuppression', {
      verb: 'add',
      summary: 'stop all mail to an address',
      example: 'suppressions add someone@example.org',
      flags: { email: { value: '<address>', says: 'the address', isRequired: true } },
      done: 'Suppressed',
      isSpecial: true,
    }),
    actionOf('deleteSuppression', {
      verb: 'remove',
      summary: 'let mail go to the address again',
      example: 'suppressions remove someone@example.org',
      path: { suppression: SUPPRESSION },
      done: 'Lifted',
      isSpecial: true,
    }),
  ],
} satisfies Family;
