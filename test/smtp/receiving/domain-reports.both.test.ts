import { generateKeyPairSync } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { dkimSign } from 'mailauth/lib/dkim/sign.js';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { insertReport, type ReportRow } from '../../../src/mail/domain-reports/domain-reports.store.ts';
import { removeOldReports } from '../../../src/mail/domain-reports/index.ts';
import type { ReportParts } from '../../../src/mail/domain-reports/read-report.ts';
import { VENDOR_DMARC_REPORTS } from '../../../src/protocol/dmarc-report/vendor-reports.test-helper.ts';
import { zip } from '../../../src/protocol/report-archive.test-helper.ts';
import { VENDOR_TLS_REPORTS } from '../../../src/protocol/tls-report/vendor-reports.test-helper.ts';
import { bringMail } from '../../rig/mx.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

interface Attachment {
  type: string;
  filename?: string;
  content: Buffer | string;
}

/** Composes a message whose only part, or one part of several, is the report. */
function composeMessage(
  { type, filename, content }: Attachment,
  { from = 'noreply@reporter.example', isAlone = false, headers = [] as string[] } = {},
): string {
  const encoded = Buffer.from(content).toString('base64').replaceAll(/.{76}/g, '$&\r\n');
  const part = [
    `Content-Type: ${type}`,
    'Content-Transfer-Encoding: base64',
    `Content-Disposition: attachment${filename === undefined ? '' : `; filename="${filename}"`}`,
    '',
    encoded,
  ];
  const head = [`From: Reports <${from}>`, 'Subject: Report Domain: example.com', 'MIME-Version: 1.0', ...headers];
  if (isAlone) return [...head, ...part, ''].join('\r\n');
  return [
    ...head,
    'Content-Type: multipart/report; report-type=tlsrpt; boundary=b',
    '',
    '--b',
    'Content-Type: text/plain',
    '',
    'This is a report.',
    '--b',
    ...part,
    '--b--',
    '',
  ].join('\r\n');
}

const ZIP = 'application/zip';
const GZIP = 'application/gzip';

interface DmarcRecord {
  ip: string;
  count?: number;
  dkim?: string;
  spf?: string;
  disposition?: string;
  headerFrom?: string;
  spfDomain?: string;
}

const dmarcXml = ({ domain = 'example.com', id = '1', begin = 0, org = 'Reporter', records = [] as DmarcRecord[] }) =>
  `<feedback><report_metadata><org_name>${org}</org_name><email>a@reporter.example</email><report_id>${id}</report_id>
<date_range><begin>${begin}</begin><end>${begin + 86_399}</end></date_range></report_metadata>
<policy_published><domain>${domain}</domain><p>none</p></policy_published>
${records
  .map(
    ({ ip, count = 1, dkim = 'pass', spf = 'fail', disposition = 'none', headerFrom = domain, spfDomain = domain }) =>
      `<record><row><source_ip>${ip}</source_ip><count>${count}</count><policy_evaluated>
<disposition>${disposition}</disposition><dkim>${dkim}</dkim><spf>${spf}</spf></policy_evaluated></row>
<identifiers><header_from>${headerFrom}</header_from></identifiers>
<auth_results><spf><domain>${spfDomain}</domain><result>pass</result></spf></auth_results></record>`,
  )
  .join('\n')}
</feedback>`;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The day that the reports of these tests are about. */
const DAY = Date.parse('2026-02-20T00:00:00Z');
const begin = DAY / 1000;

