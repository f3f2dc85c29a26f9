import type { DomainRecord } from '../../src/contract/index.ts';
import type { Advice } from '../client/index.ts';
import {
  buildFields,
  readIn,
  declareAction,
  declareDetail,
  declareList,
  declareParts,
  seenIn,
  withRemaining,
} from './family.ts';
import type { AnswerOf, Field, Fields, FieldsOf, ItemIn, Tone } from './family.ts';

type Domain = ItemIn<'listDomains' | 'getDomain'>;

const toTone = (status: Domain['status'] | DomainRecord['status']): Tone => {
  if (status === 'verified') return 'good';
  if (status === 'not_started' || status === 'pending') return 'plain';
  return status === 'failed' ? 'bad' : 'attention';
};

const fields: FieldsOf<'listDomains' | 'getDomain'> = {
  status: { tone: ({ status }) => toTone(status) },
  'capabilities.sending': { kind: 'state' },
  'capabilities.receiving': { kind: 'state' },
  open_tracking: { kind: 'state', either: ['on', 'off'] },
  click_tracking: { kind: 'state', either: ['on', 'off'] },
};
const switches = ['capabilities.sending', 'capabilities.receiving', 'open_tracking', 'click_tracking'] as const;

/** Names the key that a record publishes, if it is not the one that signs. */
const formatPurpose = ({ record, key_status: keyStatus }: DomainRecord): string =>
  keyStatus === undefined || keyStatus === 'active' ? record : `${record} (${keyStatus})`;

/** The value of a record comes last, to be copied. */
const recordFields: Fields<DomainRecord> = {
  record: { label: 'For', kind: 'whole', value: formatPurpose },
  status: { tone: ({ status }) => toTone(status) },
  type: { kind: 'whole' },
  name: { kind: 'whole' },
  priority: { kind: 'number' },
  diagnosis: 'What is wrong',
  found: { label: 'What is there', kind: 'long', value: foundIn },
};

/** The records of a domain in the form in which a DNS host asks for them. */
export const recordColumns: readonly Field<DomainRecord>[] = buildFields<DomainRecord>({
  fields: recordFields,
  columns: ['record', 'status', 'type', 'name', 'priority', 'value'],
});

function foundIn({ diagnosis, found }: DomainRecord): string {
  if (!diagnosis) return '';
  return [...new Set([...(found?.authoritative ?? []), ...(found?.resolver ?? [])])].join(' | ');
}

function describeRecords(checked: AnswerOf<'getDomain'>): string {
  const { name: domain, status: state, records: all } = checked;
  const logo = bimiInWords(checked);
  const after = logo === '' ? '' : ` BIMI: ${logo}`;
  if (state === 'verified') return `${domain} is verified.${after}`;
  const missing = all.filter((record) => record.status !== 'verified').length;
  return `${domain} is ${state}: ${missing} of ${all.length} records are not verified; open it and press → to see what is wrong with each.${after}`;
}

/** The response contains the progress; a request only contains on or off. */
const toSwitches = ({ sending, receiving }: AnswerOf<'getDomain'>['capabilities']): object => ({
  sending: sending === 'disabled' ? 'disabled' : 'enabled',
  receiving: receiving === 'disabled' || receiving === 'unsupported' ? 'disabled' : 'enabled',
});

const publishAndVerify = ({ name: domain }: { name: string }): Advice => ({
  words: 'Publish its records in DNS; then verify the domain with',
  command: ['verifyDomain', domain],
});

