import { describe, expect, it } from 'vitest';
import type { DomainRow, RecordRow } from './domain-rows.ts';
import type { Verdict } from '../../protocol/dns-diagnosis/index.ts';
import { recordStatusAfter, nextState, deriveDomainStatus, type VerificationState } from './domain-state.ts';

const HOUR_MS = 3_600_000;
const patience = { graceMs: 72 * HOUR_MS };
const NOW = 1_000 * HOUR_MS;
const buildState = (given: Partial<VerificationState> = {}): VerificationState => ({
  verifiedAt: null,
  failingSince: null,
  waitingSince: NOW - HOUR_MS,
  ...given,
});
const after = (before: Partial<VerificationState>, ...verdicts: Verdict[]): VerificationState =>
  nextState(buildState(before), verdicts, NOW, patience);

describe('a capability that is not verified', () => {
  it.each<[string, Verdict[], Partial<VerificationState>]>([
    ['is verified when every record is seen', ['right', 'right'], { verifiedAt: NOW }],
    ['stays pending while one record is absent', ['right', 'absent'], {}],
    ['stays pending while one record is wrong', ['wrong', 'right'], {}],
    ['stays pending while one record cannot be checked', ['unknown', 'right'], {}],
    ['stays pending when there are no records to check', [], {}],
  ])('%s', (_, verdicts, changed) => {
    expect(after({}, ...verdicts)).toEqual(buildState(changed));
  });

  it('is pending for 72 hours from the first check, and not less', () => {
    expect(after({ waitingSince: null }, 'absent')).toEqual(buildState({ waitingSince: NOW }));
    expect(after({ waitingSince: NOW - 72 * HOUR_MS + 1 }, 'absent').failingSince).toBeNull();
    expect(after({ waitingSince: NOW - 72 * HOUR_MS }, 'absent').failingSince).toBe(NOW);
  });

  it('stays failed until its records are seen', () => {
    expect(after({ failingSince: 5 }, 'absent').failingSince).toBe(5);
    expect(after({ failingSince: 5 }, 'unknown').failingSince).toBe(5);
    expect(after({ failingSince: 5 }, 'right')).toMatchObject({ verifiedAt: NOW, failingSince: null });
  });
});

describe('a capability that is verified', () => {
  const verified = { verifiedAt: 1 };

  it('keeps the time of its verification', () => {
    expect(after(verified, 'right')).toMatchObject({ verifiedAt: 1, failingSince: null });
    expect(after({ ...verified, failingSince: 9 }, 'right')).toMatchObject({ verifiedAt: 1, failingSince: null });
  });

  it.each<Verdict>(['absent', 'wrong'])('loses its verification 72 hours after its records are %s', (verdict) => {
    expect(after(verified, verdict)).toMatchObject({ verifiedAt: 1, failingSince: NOW });
    const almost = NOW - 72 * HOUR_MS + 1;
    expect(after({ ...verified, failingSince: almost }, verdict)).toMatchObject({ verifiedAt: 1 });
    expect(after({ ...verified, failingSince: almost - 1 }, verdict)).toMatchObject({ verifiedAt: null });
  });

  it('is kept while name servers do not answer, however long the grace period is over', () => {
    expect(after({ ...verified, failingSince: 1 }, 'unknown')).toMatchObject({ verifiedAt: 1, failingSince: 1 });
  });

  it('is lost at once without a grace period', () => {
    expect(nextState(buildState(verified), ['absent'], NOW, { graceMs: 0 }).verifiedAt).toBeNull();
  });
});

const domain = (given: Partial<DomainRow>): DomainRow =>
  ({
    checked_at: 1,
    verified_at: null,
    failing_since: null,
    receiving: 'disabled',
    receiving_verified_at: null,
    receiving_failing_since: null,
    ...given,
  }) as DomainRow;
