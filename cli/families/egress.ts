import { declareAction, declareDetail, declareList, withRemaining } from './family.ts';
import type { AnswerOf, ItemOf, Tone } from './family.ts';
import { grouped } from './field-value.ts';

type Source = ItemOf<'listSources'>;
type WarmUp = AnswerOf<'getWarmUp'>;
type AtProvider = WarmUp['providers'][number];
type Counts = Source['today'];

const TONES: Record<Source['state'], Tone> = {
  ready: 'good',
  warming: 'attention',
  paused: 'attention',
  unavailable: 'bad',
};

const formatCounts = ({ accepted, deferred, bounced }: Counts): string =>
  accepted + deferred + bounced === 0
    ? ''
    : `${grouped(accepted)} accepted, ${grouped(deferred)} deferred, ${grouped(bounced)} bounced`;

/** The addresses of a source, and what its mail goes through. */
const formatWay = ({ ipv4, ipv6, proxy, relay }: Source): string =>
  [
    ...(relay === null ? [] : [`relay ${relay}`]),
    ...(proxy === null ? [] : [`SOCKS5 ${proxy}`]),
    ...[ipv4, ipv6].filter((address) => address !== null),
  ].join(' ');

const formatPools = ({ pools }: Source): string =>
  pools.map(({ name, weight, share }) => `${name} ${weight} (${share} %)`).join(', ');

const JUDGED: Record<AtProvider['last_day'], string> = {
  new: 'it has just begun',
  good: 'the last day was good',
  bad: 'the last day was bad, so it went a day back',
  idle: 'it began again after a long time without mail',
  little: 'the last day had too little mail to count',
  paused: 'the last day does not count, because the warm-up is paused',
};

function formatAtProvider(at: AtProvider): string {
  const { title, day, days, daily_limit: daily, used_today: used, hourly_limit: hourly, used_this_hour: now } = at;
  if (daily === null || hourly === null) return `${title}: no limit any more (${JUDGED[at.last_day]})`;
  const today = `${grouped(used)} of ${grouped(daily)} today`;
  return `${title}: day ${day} of ${days}, ${today}, ${grouped(now)} of ${grouped(hourly)} this hour (${JUDGED[at.last_day]})`;
}

function formatWarmUp({ state, started_at: startedAt, providers }: WarmUp): string {
  if (state === 'none' || startedAt === null) return 'not being warmed up';
  const since = `${state} since ${startedAt.slice(0, 16).replace('T', ' ')} UTC`;
  return [since, ...providers.map(formatAtProvider)].join('; ');
}

/** The state of a warm-up in lines, as an action shows it. */
function describeWarmUp(warmUp: WarmUp): string {
  const { id, state, providers } = warmUp;
  if (state === 'none') return `${id} is not being warmed up: it has no limit for a day.`;
  const first =
    state === 'paused'
      ? `The warm-up of ${id} is paused: its limits are not raised.`
      : `${id} is being warmed up: its limits are raised after each good day.`;
  const none = providers.length === 0 ? ['It has sent nothing since then.'] : [];
  return [first, ...none, ...providers.map(formatAtProvider)].join('\n');
}

const formatOutcomes = ({ last_24_hours: outcomes }: AnswerOf<'getSource'>): string =>
  outcomes
    .map(
      ({ title, outcome, cause, recipients }) =>
        `${title}: ${grouped(recipients)} ${outcome}${cause === null ? '' : ` (${cause})`}`,
    )
    .join('; ');

const statusHint = ({ id }: WarmUp) => ({
  words: 'See how far it is with',
  command: ['getWarmUp', id] as const,
});

/** The fields that the list and the detail share. */
const FIELDS = {
  id: { label: 'Source', kind: 'name' },
  state: { tone: ({ state }: Source) => TONES[state] },
  ipv4: { label: 'Leaves by', kind: 'text', value: formatWay },
  ehlo_name: { label: 'EHLO', kind: 'text' },
  pools: { kind: 'text', value: formatPools },
  last_hour: { label: 'Last hour', kind: 'text', value: (one: Source) => formatCounts(one.last_hour) },
  today: { kind: 'text', value: (one: Source) => formatCounts(one.today) },
  fault: { label: 'Fault', kind: 'long' },
  ipv6: { label: 'IPv6', kind: 'text' },
} as const;

export const egress = withRemaining({
  summary: 'show the addresses, proxies and relays that mail leaves by, and warm up new ones',
  isOperators: true,
  list: declareList('listSources', {
    fields: FIELDS,
    columns: ['id', 'state', 'ipv4', 'ehlo_name', 'pools', 'last_hour', 'today', 'fault'],
    asked: ['ipv6', 'proxy', 'relay'],
    empty: 'No pool of the settings contains a source; mail leaves as its region says.',
  }),
  get: declareDetail('getSource', {
    fields: {
      ...FIELDS,
      warm_up: { label: 'Warm-up', kind: 'long', value: ({ warm_up: warmUp }) => formatWarmUp(warmUp) },
      last_24_hours: { label: 'Last 24 hours', kind: 'long', value: formatOutcomes },
    },
    columns: ['id', 'state', 'fault', 'ipv4', 'ehlo_name', 'pools', 'last_hour', 'today', 'warm_up', 'last_24_hours'],
    asked: ['ipv6', 'proxy', 'relay'],
  }),
  actions: [
    declareAction('startWarmUp', { describe: describeWarmUp, hint: statusHint }),
    declareAction('pauseWarmUp', {
      describe: describeWarmUp,
      hint: ({ id }) => ({ words: 'Go on with', command: ['continueWarmUp', id] }),
    }),
    declareAction('continueWarmUp', { describe: describeWarmUp }),
    declareAction('stopWarmUp', { describe: describeWarmUp }),
    declareAction('getWarmUp', { describe: describeWarmUp }),
  ],
});
