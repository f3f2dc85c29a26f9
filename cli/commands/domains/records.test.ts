import { describe, expect, it } from 'vitest';
import type { DomainRecord } from '../../../src/contract/index.ts';
import { openTerminal } from '../../output/index.ts';
import { remarksOn } from './records.ts';

const stream = { write: () => true, isTTY: true, columns: 80 };
const terminal = openTerminal({ out: stream, err: stream, env: { NO_COLOR: '1' } });

const record = (given: Partial<DomainRecord>): DomainRecord => ({
  record: 'SPF',
  name: 'send.example.com',
  type: 'TXT',
  ttl: 'Auto',
  status: 'failed',
  value: 'v=spf1 -all',
  required: true,
  ...given,
});

describe('remarksOn', () => {
  it('returns the diagnosis and the values found in DNS', () => {
    const found = { resolver: ['old'], authoritative: ['new', 'newer'] };
    expect(remarksOn(terminal, record({ diagnosis: 'It is wrong.', found }))).toEqual([
      'It is wrong.',
      'its name servers answer: new | newer',
      'our resolver answers: old',
    ]);
  });

  it('returns a value once when the resolver and the name servers agree, and nothing when nothing is known or wrong', () => {
    const same = { resolver: ['x'], authoritative: ['x'] };
    expect(remarksOn(terminal, record({ diagnosis: 'A.', found: same }))).toEqual(['A.', 'its name servers answer: x']);
    expect(remarksOn(terminal, record({ diagnosis: 'B.', found: null }))).toEqual(['B.']);
    expect(remarksOn(terminal, record({ diagnosis: null, found: same }))).toEqual([]);
  });

  it('strips control characters from what a server returns', () => {
    const found = { resolver: ['\u0007\u202e'], authoritative: [] };
    const remarks = remarksOn(terminal, record({ diagnosis: 'a\u001b[2Jb\nc', found }));
    expect(remarks).toHaveLength(2);
    expect(remarks.join('')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });
});
