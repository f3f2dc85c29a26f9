import type { DomainClaim } from '../../src/contract/index.ts';
import type { Advices } from '../client/index.ts';
import { declareAction, declareDetail, type Family, type Tone } from './family.ts';

const BLOCKS: Record<NonNullable<DomainClaim['blocked_reason']>, string> = {
  grace_period: 'the current owner verified the domain less than 72 hours ago',
  recent_owner_activity: 'the current owner has sent from the domain within the last 24 hours',
  pending_scheduled_emails: 'the current owner has scheduled mail from the domain',
};

const toTone = (status: DomainClaim['status']): Tone => {
  if (status === 'completed') return 'good';
  return status === 'pending' ? 'plain' : 'bad';
};

/** Describes a claim, with the value to publish whole and last. */
function claimInWords({ name, status, blocked_reason: blocked, failure_reason: why, record }: DomainClaim): string {
  const waits = blocked === null ? [] : [`The claim is blocked: ${BLOCKS[blocked]} (${blocked}).`];
  const failed = why === null ? [] : [`Reason: ${why}`];
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

/** Returns the next step; none if a claim has failed. */
export function nextForClaim({ status, name }: DomainClaim): Advices {
  if (status === 'completed')
    return [
      { words: 'The domain is yours. Publish its records within 72 hours with', command: ['configureDomainDns', name] },
      { words: 'To publish them by hand, see them with', command: ['getDomain', name] },
    ];
  return status === 'pending' ? { words: 'The server checks the claim every hour until it ends.' } : undefined;
}

const told = {
  tell: claimInWords,
  hint: nextForClaim,
  copy: ({ record }: DomainClaim) => record.value,
  isShown: true,
} as const;

const verifyClaim = declareAction('verifyDomainClaim', { ...told });

const claim = declareAction('claimDomain', { ...told });

/** In addition to the detail: an action for a domain that is already on the screen. */
const claimStatus = declareAction('getDomainClaim', { ...told });

/** Claims are of domains, and are spoken of with them. */
export const domainClaims = {
  command: 'domains',
  summary: 'take over a domain that another team has verified',
  noun: 'a claim',
  get: declareDetail('getDomainClaim', {
    // The value to publish comes last and whole, so that it can be copied.
    fields: [
      { name: 'id', label: 'Claim', kind: 'id' },
      { name: 'status', label: 'Status', kind: 'state', tone: (claim) => toTone(claim.status) },
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
