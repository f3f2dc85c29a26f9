import type { Verdict } from '../../protocol/dns-diagnosis/index.ts';
import type { DomainRow, DomainStatus, RecordRow, RecordStatus } from './domain-rows.ts';
import { refuse } from '../../platform/refusal.ts';
import type { Store } from '../../platform/store.ts';

/** The verification state of one capability, sending or receiving. */
export interface VerificationState {
  verifiedAt: number | null;
  /** Verified: when a record was first seen absent or wrong. Not verified: when it was given up. */
  failingSince: number | null;
  /** Start of the wait for its records. */
  waitingSince: number | null;
}

interface Patience {
  /** Time for which a verified capability survives without its records. */
  graceMs: number;
}

/** Unpublished records are waited for this long before the domain counts as failed. */
const WAIT_MS = 72 * 3_600_000;

export function nextState(
  before: VerificationState,
  verdicts: readonly Verdict[],
  now: number,
  { graceMs }: Patience,
): VerificationState {
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
  // No server contradicted it: the state stays as it is until one does.
  if (!isContradicted) return { ...before, waitingSince };
  const failingSince = before.failingSince ?? now;
  // A negative result that a name server caches, or a mistake that is fixed the same day, disables nothing.
  const isOver = now - failingSince >= graceMs;
  return { verifiedAt: isOver ? null : before.verifiedAt, failingSince, waitingSince };
}

/** Returns when a verified capability was lost; one that was never verified cannot be lost. */
export function lostAtAfter(
  before: VerificationState,
  after: VerificationState,
  lostAt: number | null,
  now: number,
): number | null {
  if (after.verifiedAt !== null) return null;
  return before.verifiedAt === null ? lostAt : now;
}

/**
 * Returns since when a team owns a name. It owns the name from its verification, and for as long as records are waited
 * for, for whatever reason: a lost key must not give the name away as well.
 */
export function ownedSinceAfter(
  { held_at: ownedSince }: DomainRow,
  after: VerificationState,
  now: number,
): number | null {
  if (after.verifiedAt !== null) return ownedSince ?? now;
  return after.failingSince === null ? ownedSince : null;
}

export const readSendingState = (domain: DomainRow): VerificationState => ({
  verifiedAt: domain.verified_at,
  failingSince: domain.failing_since,
  waitingSince: domain.first_checked_at,
});

export const readReceivingState = (domain: DomainRow): VerificationState => ({
  verifiedAt: domain.receiving_verified_at,
  failingSince: domain.receiving_failing_since,
  waitingSince: domain.receiving_since,
});

type Progress = 'pending' | 'verified' | 'failed';

function deriveProgress({ verifiedAt, failingSince }: VerificationState): Progress {
  if (verifiedAt !== null) return 'verified';
  return failingSince === null ? 'pending' : 'failed';
}

export function deriveDomainStatus(domain: DomainRow): DomainStatus {
  if (domain.checked_at === null) return 'not_started';
  const sending = deriveProgress(readSendingState(domain));
  if (domain.receiving !== 'enabled') return sending;
  const receiving = deriveProgress(readReceivingState(domain));
  if (sending === receiving) return sending;
  // With neither verified the state is not partial, and sending is the main purpose of a domain.
  if (sending !== 'verified' && receiving !== 'verified') return sending;
  return sending === 'failed' || receiving === 'failed' ? 'partially_failed' : 'partially_verified';
}

/** Returns the status of one record that the team sees, given the state of the capability that it belongs to. */
export function recordStatusAfter(domain: DomainRow, record: RecordRow, verdict: Verdict): RecordStatus {
  if (verdict === 'right') return 'verified';
  if (verdict === 'unknown') return record.status === 'verified' ? 'verified' : 'temporary_failure';
  const state = stateFor(domain, record);
  if (!state) return withoutCapability(record, verdict);
  const progress = deriveProgress(state);
  if (progress === 'verified') return 'temporary_failure';
  return progress === 'failed' || verdict === 'wrong' ? 'failed' : 'pending';
}

/** Returns the status of a record that decides nothing; it is waited for until it has been seen once. */
function withoutCapability(record: RecordRow, verdict: Verdict): RecordStatus {
  // The record of an old key may be removed.
  if (record.key_status === 'retiring') return 'pending';
  if (verdict === 'wrong') return 'failed';
  return record.status === 'verified' || record.status === 'failed' ? 'failed' : 'pending';
}

function stateFor(domain: DomainRow, record: RecordRow): VerificationState | undefined {
  if (isForSending(record)) return readSendingState(domain);
  return isForReceiving(record) ? readReceivingState(domain) : undefined;
}

export const isForSending = ({ record, required }: RecordRow): boolean =>
  required === 1 && (record === 'DKIM' || record === 'SPF');
export const isForReceiving = ({ record }: RecordRow): boolean => record === 'Receiving';

/**
 * Reports whether mail may be sent from a domain now: its DNS is verified, and the team has not switched sending off.
 */
export const maySend = (domain: DomainRow): boolean => domain.verified_at !== null && domain.sending === 'enabled';

/**
 * Reports whether domains are verified by DNS. They are not in the development profile, where nothing leaves the
 * machine.
 */
export const isDnsAsked = ({ config }: Pick<Store, 'config'>): boolean =>
  config.profile !== 'development' || !config.delivery.capture;

/**
 * Reports whether a domain counts as verified without DNS: so does that of the development profile, where nothing
 * leaves the machine.
 */
export const isVerifiedWithoutDns = (store: Store, { verified_at: at }: Pick<DomainRow, 'verified_at'>): boolean =>
  store.config.delivery.capture && at !== null;

/** Refuses to switch both sending and receiving off. `named` is the capability that the caller asked to switch. */
export function mustBeOfUse(domain: Pick<DomainRow, 'sending' | 'receiving'>, named: 'sending' | 'receiving'): void {
  if (domain.sending === 'enabled' || domain.receiving === 'enabled') return;
  const message =
    named === 'sending'
      ? 'capabilities.sending cannot be disabled while receiving is not enabled, because the domain would have no use; delete it instead.'
      : 'capabilities.receiving cannot be disabled while sending is disabled, because the domain would have no use; delete it instead.';
  throw refuse('validation_error', { status: 422, say: message, errors: [{ path: `capabilities.${named}`, message }] });
}
