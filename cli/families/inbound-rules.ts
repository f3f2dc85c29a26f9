import { actionOf, detailOf, listOf, withRest, type Field, type ItemOf } from './family.ts';

const columns: readonly Field<ItemOf<'listInboundRules'>>[] = [
  { name: 'id', label: 'Id', kind: 'id' },
  { name: 'pattern', label: 'Pattern', kind: 'whole' },
  { name: 'action', label: 'Action', kind: 'state' },
  { name: 'forward_to', label: 'Forward to', kind: 'name', value: ({ forward_to: to }) => to.join(', ') },
  { name: 'created_at', label: 'Created', kind: 'time' },
];

export const inboundRules = withRest({
  command: 'inbound-rules',
  summary: 'manage rules that store, forward or drop received mail',
  noun: 'a rule',
  list: listOf('listInboundRules', { columns, empty: 'There are no rules yet: all received mail is stored.' }),
  get: detailOf('getInboundRule', { fields: columns }),
  actions: [actionOf('createInboundRule'), actionOf('updateInboundRule'), actionOf('deleteInboundRule')],
});
