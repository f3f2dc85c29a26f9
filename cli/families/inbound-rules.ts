import {
  actionOf,
  currentIn,
  detailOf,
  listOf,
  nameIn,
  type Family,
  type Field,
  type Flag,
  type ItemOf,
  type Key,
} from './family.ts';

export const INBOUND_RULE: Key = { word: 'id', says: 'the id of the rule' };

const columns: readonly Field<ItemOf<'listInboundRules'>>[] = [
  { name: 'id', label: 'Id', kind: 'id' },
  { name: 'pattern', label: 'Pattern', kind: 'whole' },
  { name: 'action', label: 'Action', kind: 'state' },
  { name: 'forward_to', label: 'Forward to', kind: 'name', value: ({ forward_to: to }) => to.join(', ') },
  { name: 'created_at', label: 'Created', kind: 'time' },
];

const action: Flag = {
  value: '<action>',
  says: 'webhook_only, forward or drop',
  choices: ['webhook_only', 'forward', 'drop'],
};
const forward_to: Flag = {
  value: '<address>',
  says: 'where forward passes mail on to; up to 10 addresses',
  isVariadic: true,
};

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
    actionOf('createInboundRule', {
      verb: 'create',
      key: 'c',
      summary: 'create a rule',
      description:
        'Says what is done with mail to an address, a pattern (support+*@example.com, *@example.com) or * for everything. The most specific rule decides. forward keeps the message and passes it on; webhook_only keeps who wrote what to whom and no content; drop keeps nothing.',
      example: 'inbound-rules create support@example.com --action forward --forward-to office@example.org',
      flags: {
        pattern: { value: '<pattern>', says: 'an address, a pattern, or *', isWord: true, isRequired: true },
        action: { ...action, isRequired: true },
        forward_to,
      },
      done: 'Created',
    }),
    actionOf('updateInboundRule', {
      verb: 'update',
      key: 'u',
      summary: 'change what a rule does',
      example: 'inbound-rules update 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2ea1 --action drop',
      path: { inbound_rule_id: INBOUND_RULE },
      flags: { action, forward_to },
      current: currentIn('getInboundRule'),
      done: 'Changed',
    }),
    actionOf('deleteInboundRule', {
      verb: 'delete',
      key: 'd',
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
