import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { VENDOR_TLS_REPORTS } from './vendor-reports.test-helper.ts';
import { readTlsReport, tlsReportFileName, writeTlsReport, type TlsReport } from './report.ts';

const report: TlsReport = {
  organizationName: 'Example Mail',
  start: new Date('2026-03-01T00:00:00Z'),
  end: new Date('2026-03-01T23:59:59Z'),
  contactInfo: 'postmaster@mail.example.net',
  reportId: '20260301.example.com@mail.example.net',
  policies: [
    {
      policyType: 'sts',
      policyStrings: ['version: STSv1', 'mode: enforce', 'mx: *.example.com', 'max_age: 604800'],
      policyDomain: 'example.com',
      mxHosts: ['*.example.com'],
      totalSuccessfulSessionCount: 12,
      totalFailureSessionCount: 2,
      failureDetails: [
        {
          resultType: 'certificate-expired',
          sendingMtaIp: '192.0.2.1',
          receivingMxHostname: 'mx.example.com',
          receivingMxHelo: 'mx.example.com',
          receivingIp: '2001:db8::1',
          failedSessionCount: 2,
          additionalInformation: 'https://mail.example.net/tls',
          failureReasonCode: 'CERT_HAS_EXPIRED',
        },
      ],
    },
    {
      policyType: 'no-policy-found',
      policyStrings: [],
      policyDomain: 'example.org',
      mxHosts: [],
      totalSuccessfulSessionCount: 1,
      totalFailureSessionCount: 0,
      failureDetails: [],
    },
  ],
};

function read(text: string): TlsReport {
  const result = readTlsReport(text);
  if ('fault' in result) throw new Error(result.fault);
  return result;
}

const readVendor = (name: string): TlsReport =>
  read(VENDOR_TLS_REPORTS.find(({ vendor }) => vendor.startsWith(name))?.json ?? '');

