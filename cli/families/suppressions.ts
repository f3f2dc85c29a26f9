import { declareAction, declareDetail, declareList, withRemaining, type FieldsOf } from './family.ts';

const fields: FieldsOf<'listSuppressions'> = { origin: { kind: 'state' }, source_id: 'By email' };
const columns = ['id', 'email', 'origin', 'created_at', 'source_id'] as const;

export const suppressions = withRemaining({
  summary: 'manage the addresses that no mail is sent to',
  list: declareList('listSuppressions', { fields, columns }),
  get: declareDetail('getSuppression', { fields, columns }),
  actions: [
    declareAction('createSuppression', {
      several: { operation: 'addSuppressions', field: 'email', as: 'emails' },
      done: 'Suppressed',
    }),
    declareAction('deleteSuppression', { done: 'Lifted' }),
  ],
});
