import type { ItemOf } from './family.ts';
import { declareAction, declareDetail, declareList, withRemaining, type Field } from './family.ts';

const columns: readonly Field<ItemOf<'listSuppressions'>>[] = [
  { name: 'id', label: 'Id', kind: 'id' },
  { name: 'email', label: 'Address', kind: 'name' },
  { name: 'origin', label: 'Origin', kind: 'state' },
  { name: 'created_at', label: 'Created', kind: 'time' },
  { name: 'source_id', label: 'By email', kind: 'id' },
];

export const suppressions = withRemaining({
  command: 'suppressions',
  summary: 'manage the addresses that no mail is sent to',
  noun: 'a suppression',
  list: declareList('listSuppressions', { columns, empty: 'There are no suppressions yet.' }),
  get: declareDetail('getSuppression', { fields: columns }),
  actions: [
    declareAction('createSuppression', {
      several: { operation: 'addSuppressions', field: 'email', as: 'emails' },
      done: 'Suppressed',
    }),
    declareAction('deleteSuppression', { done: 'Lifted' }),
  ],
});
