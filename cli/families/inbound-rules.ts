import { declareDetail, declareList, withRemaining, type FieldsOf } from './family.ts';

const fields: FieldsOf<'listInboundRules'> = {
  action: { kind: 'state' },
  forward_to: { kind: 'name', join: ', ' },
};
const columns = ['id', 'pattern', 'action', 'forward_to', 'created_at'] as const;

export const inboundRules = withRemaining({
  summary: 'manage rules that store, forward or drop received mail',
  list: declareList('listInboundRules', {
    fields,
    columns,
    empty: 'There are no rules yet: all received mail is stored.',
  }),
  get: declareDetail('getInboundRule', { fields, columns }),
});
