import type { DomainClaim } from '../../../src/contract/index.ts';
import { formatPairs } from '../../output/index.ts';
import type { Session } from '../declare.ts';

const BLOCKS: Record<NonNullable<DomainClaim['blocked_reason']>, string> = {
  grace_period: 'its owner verified it less than 72 hours ago',
  recent_owner_activity: 'its owner has sent from it within 24 hours',
  pending_scheduled_emails: 'its owner has mail scheduled from it',
};

/** What is to be published stands last and whole, so that it can be copied. */
export function printClaim({ terminal }: Session, claim: DomainClaim): void {
  const { record, blocked_reason: blocked } = claim;
  const pairs: [string, string][] = [
    ['Claim', claim.id],
    ['Status', claim.status],
    ['Domain', claim.domain_id ?? ''],
    ...(claim.status === 'pending' ? [['Ends', claim.expires_at] as [string, string]] : []),
    ...(blocked === null ? [] : [['Waits', `${BLOCKS[blocked]} (${blocked})`] as [string, string]]),
    ...(claim.failure_reason === null ? [] : [['Why', claim.failure_reason] as [string, string]]),
    ...(record.diagnosis === null ? [] : [['Record', record.diagnosis] as [string, string]]),
    ['Name', record.name],
    ['Type', record.type],
    ['Value', record.value],
  ];
  terminal.print(formatPairs(terminal, pairs));
}

export function hintNext({ terminal }: Session, claim: DomainClaim): void {
  if (claim.status === 'completed') {
    terminal.hint(
      `\nThe domain is yours. Publish its records within 72 hours: rasket domains configure ${claim.name}, or by hand: rasket domains get ${claim.name}`,
    );
  } else if (claim.status === 'pending') {
    terminal.hint('\nIt is checked again every hour until it ends.');
  }
}
