import { describe, expect, it, test } from 'vitest';
import { compareAnswer, type Answer, type Wanted } from './index.ts';

const domain = 'm.example.com';
const ID = 'a1'.repeat(16);
const ADDRESS = 'mailto:reports@send.m.example.com';
const base = { type: 'TXT', priority: null, domain } as const;
const DMARC: Wanted = {
  ...base,
  record: 'DMARC',
  name: '_dmarc.m.example.com',
  value: `v=DMARC1; p=none; rua=${ADDRESS};`,
};
const TLS_REPORTS: Wanted = {
  ...base,
  record: 'TLS-RPT',
  name: '_smtp._tls.m.example.com',
  value: `v=TLSRPTv1; rua=${ADDRESS}`,
};
const STS: Wanted = { ...base, record: 'MTA-STS', name: '_mta-sts.m.example.com', value: `v=STSv1; id=${ID}` };

const found = (...records: string[]): Answer => ({ kind: 'found', records, aliases: [] });
const compare = (wanted: Wanted, ...records: string[]) => compareAnswer(wanted, found(...records));
const RIGHT = { verdict: 'right', sentence: null };

test.each([DMARC, TLS_REPORTS, STS])('the $record record is right as asked for, next to unrelated texts', (wanted) => {
  expect(compare(wanted, 'site-verification=1', wanted.value)).toEqual(RIGHT);
  expect(compare(wanted, 'site-verification=1')).toEqual({ verdict: 'absent', sentence: null });
});

test.each([
  [DMARC, 'There are 2 DMARC records at'],
  [TLS_REPORTS, 'There are 2 TLS-RPT records at'],
  [STS, 'There are 2 MTA-STS records at'],
] as const)('two records of one kind at a name are wrong (%#)', (wanted, says) => {
  expect(compare(wanted, wanted.value, `${wanted.value} `)).toEqual({
    verdict: 'wrong',
    sentence: expect.stringContaining(says),
  });
});

test.each([
  [DMARC, 'v=DMARC; p=none', 'is no DMARC record because it does not begin with "v=DMARC1;"'],
  [TLS_REPORTS, `v=TLSRPT1; rua=${ADDRESS}`, 'is no TLS-RPT record because it does not begin with "v=TLSRPTv1;"'],
  [TLS_REPORTS, `"v=TLSRPTv1; rua=${ADDRESS}"`, 'has quotation marks that are part of the text'],
  [STS, `v=STS1; id=${ID}`, 'is no MTA-STS record because it does not begin with "v=STSv1;"'],
  [STS, `v=STSv1\\; id=${ID}`, 'has backslashes in it'],
] as const)('a malformed record is reported: %j %s', (wanted, text, says) => {
  expect(compare(wanted, text)).toEqual({ verdict: 'wrong', sentence: expect.stringContaining(says) });
});

describe("an owner's own record for reports", () => {
  it.each([
    `v=DMARC1; p=reject; rua=mailto:x@y.test,${ADDRESS}!10m`,
    `v=DMARC1;p=none;RUA= MAILTO:Reports@Send.M.example.com`,
  ])('is valid with our address in it: %s', (text) => {
    expect(compare(DMARC, text)).toEqual(RIGHT);
  });

  it.each(['v=DMARC1; p=reject', 'v=DMARC1; p=quarantine; rua=mailto:x@y.test', `v=DMARC1; p=none; ruf=${ADDRESS}`])(
    'is valid, with the hint that DMARC reports do not come here: %s',
    (text) => {
      expect(compare(DMARC, text)).toEqual({
        verdict: 'right',
        sentence: `The DMARC record at _dmarc.m.example.com is valid, but its reports are not sent to this service; to see them here, add ${ADDRESS} to its rua= tag.`,
      });
    },
  );

  it('is valid without a hint if the settings ask for no reports', () => {
    expect(compare({ ...DMARC, value: 'v=DMARC1; p=none' }, 'v=DMARC1; p=reject')).toEqual(RIGHT);
  });

  it.each([`v=TLSRPTv1;rua=https://x.test/r,${ADDRESS}`, 'v=TLSRPTv1; rua=mailto:REPORTS@send.M.example.com'])(
    'is valid for TLS reports that come here: %s',
    (text) => {
      expect(compare(TLS_REPORTS, text)).toEqual(RIGHT);
    },
  );

  it.each(['v=TLSRPTv1; rua=mailto:x@y.test', 'v=TLSRPTv1; rua=https://x.test/r'])(
    'is valid, with the hint that TLS reports do not come here: %s',
    (text) => {
      const { verdict, sentence } = compare(TLS_REPORTS, text);
      expect([verdict, sentence]).toEqual(['right', expect.stringContaining(`add ${ADDRESS} to its rua= field`)]);
    },
  );

  it('is wrong if it names no address for TLS reports', () => {
    const { verdict, sentence } = compare(TLS_REPORTS, 'v=TLSRPTv1; rua=');
    expect([verdict, sentence]).toEqual(['wrong', expect.stringContaining('names no address for reports')]);
  });
});

test('an MTA-STS record with the id of another policy, or without an id, is wrong', () => {
  const old = compare(STS, 'v=STSv1; id=20260101T000000;');
  expect([old.verdict, old.sentence]).toEqual([
    'wrong',
    'The MTA-STS record at _mta-sts.m.example.com has the id "20260101T000000" of another policy, so senders that know that one do not read the present policy; replace it with the value shown.',
  ]);
  expect(compare(STS, 'v=STSv1; id=').sentence).toContain('has no id of 1 to 32 letters and digits');
  expect(compare(STS, `v=STSv1;id=${ID};`)).toEqual(RIGHT);
});
