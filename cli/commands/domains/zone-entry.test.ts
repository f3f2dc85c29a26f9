import { describe, expect, it } from 'vitest';
import type { DomainRecord } from '../../../src/contract/index.ts';
import { zoneEntry } from './zone-entry.ts';

const record = (given: Partial<DomainRecord>): DomainRecord => ({
  record: 'SPF',
  name: 'send.example.com',
  type: 'TXT',
  ttl: 'Auto',
  status: 'not_started',
  value: 'v=spf1 -all',
  required: true,
  ...given,
});

describe('zoneEntry', () => {
  it.each([
    { why: 'writes a short text as one string', given: {}, line: 'send.example.com.\tIN\tTXT\t"v=spf1 -all"' },
    {
      why: 'writes a TTL in seconds',
      given: { ttl: '300' },
      line: 'send.example.com.\t300\tIN\tTXT\t"v=spf1 -all"',
    },
    {
      why: 'makes an MX target absolute',
      given: { type: 'MX', value: 'mx.example.net', priority: 10 },
      line: 'send.example.com.\tIN\tMX\t10 mx.example.net.',
    },
    {
      why: 'does not double a final dot',
      given: { type: 'CNAME', name: 'track.example.com.', value: 'links.example.net.' },
      line: 'track.example.com.\tIN\tCNAME\tlinks.example.net.',
    },
    {
      why: 'escapes quotes, backslashes and non-ASCII bytes',
      given: { value: 'a"b\\c\né' },
      line: 'send.example.com.\tIN\tTXT\t"a\\"b\\\\c\\010\\195\\169"',
    },
    {
      why: 'does not let a value start a line of its own',
      given: { type: 'CNAME', value: 'x\nevil IN A 192.0.2.1 ;' },
      line: 'send.example.com.\tIN\tCNAME\tx\\010evil IN A 192.0.2.1 \\059.',
    },
  ] as { why: string; given: Partial<DomainRecord>; line: string }[])('$why', ({ given, line }) => {
    expect(zoneEntry(record(given))).toBe(line);
  });

  it('splits a text of more than 255 bytes into strings that join to the same text, one on each line', () => {
    const value = `v=DKIM1; k=rsa; p=${'A'.repeat(392)}`;
    expect(zoneEntry(record({ value }))).toBe(
      `send.example.com.\tIN\tTXT\t(\n\t"${value.slice(0, 255)}"\n\t"${value.slice(255)}" )`,
    );
  });
});
