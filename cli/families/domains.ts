import type { DomainRecord } from '../../src/contract/index.ts';
import type { AnswerOf } from '../client/index.ts';
import {
  actionOf,
  currentIn,
  detailOf,
  listOf,
  nameIn,
  partsOf,
  seenIn,
  wide,
  type Family,
  type Field,
  type ItemOf,
  type Key,
  type Tone,
} from './family.ts';

export const DOMAIN: Key = { word: 'domain', says: 'its id or name', named: { list: 'listDomains', field: 'name' } };

type Domain = ItemOf<'listDomains'> | AnswerOf<'getDomain'>;

const toneOf = (status: Domain['status'] | DomainRecord['status']): Tone => {
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
  tone: (domain) => toneOf(domain.status),
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

/** Which of a domain's keys a record publishes, where it is not the one that signs. */
const purposeOf = ({ record, key_status: keyStatus }: DomainRecord): string =>
  keyStatus === undefined || keyStatus === 'active' ? record : `${record} (${keyStatus})`;

/** The records of a domain in the form in which a DNS host asks for them; the value stands last, to be copied. */
export const recordColumns: readonly Field<DomainRecord>[] = [
  { name: 'record', label: 'For', kind: 'whole', value: purposeOf },
  { name: 'status', label: 'Status', kind: 'state', tone: (record) => toneOf(record.status) },
  { name: 'type', label: 'Type', kind: 'whole' },
  { name: 'name', label: 'Name', kind: 'whole' },
  { name: 'priority', label: 'Priority', kind: 'whole' },
  { name: 'value', label: 'Value', kind: 'long' },
];

/** They are published by hand as often as not: each value is there to be copied. */
const records = partsOf({
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

function tellRecords({ name: domain, status: state, records: all }: AnswerOf<'getDomain'>): string {
  if (state === 'verified') return `${domain} is verified.`;
  const missing = all.filter((record) => record.status !== 'verified').length;
  return `${domain} is ${state}: ${missing} of ${all.length} records are not verified; open it, → shows what is wrong with each.`;
}

/** The answer says how far they have come; what is asked for is on or off. */
const switchesOf = ({ sending, receiving }: AnswerOf<'getDomain'>['capabilities']): object => ({
  sending: sending === 'disabled' ? 'disabled' : 'enabled',
  receiving: receiving === 'disabled' || receiving === 'unsupported' ? 'disabled' : 'enabled',
});

export const regenerate = actionOf('regenerateDkim', {
  verb: 'regenerate',
  summary: 'replace the DKIM keys at once, for a key in wrong hands',
  description:
    'Takes every DKIM key of the domain out of use at once and makes new ones. Nothing is sent from it until the new record is seen; mail that waits is held. To replace keys without a gap: rasket domains rotate.',
  example: 'domains regenerate mail.example.com --key-bits 2048',
  path: { domain_id: DOMAIN },
  flags: {
    key_bits: {
      value: '<n>',
      says: '2048, or 1024 for a host that takes no longer record',
      isNumber: true,
      isRequired: true,
    },
  },
  done: 'Replaced the keys of',
  destroys: {
    says: 'take every DKIM key of the domain out of use at once; nothing is sent from it until the new record is seen',
    name: nameIn('getDomain', (domain) => domain.name),
  },
  isSpecial: true,
});

export const domains = {
  command: 'domains',
  summary: 'register and verify the domains you send from',
  noun: 'a domain',
  list: listOf('listDomains', {
    summary: 'list domains, newest first',
    example: 'domains list',
    columns: [...[id, name, status, region, created], ...wide(sending, receiving, opens, clicks)],
    empty: 'There are no domains yet.',
  }),
  get: detailOf('getDomain', {
    summary: 'show a domain and its DNS records',
    example: 'domains get mail.example.com',
    path: { domain_id: DOMAIN },
    fields: [
      { ...name, label: 'Domain' },
      ...[id, status, region, sending, receiving, opens, clicks],
      { name: 'tracking_subdomain', label: 'Tracking label' },
      { name: 'tls', label: 'TLS', value: (domain) => tlsInWords(domain) },
      { name: 'tls_verify', label: 'Certificates checked', shown: 'asked' },
      { ...created, shown: 'asked' },
      { name: 'records', label: 'Records', kind: 'body', shown: 'asked' },
    ],
    parts: records,
  }),
  actions: [
    actionOf('createDomain', {
      verb: 'create',
      summary: 'register a domain',
      example: 'domains create mail.example.com',
      flags: {
        name: {
          value: '<name>',
          says: 'the domain name; a subdomain keeps the reputation of your main domain apart',
          isRequired: true,
        },
        region: { value: '<region>', says: 'where its mail leaves from' },
      },
      done: 'Registered',
      isSpecial: true,
    }),
    actionOf('updateDomain', {
      verb: 'update',
      summary: 'change the settings of a domain',
      example: 'domains update mail.example.com --tls enforced',
      path: { domain_id: DOMAIN },
      flags: {
        open_tracking: { value: '<true|false>', says: 'true or false: count opens', isBoolean: true },
        click_tracking: { value: '<true|false>', says: 'true or false: count followed links', isBoolean: true },
        tracking_subdomain: { value: '<label>', says: 'the label under which pixels and links are served' },
        tls: {
          value: '<mode>',
          says: 'opportunistic, or enforced: to no server without TLS',
          choices: ['opportunistic', 'enforced'],
        },
        tls_verify: { value: '<true|false>', says: 'true or false: the certificate has to be valid', isBoolean: true },
        'capabilities.sending': {
          flag: 'sending',
          value: '<state>',
          says: 'enabled or disabled: mail is sent from it',
          choices: ['enabled', 'disabled'],
        },
        'capabilities.receiving': {
          flag: 'receiving',
          value: '<state>',
          says: 'enabled or disabled: mail is received for it',
          choices: ['enabled', 'disabled'],
        },
        confirm_replace_mx: {
          value: '<true|false>',
          says: 'true: receive although other mail servers have its MX records',
          isBoolean: true,
        },
      },
      current: currentIn('getDomain', (domain) => ({ ...domain, capabilities: switchesOf(domain.capabilities) })),
      done: 'Changed',
      isSpecial: true,
    }),
    actionOf('verifyDomain', {
      verb: 'verify',
      summary: 'look the DNS records up now',
      example: 'domains verify mail.example.com',
      path: { domain_id: DOMAIN },
      done: 'Looked up the records of',
      seen: seenIn('getDomain', tellRecords),
      isSpecial: true,
    }),
    actionOf('rotateDkim', {
      verb: 'rotate',
      summary: 'replace the DKIM keys without a gap',
      description: 'Makes new DKIM keys. The old ones sign until the new records are seen.',
      example: 'domains rotate mail.example.com',
      path: { domain_id: DOMAIN },
      done: 'Publish the new records of',
      isSpecial: true,
    }),
    regenerate,
    actionOf('deleteDomain', {
      verb: 'delete',
      key: 'd',
      summary: 'remove a domain',
      description:
        'Removes a domain. Sent emails are kept; scheduled mail from it fails, and keys pinned to it can no longer send.',
      example: 'domains delete mail.example.com',
      path: { domain_id: DOMAIN },
      done: 'Removed',
      destroys: {
        says: 'remove the domain; scheduled mail from it fails, and keys pinned to it can no longer send',
        name: nameIn('getDomain', (domain) => domain.name),
      },
    }),
  ],
} satisfies Family;

/** What is checked of the recipients' servers. */
function tlsInWords({ tls, tls_verify: isVerified }: AnswerOf<'getDomain'>): string {
  if (tls === 'opportunistic') return 'opportunistic: where the server offers it';
  return isVerified ? 'enforced, with a certificate valid for the server' : 'enforced, with any certificate';
}