describe('reports about a domain', () => {
  let scene: Scene;
  let team: Team;
  let domain: { id: string; name: string };
  const TO = 'reports@send.example.com';
  beforeAll(async () => {
    scene = await startScene({
      roles: ['http', 'receiving'],
      startAt: '2026-03-01T12:00:00Z',
      // The reports of the providers are of ten years.
      config: { receiving: { reports_retention_days: 3650 } },
    });
    team = await scene.team();
    domain = await team.domain('example.com');
    for (const name of ['reporter.example', 'other.example'])
      scene.dns.set(name, 'TXT', [['v=spf1 ip4:127.0.0.1 -all']]);
    scene.dns.set('forged.example', 'TXT', [['v=spf1 -all']]);
  });
  afterAll(() => scene.close());
  // Each test gets the reports that a client may bring in an hour.
  beforeEach(() => scene.clock.advance(HOUR_MS));

  const bring = (
    attachment: Attachment,
    { to = TO, ...more }: Parameters<typeof composeMessage>[1] & { to?: string } = {},
  ) =>
    bringMail(scene, {
      from: `bounces@${(more.from ?? 'noreply@reporter.example').split('@')[1]}`,
      to: [to],
      raw: composeMessage(attachment, more),
    });
  const get = async (path: string, { key = team.key, id = domain.id } = {}) =>
    (await scene.api('GET', `/domains/${id}/reports${path}`, { key })).body;
  const list = async (query = '') => (await get(query)).data as Record<string, unknown>[];
  const summary = (date = '2026-02-20') => get(`/summary?start_date=${date}&end_date=${date}`);
  const logged = (text: string) => scene.log.filter((line) => line.includes(text));

  it.each(VENDOR_DMARC_REPORTS)(
    'a DMARC report of $vendor is listed in whatever form it comes',
    async ({ xml: written }) => {
      const xml = written.replaceAll(/<domain>example\.(?:org|de)</g, '<domain>example.com<');
      const before = (await list('?type=dmarc&limit=100')).length;
      const name = 'reporter.example!example.com!1!2.xml';
      expect(
        await bring({ type: ZIP, filename: `${name}.zip`, content: zip({ name, content: Buffer.from(xml) }) }),
      ).toMatch(/^250 /);
      // The same report in other forms is the same report.
      const gzipped = { type: GZIP, filename: `${name}.gz`, content: gzipSync(xml) };
      expect(await bring(gzipped, { isAlone: true })).toMatch(/^250 /);
      expect(await bring({ type: 'text/xml', content: xml })).toMatch(/^250 /);
      expect(await bring({ ...gzipped, type: 'application/octet-stream' })).toMatch(/^250 /);
      const reports = await list('?type=dmarc&limit=100');
      expect(reports).toHaveLength(before + 1);
      expect(reports[0]).toMatchObject({ type: 'dmarc', submitter: 'reporter.example', authenticated: true });
      expect(reports[0]?.['total']).toBeGreaterThan(0);
    },
  );

  it.each(VENDOR_TLS_REPORTS)('a TLS report of $vendor is listed in whatever form it comes', async ({ json }) => {
    const text = json.replaceAll('company-y.example', 'example.com');
    const before = (await list('?type=tls&limit=100')).length;
    expect(await bring({ type: 'application/tlsrpt+gzip', content: gzipSync(text) })).toMatch(/^250 /);
    expect(await bring({ type: 'application/tlsrpt+json', content: text })).toMatch(/^250 /);
    expect(
      await bring({ type: ZIP, filename: 'r.zip', content: zip({ name: 'r.json', content: Buffer.from(text) }) }),
    ).toMatch(/^250 /);
    const reports = await list('?type=tls&limit=100');
    expect(reports).toHaveLength(before + 1);
    expect(reports[0]).toMatchObject({ type: 'tls', authenticated: true, policy_domain: 'example.com' });
  });

  it('a report is stored as no received mail', async () => {
    expect((await scene.api('GET', '/emails/receiving', { key: team.key })).body.data).toEqual([]);
  });

  it('the summary of a day adds up what all its reports say, by source', async () => {
    const own = { ip: '203.0.113.25', spf: 'pass', spfDomain: 'send.example.com' };
    const first = dmarcXml({
      id: 'sum-1',
      begin,
      records: [
        { ...own, count: 90 },
        { ip: '198.51.100.7', count: 4, dkim: 'fail', disposition: 'reject' },
      ],
    });
    const second = dmarcXml({
      id: 'sum-2',
      begin: begin + 3600,
      records: [
        { ...own, count: 10, dkim: 'fail', headerFrom: 'news.example.com' },
        { ip: '198.51.100.7', count: 3, dkim: 'fail', disposition: 'quarantine' },
      ],
    });
    await bring({ type: GZIP, content: gzipSync(first) });
    await bring({ type: GZIP, content: gzipSync(second) }, { from: 'noreply@other.example' });
    expect(await summary()).toEqual({
      object: 'domain_report_summary',
      start_date: '2026-02-20',
      end_date: '2026-02-20',
      address: TO,
      reports: { dmarc: 2, tls: 0, unauthenticated: 0 },
      is_complete: true,
      dmarc: {
        messages: 107,
        passed: 100,
        dkim_passed: 90,
        spf_passed: 100,
        quarantined: 3,
        rejected: 4,
        sources: [
          {
            source_ip: '203.0.113.25',
            is_own: true,
            from_domains: ['example.com', 'news.example.com'],
            messages: 100,
            passed: 100,
            dkim_passed: 90,
            spf_passed: 100,
            quarantined: 0,
            rejected: 0,
          },
          {
            source_ip: '198.51.100.7',
            is_own: false,
            from_domains: ['example.com'],
            messages: 7,
            passed: 0,
            dkim_passed: 0,
            spf_passed: 0,
            quarantined: 3,
            rejected: 4,
          },
        ],
        unlisted_sources: 0,
      },
      tls: { sessions: 0, successful: 0, failed: 0, reporters: [] },
    });
  });

  it('the summary shows whose TLS failed, by reporter and result', async () => {
    const { tls } = await summary('2024-02-22');
    expect(tls).toEqual({
      sessions: 2,
      successful: 0,
      failed: 2,
      reporters: [
        {
          organization: 'Mail.ru',
          submitter: 'reporter.example',
          successful: 0,
          failed: 2,
          failures: [{ result_type: 'sts-policy-fetch-error', policy_type: 'sts', mx_host: null, sessions: 2 }],
        },
      ],
    });
  });

  it('a report that nothing proves is marked, and does not count in the summary', async () => {
    const xml = dmarcXml({ id: 'forged', begin: begin + DAY_MS / 1000, records: [{ ip: '192.0.2.66', count: 1000 }] });
    expect(await bring({ type: GZIP, content: gzipSync(xml) }, { from: 'noreply@forged.example' })).toMatch(/^250 /);
    expect((await list())[0]).toMatchObject({ submitter: 'forged.example', authenticated: false, total: 1000 });
    const day = await summary('2026-02-21');
    expect(day).toMatchObject({ reports: { dmarc: 0, unauthenticated: 1 }, dmarc: { messages: 0, sources: [] } });
    // The real one is not taken for a copy of it.
    await bring({ type: GZIP, content: gzipSync(xml) });
    expect(await summary('2026-02-21')).toMatchObject({ reports: { dmarc: 1 }, dmarc: { messages: 1000 } });
  });

  it.each([
    ['SPF of a parent of the domain in From', 'noreply@mail.reporter.example', 'b@reporter.example', true],
    ['SPF of another domain than that in From', 'noreply@google.example', 'b@reporter.example', false],
    ['SPF of a top-level domain', 'noreply@reporter.example', 'b@example', false],
  ])('%s proves its submitter: %s', async (_, from, mailFrom, isProven) => {
    const xml = dmarcXml({ id: `proof of ${from} by ${mailFrom}`, begin: begin + 2 * 86_400 });
    const raw = composeMessage({ type: GZIP, content: gzipSync(xml) }, { from });
    expect(await bringMail(scene, { from: mailFrom, to: [TO], raw })).toMatch(/^250 /);
    expect((await list())[0]).toMatchObject({ submitter: from.split('@')[1], authenticated: isProven });
  });

  it('a signature of the domain in From proves a report without SPF', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const key = publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
    scene.dns.set('s1._domainkey.forged.example', 'TXT', [`v=DKIM1; k=rsa; p=${key}`.match(/.{1,250}/g) ?? []]);
    const raw = composeMessage(
      { type: GZIP, content: gzipSync(dmarcXml({ id: 'signed', begin: begin + 2 * 86_400 })) },
      { from: 'noreply@forged.example' },
    );
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const { signatures } = await dkimSign(raw, {
      signatureData: [{ signingDomain: 'forged.example', selector: 's1', privateKey: pem }],
    } as unknown as Parameters<typeof dkimSign>[1]);
    expect(await bringMail(scene, { from: '', to: [TO], raw: signatures + raw })).toMatch(/^250 /);
    expect((await list())[0]).toMatchObject({ submitter: 'forged.example', authenticated: true });
  });

  it('one hundred unproven reports about a day are listed, and others still count', async () => {
    const flooded = await team.domain();
    const to = `reports@send.${flooded.name}`;
    const bringNth = (n: number, from: string) =>
      bring(
        {
          type: GZIP,
          content: gzipSync(dmarcXml({ id: `${n}`, begin, domain: flooded.name, records: [{ ip: '192.0.2.1' }] })),
        },
        { to, from },
      );
    for (let n = 0; n < 100; n++) {
      if (n % 50 === 49) scene.clock.advance(HOUR_MS);
      expect(await bringNth(n, 'noreply@forged.example')).toMatch(/^250 /);
    }
    expect(await bringNth(100, 'noreply@forged.example')).toMatch(/^451 4\.7\.1 Too many reports/);
    expect(await bringNth(100, 'noreply@reporter.example')).toMatch(/^250 /);
    expect(await get('/summary?start_date=2026-02-20&end_date=2026-02-20', flooded)).toMatchObject({
      reports: { dmarc: 1, unauthenticated: 100 },
      dmarc: { messages: 1 },
    });
  });

  it('a report about another domain is logged and discarded', async () => {
    const before = await list();
    const xml = dmarcXml({ id: 'foreign', begin, domain: 'example.net' });
    expect(await bring({ type: GZIP, content: gzipSync(xml) })).toMatch(/^250 /);
    const tls = VENDOR_TLS_REPORTS[0]?.json.replaceAll('example.com', 'example.net') ?? '';
    expect(await bring({ type: 'application/tlsrpt+json', content: tls })).toMatch(/^250 /);
    expect(await list()).toEqual(before);
    expect(logged('The report is about another domain: example.net.')).toHaveLength(2);
  });

  it('a report about a parent of a domain counts, because the record of the parent covers it', async () => {
    const below = await team.domain('mail.below.example');
    const xml = dmarcXml({ domain: 'below.example', begin, records: [{ ip: '192.0.2.1' }] });
    await bring({ type: GZIP, content: gzipSync(xml) }, { to: 'reports@send.mail.below.example' });
    expect((await get('', below)).data).toMatchObject([{ policy_domain: 'below.example', total: 1 }]);
  });

  it.each([
    [
      'a zip that expands to 100 MB',
      zip({ name: 'a.xml', content: Buffer.alloc(100 * 1024 * 1024, ' ') }),
      'expands to more than',
    ],
    ['a gzip that expands to 100 MB', gzipSync(Buffer.alloc(100 * 1024 * 1024, ' ')), 'expands to more than'],
    ['a gzip that is cut off', gzipSync(dmarcXml({ begin })).subarray(0, -20), 'is cut off'],
    ['XML that is cut off', gzipSync(dmarcXml({ begin }).slice(0, -5)), 'discarded a report'],
    ['JSON that is no report', gzipSync('{"a":1}'), 'The report has no readable start-datetime.'],
    ['a report about the future', gzipSync(dmarcXml({ begin: begin + 40 * 86_400 })), 'about the future'],
    ['a report that is too old', gzipSync(dmarcXml({ begin: 1 })), 'older than reports are kept'],
  ])('%s is logged and harmless', async (_, content, because) => {
    const before = await list();
    const lines = logged(because).length;
    expect(await bring({ type: GZIP, filename: 'a.gz', content })).toMatch(/^250 /);
    expect(logged(because).length).toBeGreaterThan(lines);
    expect(await list()).toEqual(before);
  });

  it('mail without a report is refused, and mail to other addresses of the return path too', async () => {
    const raw = 'From: a@reporter.example\r\nSubject: Hello\r\n\r\nHello\r\n';
    expect(await bringMail(scene, { to: [TO], raw })).toMatch(
      /^550 5\.7\.1 This address accepts only aggregate reports/,
    );
    expect(logged('refused mail to a report address without a report')).toHaveLength(1);
    expect(await bringMail(scene, { to: ['other@send.example.com'], raw })).toMatch(/^550 5\.7\.1/);
    expect(await bringMail(scene, { to: ['reports@send.elsewhere.example'], raw })).toMatch(/^550 5\.7\.1/);
  });

  it('a report has one recipient and 10 MiB at most', async () => {
    const other = await team.domain();
    const xml = dmarcXml({ id: 'two', begin });
    const raw = composeMessage({ type: GZIP, content: gzipSync(xml) });
    const reply = await bringMail(scene, { to: [TO, `reports@send.${other.name}`], raw });
    expect(reply).toMatch(/^250 /);
    expect((await get('', other)).data).toEqual([]);
    const large = composeMessage({ type: 'text/xml', content: Buffer.alloc(8 * 1024 * 1024, 'a') });
    expect(await bringMail(scene, { to: [TO], raw: large })).toMatch(/^552 5\.3\.4 /);
  });

  it('the list has pages and filters', async () => {
    const all = await list('?limit=100');
    const first = await get('?limit=3');
    expect(first).toMatchObject({ object: 'list', has_more: true, data: all.slice(0, 3) });
    const id = first.data[2].id as string;
    expect(await list(`?limit=2&after=${id}`)).toEqual(all.slice(3, 5));
    expect(await list(`?limit=2&before=${id}`)).toEqual(all.slice(0, 2));
    expect(await list('?start_date=2026-03-10')).toEqual([]);
    expect(await list('?start_date=2026-03-01&end_date=2026-03-09&limit=100')).toEqual(all);
    expect(await list('?type=tls&limit=100')).toEqual(all.filter(({ type }) => type === 'tls'));
  });

  it.each([
    ['?type=arf', 'type must be dmarc or tls'],
    ['?start_date=soon', 'start_date must be an ISO 8601 date or time'],
    ['/summary?start_date=2026-02-20T10:00:00Z', 'start_date must be a date, such as'],
    ['/summary?start_date=2026-02-20&end_date=2026-02-19', 'end_date must not be before start_date.'],
    ['/summary?start_date=2025-02-20&end_date=2026-02-20', 'The range has 366 days; at most 92 are allowed.'],
  ])('GET …/reports%s is refused with what is wrong', async (path, message) => {
    expect(await get(path)).toMatchObject({ statusCode: 422, message: expect.stringContaining(message) });
  });

  it('reports of a domain of another team answer as those of an unknown domain', async () => {
    const { key } = await scene.team();
    for (const path of ['', '/summary']) {
      const foreign = await get(path, { key });
      expect(foreign).toEqual(await get(path, { key, id: '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e99' }));
      expect(foreign).toMatchObject({ statusCode: 404 });
    }
    expect(await get('', { key: await team.sendingKey() })).toMatchObject({ statusCode: 401 });
  });

  it('one client can bring sixty reports about a domain in an hour', async () => {
    const busy = await team.domain();
    const to = `reports@send.${busy.name}`;
    // A submitter that is not known has fifty reports about a day.
    const bringNth = (n: number) => {
      const xml = dmarcXml({ id: `${n}`, begin: begin + (n % 2) * 86_400, domain: busy.name });
      return bring({ type: GZIP, content: gzipSync(xml) }, { to });
    };
    for (let n = 0; n < 60; n++) expect(await bringNth(n)).toMatch(/^250 /);
    expect(await bringNth(60)).toMatch(/^451 4\.7\.1 Too many reports/);
    scene.clock.advance(HOUR_MS);
    expect(await bringNth(60)).toMatch(/^250 /);
    expect((await get('/summary?start_date=2026-02-20', busy)).reports.dmarc).toBe(61);
  });

  it('sources of a report beyond 1,000 are counted together', async () => {
    const wide = await team.domain();
    const records = Array.from({ length: 1500 }, (_, n) => ({
      ip: `10.1.${n >> 8}.${n & 255}`,
      count: n < 500 ? 1 : 2,
    }));
    const xml = dmarcXml({ domain: wide.name, begin, records });
    expect(await bring({ type: GZIP, content: gzipSync(xml) }, { to: `reports@send.${wide.name}` })).toMatch(/^250 /);
    const { dmarc } = await get('/summary?start_date=2026-02-20&end_date=2026-02-20', wide);
    expect(dmarc).toMatchObject({ messages: 2500, unlisted_sources: 901 });
    expect(dmarc.sources[0]).toMatchObject({ source_ip: null, messages: 500 });
  });

  /** Stores reports as many days and submitters would send them. */
  const store = (
    id: string,
    reports: { day: number; submitter?: string; registered?: string; organization?: string; parts: ReportParts }[],
  ) =>
    scene.app.world.db.tx(async (tx) => {
      for (const one of reports) {
        const { day, submitter = 'reporter.example', organization = 'Reporter', parts } = one;
        const { registered = submitter } = one;
        const reportId = scene.app.world.ids.uuid();
        const row: ReportRow = {
          id: reportId,
          domain_id: id,
          type: parts.type,
          organization,
          submitter,
          organizational_domain: registered,
          authenticated: 1,
          fingerprint: reportId,
          report_id: reportId,
          policy_domain: 'example.com',
          begin_at: DAY + day * DAY_MS,
          end_at: DAY + day * DAY_MS,
          day: DAY + day * DAY_MS,
          total: 1,
          passed: 0,
          parts: parts.type === 'tls' ? parts.sessions.length : parts.sources.length,
          created_at: scene.clock.now(),
        };
        await insertReport(tx, row, parts);
      }
    });
  const failures = (hosts: readonly (readonly [host: string, sessions: number])[]): ReportParts => ({
    type: 'tls',
    sessions: hosts.map(([mxHost, sessions]) => ({
      policyType: 'sts',
      result: 'certificate-expired',
      mxHost,
      sendingIp: '',
      sessions,
    })),
  });
  const manyHosts = (day: number) => Array.from({ length: 3000 }, (_, n) => [`${day}-${n}.example.net`, 1] as const);

  it('a submitter is one TLS reporter, whatever names it gives itself', async () => {
    const renamed = await team.domain();
    const parts = failures([['mx.example.com', 2]]);
    await store(
      renamed.id,
      [0, 1, 2].map((day) => ({ day, organization: `Name ${day}`, parts })),
    );
    const { tls } = await get('/summary?start_date=2026-02-20&end_date=2026-02-26', renamed);
    expect(tls.reporters).toEqual([
      {
        organization: 'Name 2',
        submitter: 'reporter.example',
        successful: 0,
        failed: 6,
        failures: [{ result_type: 'certificate-expired', policy_type: 'sts', mx_host: 'mx.example.com', sessions: 6 }],
      },
    ]);
  });

  it('the summary of a flooded domain keeps the most frequent failures, and says that it leaves some out', async () => {
    const flooded = await team.domain();
    const days = [0, 1, 2, 3];
    await store(flooded.id, [
      ...days.map((day) => ({ day, parts: failures(manyHosts(day)) })),
      ...days.map((day) => ({ day, submitter: 'other.example', parts: failures([['mx.example.com', 5]]) })),
      { day: 3, parts: failures([['mx.example.com', 9]]) },
    ]);
    const { tls, is_complete: isComplete } = await get('/summary?start_date=2026-02-20&end_date=2026-02-26', flooded);
    expect(isComplete).toBe(false);
    expect(tls).toMatchObject({ sessions: 12_029, failed: 12_029 });
    const [first, second] = tls.reporters;
    expect(first).toMatchObject({ submitter: 'reporter.example', failed: 12_009 });
    expect(first.failures).toHaveLength(50);
    expect(first.failures[0]).toMatchObject({ mx_host: 'mx.example.com', sessions: 9 });
    expect(second).toMatchObject({ submitter: 'other.example', failures: [{ sessions: 20 }] });
  });

  it('the summary of a flooded domain keeps the sources with most mail, and counts the others together', async () => {
    const flooded = await team.domain();
    const source = (sourceIp: string, messages: number) => ({
      sourceIp,
      headerFrom: 'example.com',
      disposition: 'none' as const,
      hasPassedDkim: false,
      hasPassedSpf: true,
      isOwn: false,
      messages,
    });
    const sources = [0, 1, 2, 3].map((day) => [
      ...Array.from({ length: 3000 }, (_, n) => source(`10.${day}.${n >> 8}.${n & 255}`, 1)),
      ...(day === 3 ? [source('192.0.2.1', 2)] : []),
    ]);
    await store(
      flooded.id,
      sources.map((ofDay, day) => ({ day, parts: { type: 'dmarc', sources: ofDay } })),
    );
    const summed = await get('/summary?start_date=2026-02-20&end_date=2026-02-26', flooded);
    expect(summed).toMatchObject({ is_complete: false, dmarc: { messages: 12_002, spf_passed: 12_002 } });
    const [others, largest] = summed.dmarc.sources;
    expect(others).toMatchObject({ source_ip: null, messages: 7001, passed: 7001, dkim_passed: 0 });
    expect(largest).toMatchObject({ source_ip: '192.0.2.1', messages: 2 });
    expect(summed.dmarc.unlisted_sources).toBe(4901);
  });

  const NONE: ReportParts = { type: 'dmarc', sources: [] };
  const times = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));
  const bringSources = (name: string, sources: number, { from = 'noreply@reporter.example', id = '' } = {}) => {
    const records = times(sources, (n) => ({ ip: `10.2.${n >> 8}.${n & 255}` }));
    const xml = dmarcXml({ id: `${id} of ${from}`, begin, domain: name, records });
    return bring({ type: GZIP, content: gzipSync(xml) }, { to: `reports@send.${name}`, from });
  };

  it('submitters below one registered name have one hundred reports about a day, and take no room of others', async () => {
    const flooded = await team.domain();
    scene.dns.set('new.reporter.example', 'TXT', [['v=spf1 ip4:127.0.0.1 -all']]);
    expect(await bringSources(flooded.name, 1)).toMatch(/^250 /);
    await store(
      flooded.id,
      times(99, () => ({ day: 0, parts: NONE })),
    );
    expect(await bringSources(flooded.name, 1, { from: 'noreply@new.reporter.example' })).toMatch(/^451 4\.7\.1 /);
    expect(await bringSources(flooded.name, 1)).toMatch(/^250 /);
    expect(await bringSources(flooded.name, 1, { from: 'noreply@other.example' })).toMatch(/^250 /);
  });

  it('beyond 2,000 sources of a known submitter in a day, they are counted together, and those of others are not', async () => {
    const flooded = await team.domain();
    await store(flooded.id, [{ day: -5, parts: NONE }]);
    scene.clock.advance(DAY_MS);
    await store(
      flooded.id,
      times(2, (report) => ({
        day: 0,
        parts: failures(times(report === 0 ? 1000 : 990, (n) => [`${n}.example.net`, 1] as const)),
      })),
    );
    await bringSources(flooded.name, 50);
    await bringSources(flooded.name, 50, { from: 'noreply@other.example' });
    const { dmarc } = await get('/summary?start_date=2026-02-20&end_date=2026-02-20', flooded);
    expect(dmarc).toMatchObject({ messages: 100, unlisted_sources: 0 });
    expect(dmarc.sources).toHaveLength(51);
    expect(dmarc.sources[0]).toMatchObject({ source_ip: null, messages: 50 });
  });

  it('an account at a provider displaces no report of the provider, and is not known because the provider is', async () => {
    const flooded = await team.domain();
    for (const name of ['gmx.example', 'sicher.gmx.example'])
      scene.dns.set(name, 'TXT', [['v=spf1 ip4:127.0.0.1 -all']]);
    await store(flooded.id, [{ day: -5, submitter: 'sicher.gmx.example', registered: 'gmx.example', parts: NONE }]);
    scene.clock.advance(DAY_MS);
    const forged = { submitter: 'gmx.example', registered: 'gmx.example' };
    await store(flooded.id, [
      { day: 0, ...forged, parts: failures(times(990, (n) => [`${n}.example.net`, 1] as const)) },
      ...times(48, () => ({ day: 0, ...forged, parts: NONE })),
    ]);
    const bringForged = (sources: number, id: string) =>
      bringSources(flooded.name, sources, { from: 'mallory@gmx.example', id });
    expect(await bringForged(20, 'fiftieth')).toMatch(/^250 /);
    expect(await bringForged(1, 'more')).toMatch(/^451 4\.7\.1 /);
    expect(await bringSources(flooded.name, 30, { from: 'noreply@sicher.gmx.example' })).toMatch(/^250 /);
    const { dmarc } = await get('/summary?start_date=2026-02-20&end_date=2026-02-20', flooded);
    expect(dmarc.sources).toHaveLength(31);
    expect(dmarc.sources[0]).toMatchObject({ source_ip: null, messages: 20 });
  });

  it('submitters that are not known have half of the reports and sources that a domain may have in a day', async () => {
    const flooded = await team.domain();
    await store(flooded.id, [{ day: -5, parts: NONE }]);
    scene.clock.advance(DAY_MS);
    const flood = (reports: number, sources: number) =>
      store(
        flooded.id,
        times(reports, (n) => ({
          day: 0,
          submitter: `flood-${n % 20}.example`,
          parts: failures(times(sources, (host) => [`${host}.example.net`, 1] as const)),
        })),
      );
    await flood(10, 1000);
    await bringSources(flooded.name, 30, { from: 'noreply@other.example' });
    await bringSources(flooded.name, 20);
    const { dmarc } = await get('/summary?start_date=2026-02-20&end_date=2026-02-20', flooded);
    expect(dmarc.sources).toHaveLength(21);
    expect(dmarc.sources[0]).toMatchObject({ source_ip: null, messages: 30 });
    await flood(990, 0);
    expect(await bringSources(flooded.name, 1, { from: 'noreply@other.example', id: 'more' })).toMatch(/^451 4\.7\.1 /);
    expect(await bringSources(flooded.name, 1, { id: 'more' })).toMatch(/^250 /);
  });

  it('reports are removed after the retention, and those of a deleted domain', async () => {
    const gone = await team.domain();
    const xml = dmarcXml({ domain: gone.name, begin, records: [{ ip: '192.0.2.1' }] });
    await bring({ type: GZIP, content: gzipSync(xml) }, { to: `reports@send.${gone.name}` });
    await scene.api('DELETE', `/domains/${gone.id}`, { key: team.key });
    expect(await get('', gone)).toMatchObject({ statusCode: 404 });
    expect(await removeOldReports(scene.app.world)).toBe(1);
    const countRows = async (): Promise<number[]> => {
      const tables = ['domain_reports', 'domain_report_sources', 'domain_report_sessions', 'domain_report_counts'];
      const rows = tables.map((table) => scene.app.world.db.get<{ n: number }>(`select count(*) as n from ${table}`));
      return (await Promise.all(rows)).map((row) => Number(row?.n));
    };
    const isOld = ({ begin_at: at }: Record<string, unknown>): boolean => String(at) < '2022-01-01';
    const removeAt = (time: string): Promise<number> =>
      removeOldReports({ ...scene.app.world, clock: { now: () => Date.parse(time) } });
    const all = await list('?limit=100');
    expect(all.filter(isOld).length).toBeGreaterThan(0);
    expect(await removeAt('2031-12-31T00:00:00Z')).toBe(all.filter(isOld).length);
    expect(await list('?limit=100')).toEqual(all.filter((one) => !isOld(one)));
    await removeAt('2041-12-31T00:00:00Z');
    expect(await countRows()).toEqual([0, 0, 0, 0]);
  });

  it('in a full installation, only reports of known submitters count', async () => {
    await using full = await startScene({
      roles: ['http', 'receiving'],
      startAt: '2026-02-21T12:00:00Z',
      config: { receiving: { report_parts_max: 3 } },
    });
    const owner = await full.team();
    const { id, name } = await owner.domain();
    for (const submitter of ['reporter.example', 'other.example'])
      full.dns.set(submitter, 'TXT', [['v=spf1 ip4:127.0.0.1 -all']]);
    const bringOne = (submitter: string, reportId: string) => {
      const xml = dmarcXml({ id: reportId, begin, domain: name, records: times(3, (n) => ({ ip: `192.0.2.${n}` })) });
      const raw = composeMessage({ type: GZIP, content: gzipSync(xml) }, { from: `noreply@${submitter}` });
      return bringMail(full, { from: `bounces@${submitter}`, to: [`reports@send.${name}`], raw });
    };
    expect(await bringOne('reporter.example', '1')).toMatch(/^250 /);
    full.clock.advance(DAY_MS);
    expect(await bringOne('other.example', '2')).toMatch(/^250 /);
    expect(await bringOne('reporter.example', '3')).toMatch(/^250 /);
    const path = `/domains/${id}/reports/summary?start_date=2026-02-20&end_date=2026-02-20`;
    const { body } = await full.api('GET', path, { key: owner.key });
    expect(body).toMatchObject({ reports: { dmarc: 3 }, dmarc: { messages: 6 } });
  });
});
