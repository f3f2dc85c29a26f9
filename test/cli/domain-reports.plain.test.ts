import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startAnswering, type Asked, type Reply } from './contract-server.ts';
import { Desk, type Surroundings } from './desk.ts';

vi.setConfig({ testTimeout: 180_000 });

let desk: Desk;
let server: Awaited<ReturnType<typeof startAnswering>> | undefined;
beforeEach(() => {
  desk = new Desk();
});
afterEach(async () => {
  server?.close();
  await desk.clear();
});

const DOMAIN = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01';
const none = { messages: 0, passed: 0, dkim_passed: 0, spf_passed: 0, quarantined: 0, rejected: 0 };
const summary = {
  object: 'domain_report_summary',
  start_date: '2026-11-14',
  end_date: '2026-11-20',
  address: 'reports@send.example.com',
  reports: { dmarc: 31, tls: 1, unauthenticated: 2 },
  is_complete: true,
  dmarc: {
    messages: 1204,
    passed: 1200,
    dkim_passed: 1200,
    spf_passed: 602,
    quarantined: 0,
    rejected: 4,
    sources: [
      { ...none, source_ip: '203.0.113.25', is_own: true, from_domains: ['example.com'], messages: 1200, passed: 1200 },
      { ...none, source_ip: '198.51.100.7', is_own: false, from_domains: [], messages: 4, rejected: 4 },
    ],
    unlisted_sources: 7,
  },
  tls: {
    sessions: 310,
    successful: 309,
    failed: 1,
    reporters: [
      {
        organization: 'Google Inc.',
        submitter: 'google.com',
        successful: 309,
        failed: 1,
        failures: [
          { result_type: 'certificate-expired', policy_type: 'sts', mx_host: 'rasket.example.com', sessions: 1 },
        ],
      },
    ],
  },
};
const nothing = {
  ...summary,
  reports: { dmarc: 0, tls: 0, unauthenticated: 0 },
  dmarc: { ...none, sources: [], unlisted_sources: 0 },
  tls: { sessions: 0, successful: 0, failed: 0, reporters: [] },
};
const report = {
  id: '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e09',
  type: 'dmarc',
  organization: 'google.com',
  submitter: 'google.com',
  authenticated: true,
  report_id: '3166094538684628578',
  policy_domain: 'example.com',
  begin_at: '2026-11-19T00:00:00.000Z',
  end_at: '2026-11-19T23:59:59.000Z',
  total: 1204,
  passed: 1200,
  failed: 4,
  created_at: '2026-11-20T02:10:00.000Z',
};

async function answering(body: object): Promise<Surroundings & { asked: Pick<Asked, 'path' | 'query'>[] }> {
  const asked: Pick<Asked, 'path' | 'query'>[] = [];
  server = await startAnswering(({ path, query }: Asked): Reply => {
    asked.push({ path, query });
    return { status: 200, body: path.includes('summary') ? body : { object: 'list', has_more: false, data: [report] } };
  });
  return { env: { RASKET_URL: server.url, RASKET_API_KEY: 'rk_test' }, asked };
}

describe('rasket domains reports', () => {
  it('shows the totals in sentences, then sources and TLS reporters in tables', async () => {
    const { stdout, stderr } = await desk.rasket(['domains', 'reports', DOMAIN], await answering(summary));
    expect(stderr).toBe('');
    expect(stdout).toContain('2026-11-14 to 2026-11-20: 31 DMARC reports, 1 TLS report.');
    expect(stdout).toContain('2 more reports do not count, because nothing proves who sent them.');
    expect(stdout).toContain('1,204 messages: 99.7 % passed DMARC (SPF 50 %, DKIM 99.7 %); 0 quarantined, 4 rejected.');
    expect(stdout).toMatch(/^203\.0\.113\.25\tyes\t1200\t100 %/m);
    expect(stdout).toMatch(/^198\.51\.100\.7\tno\t4\t0 %/m);
    expect(stdout).toMatch(/^Google Inc\.\tgoogle\.com\t309\t1\t1× certificate-expired at rasket\.example\.com$/m);
  });

  it('says that small sources may be missing if there are too many', async () => {
    const around = await answering({ ...summary, is_complete: false });
    const { stdout } = await desk.rasket(['domains', 'reports', DOMAIN], around);
    expect(stdout).toContain('the totals are complete, small ones may be missing.');
  });

  it('asks for the days of its options', async () => {
    const around = await answering(summary);
    await desk.rasket(['domains', 'reports', DOMAIN, '--start-date', '2026-11-01', '--end-date', '2026-11-02'], around);
    expect(around.asked).toEqual([
      {
        path: `/domains/${DOMAIN}/reports/summary`,
        query: { start_date: '2026-11-01', end_date: '2026-11-02' },
      },
    ]);
  });

  it('with --json prints what the API returned', async () => {
    const { stdout } = await desk.rasket(['domains', 'reports', DOMAIN, '--json'], await answering(summary));
    expect(JSON.parse(stdout)).toEqual(summary);
  });

  it('names the address for reports if there are none', async () => {
    const { stdout } = await desk.rasket(['domains', 'reports', DOMAIN], await answering(nothing));
    expect(stdout).toContain('0 DMARC reports, 0 TLS reports.');
    expect(stdout).toContain('Reports have to be sent to reports@send.example.com');
  });
});

describe('rasket domains report-list', () => {
  it('lists the reports', async () => {
    const around = await answering(summary);
    const { stdout } = await desk.rasket(['domains', 'report-list', DOMAIN, '--type', 'dmarc'], around);
    expect(stdout).toContain('google.com');
    expect(around.asked).toMatchObject([{ path: `/domains/${DOMAIN}/reports`, query: { type: 'dmarc' } }]);
  });
});
