import { actionOf, detailOf, listOf, nameIn, type Family, type Field, type ItemOf, type Key } from './family.ts';

export const INBOUND_RULE: Key = { word: 'id', says: 'the id of the rule' };

const columns: readonly Field<ItemOf<'listInboundRules'>>[] = [
  { name: 'id', label: 'Id', kind: 'id' },
  { name: 'pattern', label: 'Pattern', kind: 'whole' },
  { name: 'action', label: 'Action', kind: 'state' },
  { name: 'forward_to', label: 'Forward to', value: ({ forward_to: to }) => to.join(', ') },
  { name: 'created_at', label: 'Created', kind: 'time' },
];

export const inboundRules = {
  command: 'inbound-rules',
  summary: 'forward mail that comes in, drop it, or only be told of it',
  noun: 'a rule',
  list: listOf('listInboundRules', {
    summary: 'list rules, newest first',
    example: 'inbound-rules list',
    columns,
    empty: 'There are no rules yet: all mail that comes in is kept.',
  }),
  get: detailOf('getInboundRule', {
    summary: 'show a rule',
    example: 'inbound-rules get 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2ea1',
    path: { inbound_rule_id: INBOUND_RULE },
    fields: columns,
  }),
  actions: [
    actionOf('deleteInboundRule', {
      verb: 'delete',
      summary: 'delete a rule',
      example: 'inbound-rules delete 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2ea1',
      path: { inbound_rule_id: INBOUND_RULE },
      done: 'Deleted',
      destroys: {
        says: 'delete the rule; mail that comes in from then on is treated by the next one that matches',
        name: nameIn('getInboundRule', (rule) => rule.pattern),
      },
    }),
  ],
} satisfies Family;
