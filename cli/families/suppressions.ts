import type { ItemOf } from './family.ts';
import { idEnd } from './flag.ts';
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
      id_end: idEnd,
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
      key: 'a',
      summary: 'suppress one or more addresses',
      description: 'Stops all mail of this team to the addresses, at most 100 at once.',
      example: 'suppressions add someone@example.org other@example.org',
      flags: {
        email: {
          flag: 'address',
          value: '<address>',
          says: 'the addresses',
          isWord: true,
          isVariadic: true,
          isRequired: true,
        },
      },
      several: { operation: 'addSuppressions', field: 'email', as: 'emails' },
      done: 'Suppressed',
    }),
    actionOf('deleteSuppression', {
      verb: 'remove',
      key: 'e',
      summary: 'lift one or more suppressions',
      example: 'suppressions remove someone@example.org',
      path: {
        suppression: { word: 'suppression', says: 'ids (sup_…) or addresses, not both', isVariadic: true },
      },
      done: 'Lifted',
    }),
  ],
} satisfies Family;
