import { buildFields, declareAction, declareFamily, type AnswerOf, type Field, type Tone } from './family.ts';
import { grouped } from './field-value.ts';

type Reputation = AnswerOf<'getReputation'>;
export type ReputationEntry = Reputation['data'][number];
type Source = Reputation['sources'][number];
type OfDomain = AnswerOf<'getDomainReputation'>;
type Group = Reputation['group_by'][number];

const TONES: Record<ReputationEntry['level'], Tone> = {
  good: 'good',
  watch: 'attention',
  bad: 'bad',
  unknown: 'plain',
};

export const toneOfReputation = ({ level }: Pick<ReputationEntry, 'level'>): Tone => TONES[level];

export const nameSource = (source: string | null): string => source ?? 'outside of pools';

const formatShare = (count: number, rate: number | null): string =>
  count === 0 || rate === null ? grouped(count) : `${grouped(count)} (${rate} %)`;

/** The causes of deferrals or bounces in words, the most frequent first. */
export const formatCauses = ({ causes }: ReputationEntry['deferred']): string =>
  causes.map(({ cause, recipients }) => `${grouped(recipients)} ${cause ?? 'without a known cause'}`).join(', ');

/** Says whether mail is taken better or worse than in the days before. */
export const formatTrend = ({ trend }: Pick<ReputationEntry, 'trend'>): string => trend?.direction ?? '–';

/** Says why an entry needs attention; empty for one that does not. */
function explainLevel({ level, reason, deferred, bounced }: ReputationEntry): string {
  if (level !== 'watch' && level !== 'bad') return '';
  const parts = [
    reason,
    ...(deferred.total > 0 ? [`Deferred: ${formatCauses(deferred)}.`] : []),
    ...(bounced.total > 0 ? [`Bounced: ${formatCauses(bounced)}.`] : []),
  ];
  return parts.join(' ');
}

const COLUMN_OF: Record<Group, 'source' | 'provider' | 'domain_name'> = {
  source: 'source',
  provider: 'provider',
  domain: 'domain_name',
};

const formatDmarc = ({ dmarc }: ReputationEntry): string =>
  dmarc ? `${grouped(dmarc.failed)} of ${grouped(dmarc.messages)} failed` : '';

/** Returns the columns of a table of entries that are grouped by these. */
export const reputationColumns = (groups: readonly Group[]): readonly Field<ReputationEntry>[] =>
  buildFields<ReputationEntry>({
    fields: {
      source: { kind: 'name' },
      provider: { kind: 'name', value: (one) => one.provider_title },
      domain_name: { label: 'Domain', kind: 'name', value: (one) => one.domain_name ?? one.domain_id },
      accepted: { kind: 'number' },
      deferred: { kind: 'whole', value: (one) => formatShare(one.deferred.total, one.rates.deferred) },
      bounced: { kind: 'whole', value: (one) => formatShare(one.bounced.total, one.rates.bounced) },
      complained: { kind: 'whole', value: (one) => formatShare(one.complained, one.rates.complained) },
      dmarc: { label: 'DMARC', kind: 'whole', value: formatDmarc },
      trend: { kind: 'whole', value: formatTrend, tone: toneOfTrend },
      level: { kind: 'state', tone: toneOfReputation },
      reason: { kind: 'long', value: explainLevel },
    },
    columns: [
      ...groups.map((group) => COLUMN_OF[group]),
      'accepted',
      'deferred',
      'bounced',
      'complained',
      ...(groups.includes('domain') ? (['dmarc'] as const) : []),
      'trend',
      'level',
      'reason',
    ],
  });

export function toneOfTrend({ trend }: Pick<ReputationEntry, 'trend'>): Tone {
  if (trend?.direction === 'worse') return 'attention';
  return trend?.direction === 'better' ? 'good' : 'plain';
}

const STATES = { listed: 'listed', not_listed: 'not listed', not_checked: 'not checked' } as const;

/** Says what blocklists have of a source. */
export function formatBlocklists({ blocklists: { state, listed } }: Source): string {
  if (state !== 'listed') return STATES[state];
  return `listed: ${listed.map(({ address, zone }) => `${address} on ${zone}`).join(', ')}`;
}

/** The columns of the sources with what blocklists say of them. */
export const blocklistColumns = (): readonly Field<Source>[] =>
  buildFields<Source>({
    fields: {
      source: { kind: 'name', value: ({ source }) => nameSource(source) },
      addresses: { kind: 'text' },
      blocklists: {
        kind: 'text',
        value: formatBlocklists,
        tone: ({ blocklists: { state } }) => (state === 'listed' ? 'bad' : 'plain'),
      },
      'blocklists.checked_at': { label: 'Checked', kind: 'time' },
    },
    columns: ['source', 'addresses', 'blocklists', 'blocklists.checked_at'],
  });

/** Describes the range and what DMARC reports say of a domain, before the table. */
export function domainReputationInWords({ domain_name: name, start_date, end_date, dmarc, data }: OfDomain): string {
  const days = start_date === end_date ? start_date : `${start_date} to ${end_date}`;
  const reports =
    dmarc === null
      ? 'No DMARC reports about these days have arrived.'
      : `DMARC reports: ${grouped(dmarc.failed)} of ${grouped(dmarc.messages)} messages failed.`;
  const mail = data.length === 0 ? [`No provider has replied to mail of ${name}.`] : [];
  return [`${name}, ${days}.`, reports, ...mail].join('\n');
}

function formatCounts(one: ReputationEntry): string {
  const { accepted, deferred, bounced, complained, rates, level, reason } = one;
  const trend =
    one.trend === null
      ? ''
      : ` (${one.trend.direction === 'same' ? 'the same as' : `${one.trend.direction} than`} before)`;
  const counts = [
    `${grouped(accepted)} accepted`,
    `${formatShare(deferred.total, rates.deferred)} deferred`,
    `${formatShare(bounced.total, rates.bounced)} bounced`,
    `${formatShare(complained, rates.complained)} complained`,
  ];
  return `${level}${trend}. ${counts.join(', ')}. ${explainLevel(one) || reason}`;
}

const describeDomain = (answer: OfDomain): string =>
  [
    domainReputationInWords(answer),
    ...answer.data.map((one) => `${one.provider_title ?? ''}: ${formatCounts(one)}`),
  ].join('\n');

/** Describes all entries in lines, for where there is no table. */
function describeAll({ data, sources }: Reputation): string {
  if (data.length === 0) return NO_MAIL;
  const entries = data.map((one) => {
    const names = [one.source, one.provider_title, one.domain_name ?? one.domain_id].filter(
      (name) => name !== undefined,
    );
    return `${names.join(' → ')}: ${formatCounts(one)}`;
  });
  return [...entries, ...sources.map((one) => `${nameSource(one.source)}: ${formatBlocklists(one)}`)].join('\n');
}

export const NO_MAIL = 'No provider has replied to any mail within these days.';

/** The operator sees it as a map in the console. */
export const reputation = declareFamily({
  summary: 'show how providers take the mail of each source and sending domain',
  noun: 'a reputation',
  isOperators: true,
  actions: [declareAction('getReputation', { describe: describeAll })],
});

/** The reputation of a domain is spoken of with the domain. */
export const domainReputation = declareFamily({
  summary: 'show how providers take the mail of a domain',
  noun: 'a reputation',
  actions: [declareAction('getDomainReputation', { describe: describeDomain })],
});
