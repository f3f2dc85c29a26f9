import { declareAction, declareList, withRemaining } from './family.ts';
import type { ItemOf, Tone } from './family.ts';
import { grouped } from './field-value.ts';

type Breaker = ItemOf<'listBreakers'>;

const TONES: Record<Breaker['state'], Tone> = {
  slow: 'attention',
  paused: 'bad',
  probing: 'attention',
  recovering: 'attention',
  closed: 'good',
};

const nameSubject = ({ domain, team_id: team }: Breaker): string => domain ?? `all domains of team ${team}`;

const formatLimit = ({ messages_per_minute: rate, state }: Breaker): string => {
  if (rate !== null) return `${grouped(rate)} a minute`;
  return state === 'closed' ? 'none' : 'nothing';
};

const describeRelease = ({ deliveries, breaker }: { deliveries: number; breaker: Breaker }): string => {
  const where = breaker.provider === null ? '' : ` to ${breaker.provider}`;
  const due = `${grouped(deliveries)} ${deliveries === 1 ? 'delivery is' : 'deliveries are'} due now.`;
  return `${breaker.stream} mail from ${nameSubject(breaker)}${where} is no longer limited. ${due}`;
};

export const breakers = withRemaining({
  summary: 'show and release mail that is limited because of complaints and bounces',
  isOperators: true,
  list: declareList('listBreakers', {
    fields: {
      id: { kind: 'id' },
      domain: { label: 'Mail from', kind: 'whole', value: nameSubject },
      provider: { label: 'To', kind: 'text', value: ({ provider }: Breaker) => provider ?? 'everybody' },
      stream: { kind: 'text' },
      state: { tone: ({ state }: Breaker) => TONES[state] },
      messages_per_minute: { label: 'Limit', kind: 'text', value: formatLimit },
      until: { kind: 'time' },
      reason: { kind: 'long' },
    },
    columns: ['id', 'domain', 'provider', 'stream', 'state', 'messages_per_minute', 'until', 'reason'],
    asked: ['team_id', 'scope', 'cause', 'bad_recipients', 'recipients', 'trips', 'since'],
    empty: 'No circuit breaker limits mail.',
  }),
  actions: [declareAction('releaseBreaker', { describe: describeRelease })],
});