describe('a TLS report', () => {
  it('is written with the names of RFC 8460, and mx-host as an array', () => {
    expect(JSON.parse(writeTlsReport(report))).toEqual({
      'organization-name': 'Example Mail',
      'date-range': { 'start-datetime': '2026-03-01T00:00:00Z', 'end-datetime': '2026-03-01T23:59:59Z' },
      'contact-info': 'postmaster@mail.example.net',
      'report-id': '20260301.example.com@mail.example.net',
      policies: [
        {
          policy: {
            'policy-type': 'sts',
            'policy-string': ['version: STSv1', 'mode: enforce', 'mx: *.example.com', 'max_age: 604800'],
            'policy-domain': 'example.com',
            'mx-host': ['*.example.com'],
          },
          summary: { 'total-successful-session-count': 12, 'total-failure-session-count': 2 },
          'failure-details': [
            {
              'result-type': 'certificate-expired',
              'sending-mta-ip': '192.0.2.1',
              'receiving-mx-hostname': 'mx.example.com',
              'receiving-mx-helo': 'mx.example.com',
              'receiving-ip': '2001:db8::1',
              'failed-session-count': 2,
              'additional-information': 'https://mail.example.net/tls',
              'failure-reason-code': 'CERT_HAS_EXPIRED',
            },
          ],
        },
        {
          policy: { 'policy-type': 'no-policy-found', 'policy-domain': 'example.org' },
          summary: { 'total-successful-session-count': 1, 'total-failure-session-count': 0 },
        },
      ],
    });
  });

  it('is the same after it was written and read again', () => {
    expect(read(writeTlsReport(report))).toEqual(report);
  });

  it.each(VENDOR_TLS_REPORTS)('of $vendor is read, and what was read can be written', ({ json }) => {
    const result = read(json);
    expect(result.reportId).not.toBe('');
    expect(result.policies).toHaveLength(1);
    expect(read(writeTlsReport(result))).toEqual(result);
  });

  it('is about a day in UTC if Microsoft gives times without a zone', () => {
    const { start, end } = readVendor('Microsoft, with times');
    expect([start.toISOString(), end.toISOString()]).toEqual(['2023-01-10T00:00:00.000Z', '2023-01-10T23:59:59.000Z']);
  });

  it('keeps each TLSA record that Microsoft writes as JSON in one string', () => {
    expect(readVendor('Microsoft, with TLSA').policies[0]?.policyStrings).toEqual(['3 1 1 6007EE55', '3 1 1 837C773D']);
  });

  it('has failures without addresses if Microsoft could not fetch the policy', () => {
    expect(readVendor('Microsoft, about').policies[0]?.failureDetails).toEqual([
      { resultType: 'sts-policy-fetch-error', failedSessionCount: 3 },
    ]);
  });

  it('keeps the reason of each failure that Mail.ru reports', () => {
    const [policy] = readVendor('Mail.ru').policies;
    expect(policy?.totalFailureSessionCount).toBe(1);
    expect(policy?.failureDetails.map(({ failureReasonCode }) => failureReasonCode)).toEqual([
      'bad https response code: 404',
      'bad https response code: 500',
    ]);
  });

  it('of Postfix without a policy domain has none', () => {
    expect(readVendor('Postfix').policies[0]).toMatchObject({
      policyType: 'no-policy-found',
      policyDomain: undefined,
      totalSuccessfulSessionCount: 1,
    });
  });

  it('with mx-host as a string has one pattern', () => {
    expect(readVendor('the example').policies[0]?.mxHosts).toEqual(['*.mail.company-y.example']);
  });

  const change = (json: object): string => JSON.stringify({ ...JSON.parse(writeTlsReport(report)), ...json });
  const withDetails = (details: unknown): string =>
    change({ policies: [{ policy: { 'policy-type': 'sts' }, summary: {}, 'failure-details': details }] });

  it('keeps unknown result types, shortened', () => {
    const details = [
      { 'result-type': 'Future-Failure', 'failed-session-count': 1 },
      { 'result-type': 'x'.repeat(1000), 'failed-session-count': 1 },
    ];
    const read1 = read(withDetails(details)).policies[0]?.failureDetails;
    expect(read1?.map(({ resultType }) => resultType)).toEqual(['future-failure', 'x'.repeat(64)]);
  });

  it('has texts of one line without invisible characters or halves of characters', () => {
    const result = read(change({ 'organization-name': `A\r\nB\u202E\0C\uD800${'d'.repeat(500)}` }));
    expect(result.organizationName).toBe(`A B C\uFFFD${'d'.repeat(249)}`);
  });

  it('leaves out failure details that say nothing, and those beyond 5,000', () => {
    const detail = { 'result-type': 'validation-failure', 'failed-session-count': 1 };
    const odd = [null, 'x', {}, { ...detail, 'failed-session-count': -1 }, { ...detail, 'failed-session-count': 0.5 }];
    expect(read(withDetails([...odd, detail])).policies[0]?.failureDetails).toHaveLength(1);
    const many = Array.from({ length: 3000 }, () => detail);
    const policy = { policy: { 'policy-type': 'sts' }, summary: {}, 'failure-details': many };
    const lengths = read(change({ policies: [policy, policy] })).policies.map((one) => one.failureDetails.length);
    expect(lengths).toEqual([3000, 2000]);
  });

  it.each([
    ['unused', 'The report is not a JSON object.'],
    ['[]', 'The report is not a JSON object.'],
    ['null', 'The report is not a JSON object.'],
    ['['.repeat(100_000), 'The report is not a JSON object.'],
    [change({ 'date-range': null }), 'The report has no readable start-datetime.'],
    [
      change({ 'date-range': { 'start-datetime': '2026-03-01T00:00:00Z', 'end-datetime': 'tomorrow' } }),
      'The report has no readable end-datetime.',
    ],
    [
      change({ 'date-range': { 'start-datetime': '2026-03-01T00:00:00Z', 'end-datetime': '2026-02-01T00:00:00Z' } }),
      'The report ends before it starts.',
    ],
    [change({ 'report-id': 7 }), 'The report has no report-id.'],
    [change({ policies: {} }), 'The report has no list of policies.'],
    [change({ policies: [null] }), 'Policy 1 of the report has no policy-type.'],
    [
      change({ policies: [{ policy: { 'policy-type': 'sts' }, summary: { 'total-failure-session-count': 1e15 } }] }),
      'Policy 1 of the report has a total that is not a number of sessions.',
    ],
    [
      change({ policies: Array.from({ length: 201 }, () => ({})) }),
      'The report has 201 policies; at most 200 are allowed.',
    ],
    [' '.repeat(2_097_153), 'The report has 2097153 characters; at most 2097152 are allowed.'],
  ])('is refused with what is wrong with it (%#)', (text, fault) => {
    expect(readTlsReport(text)).toEqual({ fault });
  });

  it('never fails with an exception, whatever its JSON is', () => {
    const keys = fc.constantFrom(
      ...[
        'policies',
        'policy',
        'summary',
        'failure-details',
        'policy-type',
        'policy-string',
        'date-range',
        '__proto__',
      ],
      ...['start-datetime', 'end-datetime', 'report-id', 'mx-host', 'result-type', 'failed-session-count'],
    );
    const leaf = fc.oneof(fc.constantFrom('2026-01-01', 'sts', '["a"', '["a",1]', null, true, -1, 1e300), fc.string());
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof({ maxDepth: 5 }, leaf, fc.array(tie('value')), fc.dictionary(keys, tie('value'))),
    }));
    fc.assert(fc.property(value, (json) => void readTlsReport(change(Object(json) as object))));
  });

  it('has a file name with the submitter, the domain and the period in seconds', () => {
    const name = { submitter: 'mail.example.net', policyDomain: 'example.com', start: report.start, end: report.end };
    expect(tlsReportFileName(name)).toBe('mail.example.net!example.com!1772323200!1772409599.json.gz');
    expect(tlsReportFileName({ ...name, unique: '001' })).toBe(
      'mail.example.net!example.com!1772323200!1772409599!001.json.gz',
    );
  });
});
