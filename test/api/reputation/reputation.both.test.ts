// GET /operator/reputation and GET /domains/{domain_id}/reputation: what providers did with mail, grouped, judged and compared
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { insertReport, type ReportRow } from '../../../src/mail/domain-reports/domain-reports.store.ts';
import { addReputationCounts, type ReputationCount } from '../../../src/mail/reputation/index.ts';
import { HOUR } from '../../flow/mail.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const DAY = 24 * HOUR;
/** Mail outside of pools is counted by the EHLO name and the addresses. */
const OUTSIDE = 'mail.example.com 192.0.2.25';

let scene: Scene;
let token: string;
let team: Team;
let other: Team;
let shop: { id: string; name: string };
let news: { id: string; name: string };
let theirs: { id: string; name: string };

beforeAll(async () => {
  scene = await startScene({
    startAt: '2026-11-30T10:02:00Z',
    config: {
      sources: { first: { source_v4: '127.0.8.1' }, second: { source_v4: '127.0.8.2' } },
      pools: { main: { sources: ['first', 'second'] } },
      providers: { acme: { title: 'Acme', domains: ['acme.test'] } },
    },
  });
  token = await scene.operator();
  team = await scene.team();
  other = await scene.team();
  shop = await team.domain('shop.example.com');
  news = await team.domain('news.example.com');
  theirs = await other.domain('theirs.example.net');
  await count({ count: 600 });
  await count({ count: 40, outcome: 'bounced', cause: 'recipient_unknown' });
  await count({ count: 2, outcome: 'bounced' });
  await count({ count: 30, outcome: 'deferred', cause: 'greylist', daysAgo: 2 });
  await count({ count: 1, outcome: 'complained', daysAgo: 1 });
  await count({ count: 500, daysAgo: 8 });
  await count({ count: 3, outcome: 'bounced', daysAgo: 8 });
  await count({ count: 50, source: 'second', provider: '', domainId: news.id });
  await count({
    count: 10,
    source: OUTSIDE,
    provider: 'acme',
    domainId: theirs.id,
    teamId: other.id,
    isMarketing: true,
  });
  await count({ count: 400, daysAgo: 40, domainId: news.id, source: 'second' });
});
afterAll(() => scene.close());

async function count({ daysAgo = 0, ...more }: Partial<ReputationCount> & { daysAgo?: number }): Promise<void> {
  const { db, ids, clock } = scene.app.world;
  const one: ReputationCount = {
    source: 'first',
    provider: 'acme',
    domainId: shop.id,
    teamId: team.id,
    isMarketing: false,
    outcome: 'accepted',
    cause: '',
    count: 1,
    ...more,
  };
  await db.tx((tx) => addReputationCounts(tx, ids, clock.now() - daysAgo * DAY, [one]));
}

const ask = (query = '', key = token) => scene.api('GET', `/operator/reputation${query}`, { key });
const askTeam = (id: string, query = '', key = team.key) =>
  scene.api('GET', `/domains/${id}/reputation${query}`, { key });
const total = ({
  accepted,
  deferred,
  bounced,
}: {
  accepted: number;
  deferred: { total: number };
  bounced: { total: number };
}) => accepted + deferred.total + bounced.total;

