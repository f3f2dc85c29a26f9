import type { DomainClaim } from '../../src/contract/index.ts';
import type { Advices } from '../client/index.ts';
import { declareAction, declareDetail, declareFamily } from './family.ts';

const BLOCKS: Record<NonNullable<DomainClaim['blocked_reason']>, string> = {
  grace_period: 'the current owner verified the domain less than 72 hours ago',
  recent_owner_activity: 'the current owner has sent from the domain within the last 24 hours',
  pending_scheduled_emails: 'the current owner has scheduled mail from the domain',
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
  describe: claimInWords,
  hint: nextForClaim,
  copy: ({ record }: DomainClaim) => record.value,
  isShown: true,
} as const;

/** Claims are of domains, and are spoken of with them. */
export const domainClaims = declareFamily({
  summary: 'take over a domain that another team has verified',
  noun: 'a claim',
  get: declareDetail('getDomainClaim', {
    fields: {
      id: 'Claim',
      status: { tone: ({ status }) => (status === 'completed' ? 'good' : status === 'pending' ? 'plain' : 'bad') },
      expires_at: { label: 'Ends', value: (claim) => (claim.status === 'pending' ? claim.expires_at : null) },
      blocked_reason: {
        label: 'Waits',
        value: ({ blocked_reason: blocked }) => blocked && `${BLOCKS[blocked]} (${blocked})`,
      },
      failure_reason: 'Why',
      'record.diagnosis': { label: 'Record', kind: 'text' },
      created_at: { shown: 'asked' },
      region: { kind: 'text', shown: 'asked' },
      record: { shown: 'asked' },
      name: { kind: 'text' },
    },
    // The value to publish comes last and whole, so that it can be copied.
    columns: [
      'id',
      'status',
      'domain_id',
      'expires_at',
      'blocked_reason',
      'failure_reason',
      'record.diagnosis',
      'created_at',
      'region',
      'record',
      'name',
      'record.type',
      'record.value',
    ],
  }),
  actions: [
    declareAction('claimDomain', told),
    // In addition to the detail: an action for a domain that is already on the screen.
    declareAction('getDomainClaim', told),
    declareAction('verifyDomainClaim', told),
  ],
});
