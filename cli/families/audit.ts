import type { Field, ItemOf } from './family.ts';
import { declareList, wide, withRemaining, type Family } from './family.ts';
import { inWords } from './field-value.ts';

type Entry = ItemOf<'listAudit'> | ItemOf<'listOperatorAudit'>;

const detailsInWords = (details: object): string =>
  Object.entries(details)
    .map(([name, value]) => `${name}: ${inWords(value)}`)
    .join('; ');

const columns: readonly Field<Entry>[] = [
  { name: 'created_at', label: 'When', kind: 'moment' },
  { name: 'action', label: 'What', kind: 'whole' },
  { name: 'subject_id', label: 'To', kind: 'id' },
  { name: 'actor', label: 'Who', value: ({ actor }) => `${actor.kind} ${actor.name ?? actor.id ?? ''}`.trim() },
  { name: 'address', label: 'From', kind: 'whole' },
  ...wide<Entry>(
    { name: 'id', label: 'Id', kind: 'id' },
    { name: 'team_id', label: 'Team', kind: 'id' },
    { name: 'user_agent', label: 'User agent' },
    { name: 'request_id', label: 'Request', kind: 'id' },
  ),
  { name: 'details', label: 'Details', kind: 'long', words: ({ details }) => detailsInWords(details ?? {}) },
];

export const audit = withRemaining({
  command: 'audit',
  summary: 'show who changed what, when and from where',
  noun: 'an entry',
  isUsual: 'list',
  list: declareList('listAudit', { columns, empty: 'Nothing has been changed.' }),
  elsewhere: { listOperatorAudit: true },
});

export const operatorAudit = {
  command: 'audit',
  summary: 'show who changed what in the whole installation',
  isOperators: true,
  screens: { list: 'operator-audit' },
  noun: 'an entry',
  list: declareList('listOperatorAudit', { columns, empty: 'Nothing has been changed.' }),
} satisfies Family;