const sending = { pending: {}, verified: { verified_at: 1 }, failed: { failing_since: 1 } };
const receiving = {
  pending: { receiving: 'enabled' },
  verified: { receiving: 'enabled', receiving_verified_at: 1 },
  failed: { receiving: 'enabled', receiving_failing_since: 1 },
} as const;

describe('deriveDomainStatus', () => {
  it('is not_started for a domain that was never checked', () => {
    expect(deriveDomainStatus(domain({ checked_at: null }))).toBe('not_started');
  });

  it.each(['pending', 'verified', 'failed'] as const)('is that of sending when receiving is off: %s', (state) => {
    expect(deriveDomainStatus(domain(sending[state]))).toBe(state);
  });

  it.each([
    ['pending', 'pending', 'pending'],
    ['pending', 'verified', 'partially_verified'],
    ['pending', 'failed', 'pending'],
    ['verified', 'pending', 'partially_verified'],
    ['verified', 'verified', 'verified'],
    ['verified', 'failed', 'partially_failed'],
    ['failed', 'pending', 'failed'],
    ['failed', 'verified', 'partially_failed'],
    ['failed', 'failed', 'failed'],
  ] as const)('with sending %s and receiving %s is %s', (sends, receives, status) => {
    expect(deriveDomainStatus(domain({ ...sending[sends], ...receiving[receives] }))).toBe(status);
  });
});

describe('the status of one record', () => {
  const record = (given: Partial<RecordRow>): RecordRow =>
    ({ record: 'DKIM', required: 1, status: 'not_started', key_status: 'active', ...given }) as RecordRow;
  const dkim = record({});
  const seenBefore = record({ status: 'verified' });
  const advised = record({ record: 'DMARC', required: 0, key_status: null });
  const advisedBefore = { ...advised, status: 'verified' as const };
  const retiring = record({ required: 0, key_status: 'retiring', status: 'verified' });

  it.each<[string, RecordRow, Verdict, keyof typeof sending, string]>([
    ['is verified for a correct record', dkim, 'right', 'failed', 'verified'],
    ['is pending for an absent record of a pending domain', dkim, 'absent', 'pending', 'pending'],
    ['is failed for a wrong record of a pending domain', dkim, 'wrong', 'pending', 'failed'],
    ['is failed for an absent record of a failed domain', dkim, 'absent', 'failed', 'failed'],
    [
      'is temporary_failure for an absent record of a verified domain',
      seenBefore,
      'absent',
      'verified',
      'temporary_failure',
    ],
    [
      'is temporary_failure for a wrong record of a verified domain',
      seenBefore,
      'wrong',
      'verified',
      'temporary_failure',
    ],
    [
      'is temporary_failure for a record that cannot be checked and was never seen',
      dkim,
      'unknown',
      'pending',
      'temporary_failure',
    ],
    [
      'stays verified for a record that cannot be checked and was seen before',
      seenBefore,
      'unknown',
      'verified',
      'verified',
    ],
    ['is pending for a recommended record that is absent', advised, 'absent', 'verified', 'pending'],
    ['is failed for a recommended record that was removed', advisedBefore, 'absent', 'verified', 'failed'],
    ['is failed for a recommended record that is wrong', advised, 'wrong', 'verified', 'failed'],
    ['is pending for an old key that was removed', retiring, 'absent', 'verified', 'pending'],
  ])('%s', (_, given, verdict, sends, status) => {
    expect(recordStatusAfter(domain(sending[sends]), given, verdict)).toBe(status);
  });

  it('depends on receiving for the Receiving record, and not on sending', () => {
    const mx = record({ record: 'Receiving', key_status: null });
    const both = domain({ ...sending.verified, ...receiving.pending });
    expect(recordStatusAfter(both, mx, 'absent')).toBe('pending');
    expect(recordStatusAfter(domain({ ...sending.failed, ...receiving.verified }), mx, 'absent')).toBe(
      'temporary_failure',
    );
  });
});
