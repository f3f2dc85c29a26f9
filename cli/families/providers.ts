import { declareAction, declareDetail, declareList, withRemaining } from './family.ts';
import type { ItemOf, Tone } from './family.ts';
import { grouped } from './field-value.ts';

type Provider = ItemOf<'listProviders'>;
type Limit = Provider['limits'][number];

const formatUsed = ({ now, limit }: { now: number; limit: number | null }): string =>
  limit === null ? grouped(now) : `${grouped(now)} of ${grouped(limit)}`;

const nameWhat = ({ kind, value }: Limit): string => {
  const count = value === null ? '' : String(Math.round(value * 10) / 10);
  switch (kind) {
    case 'suspended':
      return 'suspended';
    case 'messages_per_minute':
      return `${count} messages a minute`;
    case 'connections':
      return `${count} connections`;
    case 'messages_per_connection':
      return `${count} messages per connection`;
  }
};

const formatLimit = (limit: Limit): string => {
  const stream = limit.stream === null ? '' : ` of ${limit.stream} mail`;
  const whose = `${stream}${limit.sender_domain === null ? '' : ` from ${limit.sender_domain}`}`;
  const why = {
    operator: `set by an operator: ${limit.reason}`,
    breaker: `because ${limit.reason}`,
    reply: `because of ${limit.reason}`,
  }[limit.set_by];
  return `${nameWhat(limit)}${whose} until ${limit.until.slice(0, 16).replace('T', ' ')} UTC, ${why}`;
};

/** The whole limits and what became of the mail, in words that fit below a row. */
const formatLimits = ({ limits }: Provider): string => limits.map(formatLimit).join('; ');

const formatHour = ({ last_hour: { accepted, deferred, bounced } }: Provider): string =>
  accepted + deferred + bounced === 0
    ? ''
    : `${grouped(accepted)} accepted, ${grouped(deferred)} deferred, ${grouped(bounced)} bounced`;

const toneOfSuspension = ({ suspended_until: until }: Provider): Tone => (until === null ? 'plain' : 'bad');

const counted = (count: number): string => `${grouped(count)} ${count === 1 ? 'delivery' : 'deliveries'}`;

const describeChange = ({ removed, deliveries }: { removed: number; deliveries: number }): string =>
  removed === 0
    ? 'Nothing was limited.'
    : `${grouped(removed)} ${removed === 1 ? 'limit' : 'limits'} removed; ${counted(deliveries)} due now.`;

/** The fields that the list and the detail share. */
const FIELDS = {
  id: { label: 'Provider', kind: 'name' },
  title: { kind: 'text' },
  deliveries: { label: 'Wait', kind: 'number' },
  oldest_at: 'Since',
  next_attempt_at: 'Next try',
  messages_per_minute: {
    label: 'Per minute',
    kind: 'whole',
    value: (one: Provider) => formatUsed(one.messages_per_minute),
  },
  connections: { kind: 'whole', value: (one: Provider) => formatUsed(one.connections) },
  suspended_until: { label: 'Suspended until', kind: 'time', tone: toneOfSuspension },
  last_hour: { label: 'Last hour', kind: 'text', value: formatHour },
  limits: { label: 'Limits', kind: 'long', value: formatLimits },
} as const;

export const providers = withRemaining({
  summary: 'show mail by mailbox provider, and suspend and resume providers',
  isOperators: true,
  list: declareList('listProviders', {
    fields: FIELDS,
    columns: [
      'id',
      'title',
      'deliveries',
      'oldest_at',
      'messages_per_minute',
      'connections',
      'suspended_until',
      'last_hour',
      'limits',
    ],
    wide: ['next_attempt_at'],
    empty: 'No mail waits, and none was sent within the last hour.',
  }),
  get: declareDetail('getProvider', {
    fields: {
      ...FIELDS,
      settings: {
        kind: 'long',
        value: ({ settings }) =>
          settings.map(({ key, value, origin }) => `${key} = ${value ?? 0} (${origin})`).join('; '),
      },
      destinations: {
        kind: 'long',
        value: (one) =>
          one.destinations.map(({ destination, deliveries }) => `${destination} ${deliveries}`).join(', '),
      },
    },
    columns: [
      'id',
      'title',
      'deliveries',
      'oldest_at',
      'next_attempt_at',
      'messages_per_minute',
      'connections',
      'suspended_until',
      'last_hour',
      'limits',
      'destinations',
      'settings',
    ],
  }),
  actions: [
    declareAction('suspendProvider', {
      describe: ({ title, suspended_until: until }) =>
        `Nothing is sent to ${title} until ${(until ?? '').slice(0, 16).replace('T', ' ')} UTC.`,
      hint: ({ id }) => ({ words: 'End it earlier with', command: ['resumeProvider', id] }),
    }),
    declareAction('resumeProvider', { describe: describeChange }),
    declareAction('resetProvider', { describe: describeChange }),
  ],
});
