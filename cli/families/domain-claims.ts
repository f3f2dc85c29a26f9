import type { DomainClaim } from '../../src/contract/index.ts';
import type { Advices } from '../client/index.ts';
import { actionOf, detailOf, type Family, type Tone } from './family.ts';
import { DOMAIN, RETURN_PATH } from './domains.ts';

const BLOCKS: Record<NonNullable<DomainClaim['blocked_reason']>, string> = {
  grace_period: 'its owner verified it less than 72 hours ago',
  recent_owner_activity: 'its owner has sent from it within 24 hours',
  pending_scheduled_emails: 'its owner has mail scheduled from it',
};

const toneOf = (status: DomainClaim['status']): Tone => {
  if (status === 'completed') return 'good';
  return status === 'pending' ? 'plain' : 'bad';
};

/** What a claim is about, with the value to publish whole and last. */
function claimInWords({ name, status, blocked_reason: blocked, failure_reason: why, record }: DomainClaim): string {
  const waits = blocked === null ? [] : [`It waits: ${BLOCKS[blocked]} (${blocked}).`];
  const failed = why === null ? [] : [`Why: ${why}`];
  const seen = record.diagnosis === null ? [] : [record.diagnosis];
  return [
    `${name}: ${status}`,
    ...waits,
    ...failed,
    ...seen,
    '',
    `Publish this ${record.type} record at ${record.name}:`,
    record.value,
  ].join('\n');
}

/** What comes next; nothing where a claim has failed. */
export function nextForClaim({ status, name }: DomainClaim): Advices {
  if (status === 'completed')
    return [
      { words: 'The domain is yours. Publish its records within 72 hours with', command: ['configureDomainDns', name] },
      { words: 'Or by hand; see them with', command: ['getDomain', name] },
    ];
  return status === 'pending' ? { words: 'It is checked again every hour until it ends.' } : undefined;
}

const told = {
  tell: claimInWords,
  hint: nextForClaim,
  copy: ({ record }: DomainClaim) => record.value,
  isShown: true,
} as const;

const verifyClaim = actionOf('verifyDomainClaim', {
  verb: 'claim-verify',
  key: 'm',
  summary: 'check a claim’s TXT record now',
  description:
    'Looks the TXT record up now and moves the domain to your team if nothing blocks it; once a minute for each domain. An open claim is also checked every hour.',
  example: 'domains claim-verify mail.example.com',
  path: { domain_id: DOMAIN },
  ...told,
});

const claim = actionOf('claimDomain', {
  verb: 'claim',
  key: 'a',
  summary: 'take over a domain that another team has verified',
  description:
    'Prints the TXT record that shows that the domain is yours. Run again while the claim is open, it prints the same one. The domain moves once the record is seen (domains claim-verify, or the hourly check) and its owner neither verified it within 72 hours, nor has sent from it within 24 hours, nor has mail scheduled from it. Then publish your own records within 72 hours: domains configure.',
  example: 'domains claim mail.example.com',
  flags: {
    name: { value: '<name>', says: 'the very name that the other team has verified', isWord: true, isRequired: true },
    region: { value: '<region>', says: 'where its mail will leave from' },
    custom_return_path: RETURN_PATH,
  },
  ...told,
});

/** Beside the detail, for who has the domain before them. */
const claimStatus = actionOf('getDomainClaim', {
  verb: 'claim-status',
  key: 'i',
  summary: 'show how far a claim has come',
  example: 'domains claim-status mail.example.com',
  path: { domain_id: DOMAIN },
  ...told,
});

/** Claims are of domains, and are spoken of with them. */
export const domainClaims = {
  command: 'domains',
  summary: 'take over a domain that another team has verified',
  noun: 'a claim',
  get: detailOf('getDomainClaim', {
    verb: 'claim-status',
    summary: 'show how far a claim has come',
    description: 'Shows the latest claim of a domain, without looking anything up.',
    example: 'domains claim-status mail.example.com',
    path: { domain_id: DOMAIN },
    // What is to be published stands last and whole, so that it can be copied.
    fields: [
      { name: 'id', label: 'Claim', kind: 'id' },
      { name: 'status', label: 'Status', kind: 'state', tone: (claim) => toneOf(claim.status) },
      { name: 'domain_id', label: 'Domain', kind: 'id' },
      {
        name: 'expires_at',
        label: 'Ends',
        kind: 'time',
        value: (claim) => (claim.status === 'pending' ? claim.expires_at : null),
      },
      {
        name: 'blocked_reason',
        label: 'Waits',
        value: ({ blocked_reason: blocked }) => blocked && `${BLOCKS[blocked]} (${blocked})`,
      },
      { name: 'failure_reason', label: 'Why' },
      { name: 'record.diagnosis', label: 'Record' },
      { name: 'created_at', label: 'Created', kind: 'time', shown: 'asked' },
      { name: 'region', label: 'Region', shown: 'asked' },
      { name: 'record', label: 'Record', shown: 'asked' },
      { name: 'name', label: 'Name' },
      { name: 'record.type', label: 'Type' },
      { name: 'record.value', label: 'Value', kind: 'long' },
    ],
  }),
  actions: [claim, claimStatus, verifyClaim],
} satisfies Family;