export const domains = withRemaining({
  summary: 'register and verify the domains you send from',
  list: declareList('listDomains', {
    fields,
    columns: ['id', 'name', 'status', 'region', 'created_at'],
    wide: switches,
  }),
  get: declareDetail('getDomain', {
    fields: {
      ...fields,
      name: 'Domain',
      tracking_subdomain: 'Tracking label',
      tls: { value: tlsInWords },
      tls_verify: 'Certificates checked',
      mta_sts: { label: 'MTA-STS', value: stsInWords },
      bimi: { label: 'BIMI', value: bimiInWords },
      records: { kind: 'body' },
    },
    columns: ['name', 'id', 'status', 'region', ...switches, 'tracking_subdomain', 'tls', 'mta_sts', 'bimi'],
    asked: ['tls_verify', 'created_at', 'records'],
    // Records are often published by hand, so each value can be copied.
    parts: declareParts({
      label: 'Records',
      of: (domain: AnswerOf<'getDomain'>) => domain.records,
      fields: recordFields,
      columns: ['record', 'status', 'type', 'name', 'priority', 'diagnosis', 'found', 'value'],
      copy: (record) => record.value,
    }),
    hint: (domain) => (domain.status === 'verified' ? undefined : publishAndVerify(domain)),
  }),
  actions: [
    declareAction('createDomain', { isShown: true, done: 'Registered', hint: publishAndVerify }),
    declareAction('updateDomain', {
      current: readIn('getDomain', (domain) => ({ ...domain, capabilities: toSwitches(domain.capabilities) })),
      hint: ({ id: domain, mta_sts_ends_at: endsAt }, { capabilities, mta_sts: mode }) => {
        if (endsAt !== undefined) {
          return {
            words: `Senders may apply the MTA-STS policy until ${endsAt}. Publish the new value of its TXT record, and keep its two records until then; see them with`,
            command: ['getDomain', domain],
          };
        }
        if ((capabilities as { receiving?: string } | undefined)?.receiving === 'enabled') {
          return {
            words: 'The domain receives mail once its MX record is published; see it with',
            command: ['getDomain', domain],
          };
        }
        return mode === 'testing' || mode === 'enforce'
          ? {
              words: 'The policy counts once its MTA-STS records are published; see them with',
              command: ['getDomain', domain],
            }
          : undefined;
      },
    }),
    declareAction('verifyDomain', { done: 'Checked the records of', seen: seenIn('getDomain', describeRecords) }),
    declareAction('rotateDkim', { done: 'Publish the new records of' }),
    declareAction('regenerateDkim', {
      isShown: true,
      done: 'Replaced the keys of',
      hint: (changed) => ({
        words:
          'Nothing is sent from the domain until the new DKIM record is found. Once it is published, verify the domain with',
        command: ['verifyDomain', changed.name],
      }),
    }),
    declareAction('deleteDomain', {
      done: 'Removed',
      hint: ({ mta_sts_ends_at: endsAt, records = [] }) =>
        endsAt === undefined ? undefined : keepRecords(endsAt, records),
    }),
  ],
});

/** The domain is gone, so that no command shows its records any more. */
const keepRecords = (endsAt: string, records: readonly DomainRecord[]): Advice => ({
  words: `Senders may apply the MTA-STS policy until ${endsAt}. Publish the new value of its TXT record, and keep both records until then: ${records.map(({ type, name, value }) => `${name} ${type} ${value}`).join(', and ')}`,
});

function stsInWords({ mta_sts: mode, mta_sts_ends_at: endsAt }: AnswerOf<'getDomain'>): string {
  if (mode === 'testing') return 'testing: senders report failures and deliver anyway';
  if (mode === 'enforce') return 'enforce: senders deliver over verified TLS only';
  return endsAt === undefined ? 'off' : `off; keep its records until ${endsAt}`;
}

/** Says nothing about a domain without a logo: few have one. */
function bimiInWords({ bimi }: AnswerOf<'getDomain'>): string {
  if (!bimi) return '';
  return bimi.diagnosis ?? `published at ${bimi.name}.`;
}

/** Describes what is checked of the recipients' servers. */
function tlsInWords({ tls, tls_verify: isVerified }: AnswerOf<'getDomain'>): string {
  if (tls === 'opportunistic') return 'opportunistic: if the server offers it';
  return isVerified ? 'enforced, with a certificate valid for the server' : 'enforced, with any certificate';
}
