import type { DomainRecord } from '../../src/contract/index.ts';
import type { Advice, AnswerOf } from '../client/index.ts';
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
  type Flag,
  type ItemOf,
  type Key,
  type Tone,
} from './family.ts';

export const DOMAIN: Key = { word: 'domain', says: 'its id or name' };

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
  { name: 'priority', label: 'Priority', kind: 'number' },
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

export const RETURN_PATH: Flag = {
  value: '<label>',
  says: 'the label of the records to which bounces come back (default: send)',
};

const SWITCH = ['enabled', 'disabled'];

/** The same when it is registered and later. */
const settings = {
  open_tracking: { says: 'count opens', no: 'do not count opens', isBoolean: true },
  click_tracking: { says: 'count clicks', no: 'do not count clicks', isBoolean: true },
  tracking_subdomain: { value: '<label>', says: 'the label under which tracked links are served' },
  tls: {
    value: '<mode>',
    says: 'opportunistic, or enforced: no delivery to a server without TLS, whatever its certificate',
    choices: ['opportunistic', 'enforced'],
  },
  tls_verify: {
    says: 'with enforced: only to servers whose certificate is valid for their name',
    no: 'with enforced: any certificate will do',
    isBoolean: true,
  },
  'capabilities.sending': { flag: 'sending', value: '<state>', says: 'enabled or disabled', choices: SWITCH },
  'capabilities.receiving': { flag: 'receiving', value: '<state>', says: 'enabled or disabled', choices: SWITCH },
} as const satisfies Readonly<Record<string, Flag>>;

/** What most do without at first. */
const laterSettings = Object.fromEntries(
  Object.entries(settings).map(([field, flag]) => [field, { ...flag, isMore: true }]),
) as Record<keyof typeof settings, Flag>;

const regenerate = actionOf('regenerateDkim', {
  verb: 'regenerate',
  key: 'e',
  summary: 'replace the DKIM keys at once, for a key in wrong hands',
  description:
    'Takes every DKIM key of the domain out of use at once and makes new ones. Nothing is sent from it until the new record is seen; mail that waits is held. The verb rotate replaces keys without a gap.',
  example: 'domains regenerate mail.example.com --key-bits 2048',
  path: { domain_id: DOMAIN },
  flags: {
    key_bits: {
      value: '<n>',
      says: '2048, or 1024 where the DNS host takes no longer record',
      isNumber: true,
      isRequired: true,
      preset: 2048,
    },
  },
  isShown: true,
  done: 'Replaced the keys of',
  hint: (changed) => ({
    words: 'Nothing is sent from it until the new DKIM record is seen. Once it is published, look it up with',
    command: ['verifyDomain', changed.name],
  }),
  destroys: {
    says: 'take every DKIM key of the domain out of use at once; nothing is sent from it until the new record is seen',
    name: nameIn('getDomain', (domain) => domain.name),
  },
});

const publishAndVerify = ({ name: domain }: { name: string }): Advice => ({
  words: 'Publish its records in its DNS; then look them up with',
  command: ['verifyDomain', domain],
});

export const domains = {
  command: 'domains',
  summary: 'register and verify the domains you send from',
  noun: 'a domain',
  list: listOf('listDomains', {
    summary: 'list domains, newest first',
    example: 'domains list',
    columns: [id, name, status, region, created, ...wide(sending, receiving, opens, clicks)],
    empty: 'There are no domains yet.',
  }),
  get: detailOf('getDomain', {
    summary: 'show a domain and its DNS records',
    example: 'domains get mail.example.com',
    path: { domain_id: DOMAIN },
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
    actionOf('createDomain', {
      verb: 'create',
      key: 'c',
      summary: 'register a domain and print the DNS records to publish',
      example: 'domains create mail.example.com',
      flags: {
        name: {
          value: '<name>',
          says: 'the domain name; a subdomain keeps the reputation of your main domain apart',
          isWord: true,
          isRequired: true,
        },
        region: { value: '<region>', says: 'where its mail leaves from' },
        custom_return_path: { ...RETURN_PATH, isMore: true },
        ...laterSettings,
      },
      isShown: true,
      done: 'Registered',
      hint: publishAndVerify,
    }),
    actionOf('updateDomain', {
      verb: 'update',
      key: 'u',
      summary: 'change a domain’s settings',
      description:
        'Changes the settings that are named and leaves the others as they are. Receiving is turned on with --receiving enabled.',
      example: 'domains update mail.example.com --tls enforced --no-open-tracking',
      path: { domain_id: DOMAIN },
      flags: {
        ...settings,
        confirm_replace_mx: {
          says: 'let the mail of the name come here although its MX delivers elsewhere today',
          isBoolean: true,
        },
      },
      current: currentIn('getDomain', (domain) => ({ ...domain, capabilities: switchesOf(domain.capabilities) })),
      done: 'Changed',
      hint: ({ id: domain }, { capabilities }) =>
        (capabilities as { receiving?: string } | undefined)?.receiving === 'enabled'
          ? { words: 'Mail comes in once its MX record is published; see it with', command: ['getDomain', domain] }
          : undefined,
    }),
    actionOf('verifyDomain', {
      verb: 'verify',
      key: 'v',
      summary: 'check the DNS records now',
      description: 'Looks the DNS records up now and shows what was found; once a minute for each domain.',
      example: 'domains verify mail.example.com',
      path: { domain_id: DOMAIN },
      done: 'Looked up the records of',
      seen: seenIn('getDomain', tellRecords),
    }),
    actionOf('rotateDkim', {
      verb: 'rotate',
      key: 'o',
      summary: 'replace the DKIM keys without a gap',
      description: 'Makes new DKIM keys. The old ones sign until the new records are seen.',
      example: 'domains rotate mail.example.com',
      path: { domain_id: DOMAIN },
      done: 'Publish the new records of',
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