describe('the reputation for an operator', () => {
  it('has an entry for each source and provider, those with most mail first, with causes, rates, trend, level and days', async () => {
    const { body } = await ask();
    expect(body).toMatchObject({
      object: 'reputation',
      start_date: '2026-11-24',
      end_date: '2026-11-30',
      days: 7,
      group_by: ['source', 'provider'],
      has_more: false,
    });
    expect(body.dates).toHaveLength(7);
    expect(body.data[0]).toEqual({
      source: 'first',
      provider: 'acme',
      provider_title: 'Acme',
      accepted: 600,
      deferred: { total: 30, causes: [{ cause: 'greylist', recipients: 30 }] },
      bounced: {
        total: 42,
        causes: [
          { cause: 'recipient_unknown', recipients: 40 },
          { cause: null, recipients: 2 },
        ],
      },
      complained: 1,
      rates: { deferred: 4.67, bounced: 6.54, complained: 0.17 },
      trend: { direction: 'worse', rates: { deferred: 0, bounced: 0.6, complained: 0 } },
      level: 'bad',
      reason: '6.54 % of the recipients bounced; above 5 % providers block a sender.',
      daily: {
        accepted: [0, 0, 0, 0, 0, 0, 600],
        deferred: [0, 0, 0, 0, 30, 0, 0],
        bounced: [0, 0, 0, 0, 0, 0, 42],
        complained: [0, 0, 0, 0, 0, 1, 0],
      },
    });
    expect(body.data.slice(1)).toMatchObject([
      { source: 'second', provider: null, provider_title: 'Receivers without a provider', level: 'good', trend: null },
      { source: OUTSIDE, provider: 'acme', accepted: 10, level: 'unknown', trend: null },
    ]);
  });

  it.each([
    { by: 'source', totals: [672, 50, 10], keys: [{ source: 'first' }, { source: 'second' }, { source: OUTSIDE }] },
    { by: 'provider', totals: [682, 50], keys: [{ provider: 'acme' }, { provider: null }] },
    {
      by: 'domain',
      totals: [672, 50, 10],
      keys: ['shop.example.com', 'news.example.com', 'theirs.example.net'].map((name) => ({ domain_name: name })),
    },
    {
      by: 'domain,provider',
      totals: [672, 50, 10],
      keys: [
        { provider: 'acme', domain_name: 'shop.example.com' },
        { provider: null, domain_name: 'news.example.com' },
        { provider: 'acme', domain_name: 'theirs.example.net' },
      ],
    },
  ])('is grouped by $by', async ({ by, keys, totals }) => {
    const { body } = await ask(`?group_by=${by}`);
    expect(body.data).toMatchObject(keys);
    expect(body.data.map(total)).toEqual(totals);
  });

  it('counts only mail of a source, to a provider, to receivers without one, or from a domain', async () => {
    const totals = async (query: string) => (await ask(query)).body.data.map(total);
    expect(await totals('?source=second')).toEqual([50]);
    expect(await totals(`?source=${encodeURIComponent(OUTSIDE)}`)).toEqual([10]);
    expect(await totals('?provider=acme')).toEqual([672, 10]);
    expect(await totals('?provider=other')).toEqual([50]);
    expect(await totals('?domain=Theirs.example.net')).toEqual([10]);
    expect(await totals('?source=first&domain=news.example.com')).toEqual([]);
    expect((await ask('?source=second')).body.sources).toMatchObject([{ source: 'second' }]);
  });

  it('counts 1 to 90 days, and compares them with as many days before', async () => {
    expect((await ask('?days=1')).body.data[0]).toMatchObject({ accepted: 600, deferred: { total: 0 }, complained: 0 });
    const { body } = await ask('?days=90&group_by=source');
    expect(body.dates).toHaveLength(90);
    expect(body.data).toMatchObject([{ source: 'first', accepted: 1100 }, { source: 'second', accepted: 450 }, {}]);
    const [, second] = (await ask('?days=30&group_by=source')).body.data;
    expect(second).toMatchObject({ accepted: 50, trend: { direction: 'same' } });
  });

  it('returns at most as many entries as asked for, and says whether there are more', async () => {
    const { body } = await ask('?limit=2');
    expect(body.data).toHaveLength(2);
    expect(body.has_more).toBe(true);
    expect((await ask('?limit=3')).body.has_more).toBe(false);
  });

  it.each([
    { query: 'days=91', says: 'days must be a whole number from 1 to 90' },
    { query: 'days=0', says: 'days must be a whole number from 1 to 90' },
    { query: 'limit=501', says: 'limit must be a whole number from 1 to 500' },
    {
      query: 'group_by=team',
      says: 'group_by must be a list of source, provider, domain, separated by commas; got "team".',
    },
    { query: 'group_by=', says: 'group_by must be a list of source, provider, domain, separated by commas; got "".' },
    {
      query: 'source=nobody',
      says: 'source must be a source of the settings, or one with mail within these days; got "nobody". There are first, second.',
    },
    {
      query: 'provider=nobody',
      says: 'provider must be a provider of the settings, or other; got "nobody". There are ',
    },
    { query: 'domain=nobody.test', says: 'domain must be the name of a sending domain; no team has "nobody.test".' },
  ])('refuses $query and names the limit', async ({ query, says }) => {
    const { status, body } = await ask(`?${query}`);
    expect(status).toBe(422);
    expect(body.message).toContain(says);
  });

  it('shows a domain that was deleted without its name', async () => {
    const gone = await other.domain('gone.example.net');
    await count({ count: 5, domainId: gone.id, teamId: other.id });
    await scene.api('DELETE', `/domains/${gone.id}`, { key: other.key });
    const { body } = await ask('?group_by=domain');
    expect(body.data.find((one: { domain_id: string }) => one.domain_id === gone.id)).toMatchObject({
      domain_name: null,
      accepted: 5,
    });
  });

  it('the reputation of the installation is closed to teams', async () => {
    expect((await ask('', team.key)).status).toBe(403);
  });
});

