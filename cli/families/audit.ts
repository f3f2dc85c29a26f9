import type { Columns } from './columns.ts';
import { declareFamily, declareList, withRemaining, type ItemOf } from './family.ts';
import { inWords } from './field-value.ts';

type Entry = ItemOf<'listAudit'> | ItemOf<'listOperatorAudit'>;

const detailsInWords = ({ details }: Entry): string =>
  Object.entries(details ?? {})
    .map(([name, value]) => `${name}: ${inWords(value)}`)
    .join('; ');

/** Fields of details by which people know what was changed. */
const NAMES = [
  'name',
  'email',
  'email_address',
  'endpoint',
  'pattern',
  'key',
  'alias',
  'subject',
  'destination',
] as const;

const ID_END = 8;

/** Names what was changed: by its name in the details, or by the end of its id, as lists show it. */
function subjectInWords({ subject_id: id, details }: Entry): string {
  const known = (details ?? {}) as Readonly<Record<string, unknown>>;
  const name = NAMES.map((field) => known[field]).find((value) => typeof value === 'string' && value !== '');
  if (typeof name === 'string') return name;
  return id === null || !/^(?:[a-z]+_)?[0-9a-f-]{32,36}$/.test(id) ? (id ?? '') : id.slice(-ID_END);
}

const entries = {
  fields: {
    created_at: { label: 'When', kind: 'moment' },
    action: { label: 'What', kind: 'whole' },
    subject_id: { label: 'To', kind: 'name', words: subjectInWords },
    actor: {
      label: 'Who',
      isKept: true,
      value: ({ actor: { kind, name, id, app } }: Entry) =>
        // A server of an earlier version does not send it.
        (app ?? null) === null ? `${kind} ${name ?? id ?? ''}`.trim() : `app ${app?.name} for ${name ?? id}`,
    },
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
