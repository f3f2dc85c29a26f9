import { declareAction, declareDetail, declareList, withRemaining, type Field, type ItemOf } from './family.ts';

const columns: readonly Field<ItemOf<'listInboundRules'>>[] = [
  { name: 'id', label: 'Id', kind: 'id' },
  { name: 'pattern', label: 'Pattern', kind: 'whole' },
  { name: 'action', label: 'Action', kind: 'state' },
  { name: 'forward_to', label: 'Forward to', kind: 'name', value: ({ forward_to: to }) => to.join(', ') },
  { name: 'created_at', label: 'Created', kind: 'time' },
];

export const inboundRules = withRemaining({
  command: 'inbound-rules',
  summary: 'manage rules that store, forward or drop received mail',
  noun: 'a rule',
  list: declareList('listInboundRules', { columns, empty: 'There are no rules yet: all received mail is stored.' }),
  get: declareDetail('getInboundRule', { fields: columns }),
  actions: [declareAction('createInboundRule'), declareAction('updateInboundRule'), declareAction('deleteInboundRule')],
});
