import { describe, expect, it } from 'vitest';
import type { DomainRow, RecordRow } from './domain-rows.ts';
import type { Verdict } from '../../protocol/dns-diagnosis/index.ts';
import { recordStatusAfter, standingAfter, statusOf, type Standing } from './domain-state.ts';

const HOUR_MS = 3_600_000;
const patience = { graceMs: 72 * HOUR_MS };
const NOW = 1_000 * HOUR_MS;
const standing = (given: Partial<Standing> = {}): Standing => ({
  verifiedAt: null,
  failingSince: null,
  waitingSince: NOW - HOUR_MS,
  ...given,
});
const after = (before: Partial<Standing>, ...verdicts: Verdict[]): Standing =>
  standingAfter(standing(before), verdicts, NOW, patience);

describe('a capability that is not verified', () => {
  it.each<[string, Verdict[], Partial<Standing>]>([
    ['all seen: verified now', ['right', 'right'], { verifiedAt: NOW }],
    ['one absent: waited for', ['right', 'absent'], {}],
    ['one wrong: waited for', ['wrong', 'right'], {}],
    ['nobody could say: waited for', ['unknown', 'right'], {}],
    ['nothing to see is nothing seen', [], {}],
  ])('%s', (_, verdicts, changed) => {
    expect(after({}, ...verdicts)).toEqual(standing(changed));
  });

  it('is waited for 72 hours from the first look, and not a moment less', () => {
    expect(after({ waitingSince: null }, 'absent')).toEqual(standing({ waitingSince: NOW }));
    expect(after({ waitingSince: NOW - 72 * HOUR_MS + 1 }, 'absent').failingSince).toBeNull();
    expect(after({ waitingSince: NOW - 72 * HOUR_MS }, 'absent').failingSince).toBe(NOW);
  });

  it('has failed until its records are seen after all', () => {
    expect(after({ failingSince: 5 }, 'absent').failingSince).toBe(5);
    expect(after({ failingSince: 5 }, 'unknown').failingSince).toBe(5);
    expect(after({ failingSince: 5 }, 'right')).toMatchObject({ verifiedAt: NOW, failingSince: null });
  });
});

describe('a capability that is verified', () => {
  const verified = { verifiedAt: 1 };

  it('stays so since when it was', () => {
    expect(after(verified, 'right')).toMatchObject({ verifiedAt: 1, failingSince: null });
    expect(after({ ...verified, failingSince: 9 }, 'right')).toMatchObject({ verifiedAt: 1, failingSince: null });
  });

  it.each<Verdict>(['absent', 'wrong'])('%s begins the grace, which ends it 72 hours later', (verdict) => {
    expect(after(verified, verdict)).toMatchObject({ verifiedAt: 1, failingSince: NOW });
    const almost = NOW - 72 * HOUR_MS + 1;
    expect(after({ ...verified, failingSince: almost }, verdict)).toMatchObject({ verifiedAt: 1 });
    expect(after({ ...verified, failingSince: almost - 1 }, verdict)).toMatchObject({ verifiedAt: null });
  });

  it('is not taken down by name servers that do not answer, however long the grace is over', () => {
    expect(after({ ...verified, failingSince: 1 }, 'unknown')).toMatchObject({ verifiedAt: 1, failingSince: 1 });
  });

  it('without any grace ends at once', () => {
    expect(standingAfter(standing(verified), ['absent'], NOW, { graceMs: 0 }).verifiedAt).toBeNull();
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

describe('statusOf', () => {
  it('a domain nobody looked at has not started', () => {
    expect(statusOf(domain({ checked_at: null }))).toBe('not_started');
  });

  it.each(['pending', 'verified', 'failed'] as const)('without receiving it is that of sending: %s', (state) => {
    expect(statusOf(domain(sending[state]))).toBe(state);
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
  ] as const)('sending %s, receiving %s: %s', (sends, receives, status) => {
    expect(statusOf(domain({ ...sending[sends], ...receiving[receives] }))).toBe(status);
  });
});

describe('what is told of one record', () => {
  const record = (given: Partial<RecordRow>): RecordRow =>
    ({ record: 'DKIM', required: 1, status: 'not_started', key_status: 'active', ...given }) as RecordRow;
  const dkim = record({});
  const seenBefore = record({ status: 'verified' });
  const advised = record({ record: 'DMARC', required: 0, key_status: null });
  const advisedBefore = { ...advised, status: 'verified' as const };
  const retiring = record({ required: 0, key_status: 'retiring', status: 'verified' });

  it.each<[string, RecordRow, Verdict, keyof typeof sending, string]>([
    ['right', dkim, 'right', 'failed', 'verified'],
    ['absent while it is waited for', dkim, 'absent', 'pending', 'pending'],
    ['wrong while it is waited for', dkim, 'wrong', 'pending', 'failed'],
    ['absent when nobody waits any more', dkim, 'absent', 'failed', 'failed'],
    ['absent from a verified domain', seenBefore, 'absent', 'verified', 'temporary_failure'],
    ['wrong at a verified domain', seenBefore, 'wrong', 'verified', 'temporary_failure'],
    ['unknown, never seen', dkim, 'unknown', 'pending', 'temporary_failure'],
    ['unknown, seen before', seenBefore, 'unknown', 'verified', 'verified'],
    ['advised and absent', advised, 'absent', 'verified', 'pending'],
    ['advised and gone', advisedBefore, 'absent', 'verified', 'failed'],
    ['advised and wrong', advised, 'wrong', 'verified', 'failed'],
    ['an old key that was taken away', retiring, 'absent', 'verified', 'pending'],
  ])('%s', (_, given, verdict, sends, status) => {
    expect(recordStatusAfter(domain(sending[sends]), given, verdict)).toBe(status);
  });

  it('the Receiving record follows receiving, and not sending', () => {
    const mx = record({ record: 'Receiving', key_status: null });
    const both = domain({ ...sending.verified, ...receiving.pending });
    expect(recordStatusAfter(both, mx, 'absent')).toBe('pending');
    expect(recordStatusAfter(domain({ ...sending.failed, ...receiving.verified }), mx, 'absent')).toBe(
      'temporary_failure',
    );
  });
});
