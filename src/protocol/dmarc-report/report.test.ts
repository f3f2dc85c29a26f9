import { describe, expect, it } from 'vitest';
import { readDmarcReport, type DmarcRecord, type DmarcReport } from './report.ts';
import { VENDOR_DMARC_REPORTS } from './vendor-reports.test-helper.ts';

function read(xml: string): DmarcReport {
  const result = readDmarcReport(xml);
  if ('fault' in result) throw new Error(result.fault);
  return result;
}

const findXml = (name: string): string => VENDOR_DMARC_REPORTS.find(({ vendor }) => vendor.startsWith(name))?.xml ?? '';

function readRecord(name: string): DmarcRecord {
  const [record] = read(findXml(name)).records;
  if (!record) throw new Error(`the report of ${name} has no record`);
  return record;
}

const google = findXml('Google');

describe('a DMARC aggregate report', () => {
  it.each(VENDOR_DMARC_REPORTS)('of $vendor is read', ({ xml }) => {
    const report = read(xml);
    expect(report.reportId).not.toBe('');
    expect(report.policy.domain).toMatch(/^example\./);
    expect([report.records.length, report.recordsOmitted]).toEqual([1, 0]);
    const [record] = report.records;
    expect(record?.headerFrom).toBe(report.policy.domain);
    expect([record?.disposition, record?.dkim, record?.spf]).not.toContain(undefined);
    expect(record?.spfResults[0]?.result).toBeDefined();
  });

  it('has every field of the report of Google', () => {
    expect(read(google)).toEqual({
      orgName: 'google.com',
      email: 'noreply-dmarc-support@google.com',
      reportId: '3166094538684628578',
      begin: new Date('2024-03-06T00:00:00Z'),
      end: new Date('2024-03-06T23:59:59Z'),
      policy: {
        domain: 'example.com',
        p: 'reject',
        sp: 'reject',
        np: 'reject',
        pct: 100,
        adkim: 'relaxed',
        aspf: 'relaxed',
        isTesting: false,
      },
      records: [
        {
          sourceIp: '2001:db8:3:0:21a:4aff:fea1:8a7b',
          count: 2,
          disposition: 'none',
          dkim: 'pass',
          spf: 'pass',
          reasons: [],
          headerFrom: 'example.com',
          envelopeFrom: undefined,
          dkimResults: [{ domain: 'example.com', selector: 's1', result: 'pass' }],
          spfResults: [{ domain: 'example.com', scope: undefined, result: 'pass' }],
        },
      ],
      recordsOmitted: 0,
    });
  });

  it('keeps the envelope sender and the partial policy with strict alignment that Microsoft reports', () => {
    expect(read(findXml('Microsoft')).policy).toMatchObject({
      p: 'quarantine',
      pct: 50,
      adkim: 'strict',
      aspf: 'relaxed',
    });
    expect(readRecord('Microsoft')).toMatchObject({
      disposition: 'quarantine',
      envelopeFrom: 'bounce.example.net',
      spfResults: [{ domain: 'bounce.example.net', scope: 'mfrom', result: 'softfail' }],
    });
  });

  it('is read from Yahoo although a blank follows the end, and has no policy for subdomains', () => {
    const { end, policy } = read(findXml('Yahoo'));
    expect(end.toISOString()).toBe('2019-06-03T23:59:59.000Z');
    expect(policy.sp).toBeUndefined();
  });

  it('is read from Mail.ru without DKIM results', () => {
    expect(readRecord('Mail.ru')).toMatchObject({ disposition: 'reject', dkim: 'fail', dkimResults: [] });
  });

  it('keeps both DKIM results that Amazon SES reports', () => {
    expect(readRecord('Amazon').dkimResults.map(({ domain }) => domain)).toEqual(['example.net', 'example.org']);
  });

  it('leaves out the empty reason that KDDI gives', () => {
    expect(readRecord('KDDI').reasons).toEqual([]);
  });

  it('turns hardfail into fail, and is read with an empty domain and an empty name', () => {
    expect(read(findXml('a receiver')).orgName).toBe('');
    expect(readRecord('a receiver')).toMatchObject({
      dkimResults: [{ domain: undefined, selector: undefined, result: 'fail' }],
      spfResults: [{ domain: 'example.com', result: 'fail' }],
    });
  });

  it('in the form of RFC 9990 says that the policy is tested, and that mail passed', () => {
    const { policy } = read(findXml('the form'));
    expect(policy).toMatchObject({ np: 'reject', isTesting: true, pct: undefined, adkim: undefined });
    expect(readRecord('the form').disposition).toBe('pass');
  });

  it('may have elements with a prefix', () => {
    const prefixed = google
      .replaceAll(/<(\/?)([a-z])/g, '<$1d:$2')
      .replace('<d:feedback', '<d:feedback xmlns:d="urn:x"');
    expect(read(prefixed)).toEqual(read(google));
  });

  it('has the reasons for which the policy was not applied', () => {
    const reasons =
      '<reason><type>forwarded</type></reason>' +
      '<reason><type>Local_Policy</type><comment>arc=pass &amp; trusted</comment></reason>' +
      '<reason><type>new_type</type></reason><reason><comment>list</comment></reason>';
    const [record] = read(google.replace('</policy_evaluated>', `${reasons}</policy_evaluated>`)).records;
    expect(record?.reasons).toEqual([
      { type: 'forwarded', comment: undefined },
      { type: 'local_policy', comment: 'arc=pass & trusted' },
      { type: 'other', comment: undefined },
      { type: 'other', comment: 'list' },
    ]);
  });

  it.each([
    ['<scope>mfrom</scope><result>unknown</result>', { domain: undefined, scope: 'mfrom', result: 'temperror' }],
    [
      '<domain>A.example.</domain><result>error</result>',
      { domain: 'a.example', scope: undefined, result: 'permerror' },
    ],
    ['<scope>helo</scope><result>odd</result>', { domain: undefined, scope: 'helo', result: undefined }],
    ['<result>constructor</result>', { domain: undefined, scope: undefined, result: undefined }],
  ])('with the SPF result %s is read', (written, result) => {
    const [record] = read(google.replace(/<spf>\s*<domain>[^]*?<\/spf>/, `<spf>${written}</spf>`)).records;
    expect(record?.spfResults).toEqual([result]);
  });

  it('leaves out records without a source address or a count, and counts them', () => {
    const odd = [
      '<record/>',
      '<record><row><source_ip>192.0.2.1</source_ip></row></record>',
      '<record><row><source_ip>unknown</source_ip><count>1</count></row></record>',
      '<record><row><source_ip>192.0.2.1</source_ip><count>-1</count></row></record>',
      '<record><row><source_ip>192.0.2.1</source_ip><count>9999999999999</count></row></record>',
    ];
    const report = read(google.replace('</feedback>', `${odd.join('')}</feedback>`));
    expect([report.records.length, report.recordsOmitted]).toEqual([1, 5]);
  });

  it('has at most 10,000 records, and counts the others', () => {
    const record = '<record><row><source_ip>192.0.2.1</source_ip><count>1</count></row></record>';
    const report = read(google.replace('</feedback>', `${record.repeat(10_002)}</feedback>`));
    expect([report.records.length, report.recordsOmitted]).toEqual([10_000, 3]);
  });

  it('may have no record', () => {
    expect(read(google.replace(/<record>[^]*<\/record>/, '')).records).toEqual([]);
  });

  it('has texts of one line without invisible characters, shortened', () => {
    const name = `A\n\u202E&#0;B${'c'.repeat(1000)}`;
    expect(read(google.replace('google.com', name)).orgName).toBe(`A B${'c'.repeat(252)}`);
  });

  it.each([
    ['unused', 'The file has no element feedback.'],
    ['<feedback/>', 'The report has no report_metadata.'],
    [google.replace('</feedback>', ''), 'The XML is cut off in feedback.'],
    // KDDI has sent this.
    [google.replace('</report_id>', '/report_id>'), 'The XML closes report_metadata, which is not open.'],
    [google.replace(/<report_id>.*<\/report_id>/, '<report_id> </report_id>'), 'The report has no report_id.'],
    [google.replace(/<begin>.*<\/begin>/, ''), 'The report has no readable begin of its date_range.'],
    [google.replace('1709769599', '2024-03-06'), 'The report has no readable end of its date_range.'],
    [google.replace('1709769599', '253402300800'), 'The report has no readable end of its date_range.'],
    [google.replace('1709769599', '1609769599'), 'The report ends before it begins.'],
    [google.replace('<domain>example.com</domain>', ''), 'The report has no domain in policy_published.'],
    [' '.repeat(10_485_761), 'The report has 10485761 characters; at most 10485760 are allowed.'],
  ])('is refused with what is wrong with it (%#)', (xml, fault) => {
    expect(readDmarcReport(xml)).toEqual({ fault });
  });
});
