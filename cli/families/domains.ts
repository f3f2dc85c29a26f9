import type { DomainRecord } from '../../src/contract/index.ts';
import type { Advice, AnswerOf } from '../client/index.ts';
import {
  declareAction,
  currentIn,
  declareDetail,
  declareList,
  declareParts,
  seenIn,
  wide,
  withRemaining,
  type Field,
  type Flag,
  type ItemOf,
  type Key,
  type Tone,
} from './family.ts';

export const DOMAIN: Key = { word: 'domain', says: 'its id or name' };

type Domain = ItemOf<'listDomains'> | AnswerOf<'getDomain'>;

const toTone = (status: Domain['status'] | DomainRecord['status']): Tone => {
  if (status === 'verified') return 'good';
  if (status === 'not_started' || status === 'pending') return 'plain';
  return status === 'failed' ? 'bad' : 'attention';
};

const id: Field<Domain> = { name: 'id', label: 'Id', kind: 'id' };
const name: Field<Domain> = { name: 'name', label: 'Name', kind: 'name' };
const status: Field<Domain> = {
  name: 'status',
  label: 'Status',
  kind: 'state',
  tone: (domain) => toTone(domain.status),
};
const region: Field<Domain> = { name: 'region', label: 'Region', kind: 'whole' };
const created: Field<Domain> = { name: 'created_at', label: 'Created', kind: 'time' };
const sending: Field<Domain> = { name: 'capabilities.sending', label: 'Sending', kind: 'state' };
const receiving: Field<Domain> = { name: 'capabilities.receiving', label: 'Receiving', kind: 'state' };
const opens: Field<Domain> = {
  name: 'open_tracking',
  label: 'Open tracking',
  kind: 'state',
  value: (domain) => (domain.open_tracking ? 'on' : 'off'),
};
const clicks: Field<Domain> = {
  name: 'click_tracking',
  label: 'Click tracking',
  kind: 'state',
  value: (domain) => (domain.click_tracking ? 'on' : 'off'),
};

/** Names the key that a record publishes, if it is not the one that signs. */
const formatPurpose = ({ record, key_status: keyStatus }: DomainRecord): string =>
  keyStatus === undefined || keyStatus === 'active' ? record : `${record} (${keyStatus})`;

/** The records of a domain in the form in which a DNS host asks for them; the value comes last, to be copied. */
export const recordColumns: readonly Field<DomainRecord>[] = [
  { name: 'record', label: 'For', kind: 'whole', value: formatPurpose },
  { name: 'status', label: 'Status', kind: 'state', tone: (record) => toTone(record.status) },
  { name: 'type', label: 'Type', kind: 'whole' },
  { name: 'name', label: 'Name', kind: 'whole' },
  { name: 'priority', label: 'Priority', kind: 'number' },
  { name: 'value', label: 'Value', kind: 'long' },
];

/** Records are often published by hand, so each value can be copied. */
const records = declareParts({
  label: 'Records',
  of: (domain: AnswerOf<'getDomain'>) => domain.records,
  columns: [
    ...recordColumns.filter(({ name: column }) => column !== 'value'),
    { name: 'diagnosis', label: 'What is wrong', kind: 'long' },
    { name: 'found', label: 'What is there', kind: 'long', value: (record) => foundIn(record) },
    ...recordColumns.filter(({ name: column }) => column === 'value'),
  ],
  copy: (record) => record.value,
});

function foundIn({ diagnosis, found }: DomainRecord): string {
  if (!diagnosis) return '';
  return [...new Set([...(found?.authoritative ?? []), ...(found?.resolver ?? [])])].join(' | ');
}

function describeRecords({ name: domain, status: state, records: all }: AnswerOf<'getDomain'>): string {
  if (state === 'verified') return `${domain} is verified.`;
  const missing = all.filter((record) => record.status !== 'verified').length;
  return `${domain} is ${state}: ${missing} of ${all.length} records are not verified; open it and press → to see what is wrong with each.`;
}

/** The response contains the progress; a request only contains on or off. */
const toSwitches = ({ sending, receiving }: AnswerOf<'getDomain'>['capabilities']): object => ({
  sending: sending === 'disabled' ? 'disabled' : 'enabled',
  receiving: receiving === 'disabled' || receiving === 'unsupported' ? 'disabled' : 'enabled',
});

export const RETURN_PATH: Flag = {
  value: '<label>',
  says: 'the label of the return path, to which bounces are sent (default: send)',
};

const regenerate = declareAction('regenerateDkim', {
  isShown: true,
  done: 'Replaced the keys of',
  hint: (changed) => ({
    words:
      'Nothing is sent from the domain until the new DKIM record is found. Once it is published, verify the domain with',
    command: ['verifyDomain', changed.name],
  }),
});

const publishAndVerify = ({ name: domain }: { name: string }): Advice => ({
  words: 'Publish its records in DNS; then verify the domain with',
  command: ['verifyDomain', domain],
});

export const domains = withRemaining({
  command: 'domains',
  summary: 'register and verify the domains you send from',
  noun: 'a domain',
  list: declareList('listDomains', {
    columns: [id, name, status, region, created, ...wide(sending, receiving, opens, clicks)],
  }),
  get: declareDetail('getDomain', {
    fields: [
      { ...name, label: 'Domain' },
      id,
      status,
      region,
      sending,
      receiving,
      opens,
      clicks,
      { name: 'tracking_subdomain', label: 'Tracking label' },
      { name: 'tls', label: 'TLS', value: (domain) => tlsInWords(domain) },
      { name: 'tls_verify', label: 'Certificates checked', shown: 'asked' },
      { ...created, shown: 'asked' },
      { name: 'records', label: 'Records', kind: 'body', shown: 'asked' },
    ],
    parts: records,
    hint: (domain) => (domain.status === 'verified' ? undefined : publishAndVerify(domain)),
  }),
  actions: [
    declareAction('createDomain', { isShown: true, done: 'Registered', hint: publishAndVerify }),
    declareAction('updateDomain', {
      current: currentIn('getDomain', (domain) => ({ ...domain, capabilities: toSwitches(domain.capabilities) })),
      hint: ({ id: domain }, { capabilities }) =>
        (capabilities as { receiving?: string } | undefined)?.receiving === 'enabled'
          ? {
              words: 'The domain receives mail once its MX record is published; see it with',
              command: ['getDomain', domain],
            }
          : undefined,
    }),
    declareAction('verifyDomain', { done: 'Checked the records of', seen: seenIn('getDomain', describeRecords) }),
    declareAction('rotateDkim', { done: 'Publish the new records of' }),
    regenerate,
    declareAction('deleteDomain', { done: 'Removed' }),
  ],
});

/** Describes what is checked of the recipients' servers. */
function tlsInWords({ tls, tls_verify: isVerified }: AnswerOf<'getDomain'>): string {
  if (tls === 'opportunistic') return 'opportunistic: if the server offers it';
  return isVerified ? 'enforced, with a certificate valid for the server' : 'enforced, with any certificate';
}
