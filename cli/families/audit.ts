import type { Columns } from './columns.ts';
import { declareFamily, declareList, withRemaining, type ItemOf } from './family.ts';
import { inWords } from './field-value.ts';

type Entry = ItemOf<'listAudit'> | ItemOf<'listOperatorAudit'>;

const detailsInWords = ({ details }: Entry): string =>
  Object.entries(details ?? {})
    .map(([name, value]) => `${name}: ${inWords(value)}`)
    .join('; ');

const entries = {
  fields: {
    created_at: { label: 'When', kind: 'moment' },
    action: { label: 'What', kind: 'whole' },
    subject_id: 'To',
    actor: { label: 'Who', value: ({ actor }: Entry) => `${actor.kind} ${actor.name ?? actor.id ?? ''}`.trim() },
    address: { label: 'From', kind: 'whole' },
    id: { shown: 'wide' },
    team_id: { shown: 'wide' },
    user_agent: { shown: 'wide' },
    request_id: { shown: 'wide' },
    details: { kind: 'long', words: detailsInWords },
  },
  columns: [
    'created_at',
    'action',
    'subject_id',
    'actor',
    'address',
    'id',
    'team_id',
    'user_agent',
    'request_id',
    'details',
  ],
  empty: 'Nothing has been changed.',
} as const satisfies Columns<Entry> & { empty: string };

export const audit = withRemaining({
  summary: 'show who changed what, when and from where',
  noun: 'an entry',
  isUsual: 'list',
  list: declareList('listAudit', entries),
  elsewhere: { listOperatorAudit: true },
});

export const operatorAudit = declareFamily({
  isOperators: true,
  screens: { list: 'operator-audit' },
  noun: 'an entry',
  list: declareList('listOperatorAudit', entries),
});
