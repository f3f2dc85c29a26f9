import { describe, expect, it } from 'vitest';
import type { DomainRecord } from '../../../src/contract/index.ts';
import { openTerminal } from '../../output/index.ts';
import { underEach } from './diagnosis.ts';

const terminal = (isTTY: boolean) => {
  const stream = { write: () => true, isTTY, columns: 80 };
  return openTerminal({ out: stream, err: stream, env: { NO_COLOR: '1' } });
};

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

const TABLE = 'FOR  NAME\nSPF  one\nSPF  two';

describe('underEach', () => {
  it('puts the sentence and what stands in DNS under the line of its record', () => {
    const records = [
      record({ diagnosis: 'It is wrong.', found: { resolver: ['old'], authoritative: ['new', 'newer'] } }),
      record({ status: 'verified', diagnosis: null, found: { resolver: ['v=spf1 -all'], authoritative: [] } }),
    ];
    expect(underEach(terminal(true), TABLE, records)).toBe(
      'FOR  NAME\nSPF  one\n  It is wrong.\n  its name servers say: new | newer\n  our resolver says: old\nSPF  two',
    );
  });

  it('says once what both answer, and nothing where nothing is known', () => {
    const same = { resolver: ['x'], authoritative: ['x'] };
    const records = [record({ diagnosis: 'A.', found: same }), record({ diagnosis: 'B.', found: null })];
    expect(underEach(terminal(true), TABLE, records)).toBe(
      'FOR  NAME\nSPF  one\n  A.\n  its name servers say: x\nSPF  two\n  B.',
    );
  });

  it('lets nothing that a server says steer the terminal', () => {
    const records = [record({ diagnosis: 'a\u001b[2Jb\nc', found: { resolver: ['\u0007\u202e'], authoritative: [] } })];
    const printed = underEach(terminal(true), TABLE, records);
    expect(printed.split('\n')).toHaveLength(5);
    expect(printed.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });

  it('leaves the lines of a program alone', () => {
    const rows = 'SPF\tone\nSPF\ttwo';
    expect(underEach(terminal(false), rows, [record({ diagnosis: 'A.' }), record({})])).toBe(rows);
  });
});
