import type { Verdict } from '../../protocol/dns-diagnosis/index.ts';
import type { DomainRow, DomainStatus, RecordRow, RecordStatus } from './domain-rows.ts';
import { refuse } from '../../platform/refusal.ts';
import type { Store } from '../../platform/store.ts';

/** How far one capability, sending or receiving, has come. */
export interface Standing {
  verifiedAt: number | null;
  /** Verified: when a record was first seen absent or wrong. Not verified: when it was given up. */
  failingSince: number | null;
  /** Since when its records are waited for. */
  waitingSince: number | null;
}

interface Patience {
  /** How long a verified capability lives on without its records. */
  graceMs: number;
}

/** Unpublished records are waited for this long before the domain counts as failed. */
const WAIT_MS = 72 * 3_600_000;

export function standingAfter(
  before: Standing,
  verdicts: readonly Verdict[],
  now: number,
  { graceMs }: Patience,
): Standing {
  const waitingSince = before.waitingSince ?? now;
  if (verdicts.length > 0 && verdicts.every((verdict) => verdict === 'right')) {
    return { verifiedAt: before.verifiedAt ?? now, failingSince: null, waitingSince };
  }
  const isContradicted = verdicts.some((verdict) => verdict === 'absent' || verdict === 'wrong');
  if (before.verifiedAt === null) {
    // Failed means that we no longer wait; records that turn up late still verify it.
    const isOver = before.failingSince !== null || now - waitingSince >= WAIT_MS;
    return { verifiedAt: null, failingSince: isOver ? (before.failingSince ?? now) : null, waitingSince };
  }
  // No server could say anything about what was right: it stays as it is until one says otherwise.
  if (!isContradicted) return { ...before, waitingSince };
  const failingSince = before.failingSince ?? now;
  // An absence that a name server remembers, or a slip that is mended the same day, takes nothing down.
  const isOver = now - failingSince >= graceMs;
  return { verifiedAt: isOver ? null : before.verifiedAt, failingSince, waitingSince };
}

/** When a capability was lost that there was; never having had it is no loss. */
export function lostAtAfter(before: Standing, after: Standing, lostAt: number | null, now: number): number | null {
  if (after.verifiedAt !== null) return null;
  return before.verifiedAt === null ? lostAt : now;
}

/**
 * A name becomes a team's with its verification, and stays so for as long as its records are waited for, whatever they are
 * waited for: a lost key must not give the name away with it.
 */
export function ownedSinceAfter({ held_at: ownedSince }: DomainRow, after: Standing, now: number): number | null {
  if (after.verifiedAt !== null) return ownedSince ?? now;
  return after.failingSince === null ? ownedSince : null;
}

export const sendingStanding = (domain: DomainRow): Standing => ({
  verifiedAt: domain.verified_at,
  failingSince: domain.failing_since,
  waitingSince: domain.first_checked_at,
});

export const receivingStanding = (domain: DomainRow): Standing => ({
  verifiedAt: domain.receiving_verified_at,
  failingSince: domain.receiving_failing_since,
  waitingSince: domain.receiving_since,
});

type Progress = 'pending' | 'verified' | 'failed';

function progressOf({ verifiedAt, failingSince }: Standing): Progress {
  if (verifiedAt !== null) return 'verified';
  return failingSince === null ? 'pending' : 'failed';
}

export function statusOf(domain: DomainRow): DomainStatus {
  if (domain.checked_at === null) return 'not_started';
  const sending = progressOf(sendingStanding(domain));
  if (domain.receiving !== 'enabled') return sending;
  const receiving = progressOf(receivingStanding(domain));
  if (sending === receiving) return sending;
  // Without one that works there is nothing partial about it, and sending is what a domain is for.
  if (sending !== 'verified' && receiving !== 'verified') return sending;
  return sending === 'failed' || receiving === 'failed' ? 'partially_failed' : 'partially_verified';
}

/** What the team is told of one record, given how the capability stands that it belongs to. */
export function recordStatusAfter(domain: DomainRow, record: RecordRow, verdict: Verdict): RecordStatus {
  if (verdict === 'right') return 'verified';
  if (verdict === 'unknown') return record.status === 'verified' ? 'verified' : 'temporary_failure';
  const standing = standingFor(domain, record);
  if (!standing) return withoutCapability(record, verdict);
  const progress = progressOf(standing);
  if (progress === 'verified') return 'temporary_failure';
  return progress === 'failed' || verdict === 'wrong' ? 'failed' : 'pending';
}

/** Such a record decides nothing; it is waited for until it has been there once. */
function withoutCapability(record: RecordRow, verdict: Verdict): RecordStatus {
  // An old key's record may be taken away.
  if (record.key_status === 'retiring') return 'pending';
  if (verdict === 'wrong') return 'failed';
  return record.status === 'verified' || record.status === 'failed' ? 'failed' : 'pending';
}

function standingFor(domain: DomainRow, record: RecordRow): Standing | undefined {
  if (isForSending(record)) return sendingStanding(domain);
  return isForReceiving(record) ? receivingStanding(domain) : undefined;
}

export const isForSending = ({ record, required }: RecordRow): boolean =>
  required === 1 && (record === 'DKIM' || record === 'SPF');
export const isForReceiving = ({ record }: RecordRow): boolean => record === 'Receiving';

/** Whether mail may be sent from it now: DNS bears it out, and the team has not switched it off. */
export const maySend = (domain: DomainRow): boolean => domain.verified_at !== null && domain.sending === 'enabled';

/** Whether DNS decides over domains. In the development profile it does not: nothing leaves the machine. */
export const isDnsAsked = ({ config }: Pick<Store, 'config'>): boolean =>
  config.profile !== 'development' || !config.delivery.capture;

/** In the development profile a verified domain is not required: its own one has no DNS, and nothing leaves the machine. */
export const isVerifiedWithoutDns = (store: Store, { verified_at: at }: Pick<DomainRow, 'verified_at'>): boolean =>
  store.config.delivery.capture && at !== null;

/** A domain that does neither is for nothing. `named` is the capability that the caller asked to switch. */
export function mustBeOfUse(domain: Pick<DomainRow, 'sending' | 'receiving'>, named: 'sending' | 'receiving'): void {
  if (domain.sending === 'enabled' || domain.receiving === 'enabled') return;
  const message =
    named === 'sending'
      ? 'capabilities.sending cannot be disabled while receiving is not enabled: the domain would be for nothing; delete it instead.'
      : 'capabilities.receiving cannot be disabled while sending is disabled: the domain would be for nothing; delete it instead.';
  throw refuse('validation_error', { status: 422, say: message, errors: [{ path: `capabilities.${named}`, message }] });
}