describe('days that were added up', () => {
  it('days that were added up have the same sums as before', async () => {
    const queries = [
      '?days=90',
      '?days=90&group_by=domain',
      '?days=5&group_by=source',
      '?days=30&domain=news.example.com',
    ];
    const load = async () => Promise.all(queries.map(async (query) => (await ask(query)).body));
    const before = await load();
    const hours = await scene.app.world.db.all('select hour from reputation_counts where hour % 24 <> 0', []);
    await scene.app.jobs.find(({ name }) => name === 'roll-reputation-counts')?.run(new AbortController().signal);
    const left = await scene.app.world.db.all('select hour from reputation_counts where hour % 24 <> 0', []);
    expect(left.length).toBeLessThan(hours.length);
    expect(await load()).toEqual(before);
  });
});

describe('the reputation of a domain for its team', () => {
  it('has an entry for each provider, and nothing of the sources', async () => {
    const { body } = await askTeam(shop.id);
    expect(body).toMatchObject({
      object: 'domain_reputation',
      domain_id: shop.id,
      domain_name: 'shop.example.com',
      start_date: '2026-11-24',
      end_date: '2026-11-30',
      days: 7,
      dmarc: null,
      data: [{ provider: 'acme', provider_title: 'Acme', accepted: 600, bounced: { total: 42 }, level: 'bad' }],
    });
    expect(body.data).toHaveLength(1);
    expect(JSON.stringify(body)).not.toMatch(/"sources?"|127\.0\.8|second|theirs/);
    expect((await askTeam(news.id, '?days=90')).body.data).toMatchObject([
      { provider: 'acme', accepted: 400 },
      { provider: null, accepted: 50 },
    ]);
  });

  it('the reputation of a domain is not found by another team, which also does not see what an earlier owner sent', async () => {
    expect((await askTeam(shop.id, '', other.key)).status).toBe(404);
    await count({ count: 77, domainId: theirs.id, teamId: team.id });
    expect((await askTeam(theirs.id, '', other.key)).body.data).toMatchObject([{ accepted: 10 }]);
  });

  it('refuses more than 90 days', async () => {
    expect(await askTeam(shop.id, '?days=91')).toMatchObject({
      status: 422,
      body: { message: expect.stringContaining('days must be a whole number from 1 to 90') },
    });
  });

  it('adds up the authenticated DMARC reports about the same days', async () => {
    const { db, ids, clock } = scene.app.world;
    const today = Math.floor(clock.now() / DAY) * DAY;
    const report = (day: number, more: Partial<ReportRow> = {}): ReportRow => ({
      id: ids.uuid(),
      domain_id: news.id,
      type: 'dmarc',
      organization: 'Acme',
      submitter: 'acme.test',
      organizational_domain: 'acme.test',
      authenticated: 1,
      fingerprint: ids.uuid(),
      report_id: ids.uuid(),
      policy_domain: news.name,
      begin_at: day,
      end_at: day + DAY - 1,
      day,
      total: 40,
      passed: 38,
      parts: 0,
      created_at: clock.now(),
      ...more,
    });
    const rows = [
      report(today),
      report(today - 6 * DAY, { total: 10, passed: 10 }),
      report(today - 7 * DAY),
      report(today, { authenticated: 0 }),
      report(today, { domain_id: theirs.id }),
    ];
    for (const row of rows) await db.tx((tx) => insertReport(tx, row, { type: 'dmarc', sources: [] }));
    expect((await askTeam(news.id)).body.dmarc).toEqual({ messages: 50, failed: 2 });
    const { body } = await ask('?group_by=domain');
    const byName = Object.fromEntries(body.data.map((one: { domain_name: string }) => [one.domain_name, one]));
    expect(byName['news.example.com'].dmarc).toEqual({ messages: 50, failed: 2 });
    expect(byName['shop.example.com'].dmarc).toBeNull();
  });
});

describe('more groups than are ranked at the same time', () => {
  it('of more groups than are ranked at the same time, those with most mail are returned, and has_more is true', async () => {
    const { db, ids, clock } = scene.app.world;
    const common = { provider: 'acme', domainId: shop.id, teamId: team.id, isMarketing: false, cause: '' } as const;
    const at = clock.now() - 60 * DAY;
    for (let from = 0; from < 20_500; from += 4100) {
      const counts = Array.from({ length: 4100 }, (_, n) => ({
        ...common,
        source: `relay r${from + n}`,
        outcome: 'accepted' as const,
        count: from + n === 12_345 ? 900 : 1,
      }));
      await db.tx((tx) => addReputationCounts(tx, ids, at, counts));
    }
    const { body } = await ask('?days=90&group_by=source&domain=shop.example.com&limit=2');
    expect(body).toMatchObject({
      has_more: true,
      data: [
        { source: 'first', accepted: 1100 },
        { source: 'relay r12345', accepted: 900 },
      ],
    });
  });
});
