import { describe, expect, it } from 'vitest';
import type { Lookup } from '../../../platform/resolver/index.ts';
import { proofText } from '../../domain-claims/index.ts';
import { checkProof } from './check-claims.ts';

const wanted = proofText('4b1c9be0f6a94d6c8f0f1b7f0c2a5d3e');
const judge = (answer: Lookup<string[]>) => checkProof('example.com', wanted, answer);
const found = (...records: string[]) => judge({ kind: 'found', records });

describe('the proof of a claim', () => {
  it.each([
    ['as the only record', [wanted]],
    ['next to other records', ['v=spf1 -all', wanted, 'some-proof=1']],
    ['next to the proof of another claim', [proofText('0'), wanted]],
    ['in the quotation marks that some DNS panels add', [`"${wanted}"`]],
    ['with white space around it', [` ${wanted}\t`]],
  ])('is accepted %s', (_, records) => {
    expect(found(...records)).toEqual({ status: 'verified', diagnosis: null });
  });

  it.each([
    ['another value', [proofText('5b1c9be0f6a94d6c8f0f1b7f0c2a5d3e')], 'failed', 'a different value'],
    ['one character less', [wanted.slice(0, -1)], 'failed', 'a different value'],
    ['one character more', [`${wanted}0`], 'failed', 'a different value'],
    ['capitals', [wanted.toUpperCase()], 'pending', 'one TXT record'],
    ['a text that contains it', [`x ${wanted}`], 'pending', 'one TXT record'],
    ['other texts', ['v=spf1 -all', 'some-proof=1'], 'pending', '2 TXT records'],
    ['an empty text', [''], 'pending', 'one TXT record'],
  ])('is not accepted with %s', (_, records, status, says) => {
    expect(found(...records)).toEqual({ status, diagnosis: expect.stringContaining(says) as string });
  });

  it.each(['nxdomain', 'nodata'] as const)('is pending: %s', (why) => {
    expect(judge({ kind: 'none', why })).toEqual({
      status: 'pending',
      diagnosis: 'There is no TXT record at example.com yet; publish this one.',
    });
  });

  it('is undecided while DNS does not answer', () => {
    const { status, diagnosis } = judge({ kind: 'failed', reason: 'timeout' });
    expect(status).toBe('temporary_failure');
    expect(diagnosis).toContain('timeout');
  });
});
