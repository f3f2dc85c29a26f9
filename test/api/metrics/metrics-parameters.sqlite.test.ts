import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const QUARTER = 900_000;
const DAY = 86_400_000;

let scene: Scene;
let team: Team;
beforeAll(async () => {
  scene = await startScene();
  team = await scene.team();
});
afterAll(() => scene.close());

const ask = (query: Record<string, string>) =>
  scene.api('GET', `/emails/metrics?${new URLSearchParams(query).toString()}`, { key: team.key });

/** Returns the query as the name of a test: every run has the same names. */
const formatLabel = (query: Record<string, string>): string =>
  Object.entries(query)
    .map(([name, value]) => `${name}=${UUIDS.test(value) ? `${value.split(',').length} ids` : value.slice(0, 60)}`)
    .join('&');
const UUIDS = /^[0-9a-f-]{36}(,|$)/;

const ids = (count: number): string => Array.from({ length: count }, () => randomUUID()).join(',');
const daysAgo = (days: number): string => new Date(scene.clock.now() - days * DAY).toISOString();

describe('an invalid metrics parameter returns 422 with what would be right', () => {
  it.each(
    (
      [
        [{ start_date: '' }, /start_date must be an ISO 8601 date/],
        [{ start_date: 'yesterday' }, /start_date .*got "yesterday"/],
        [{ start_date: '2026-02-30' }, /start_date/],
        [{ start_date: '1700000000000' }, /start_date/],
        [{ end_date: '2026-13-01' }, /end_date must be an ISO 8601 date/],
        [{ start_date: '2026-02-02', end_date: '2026-02-01' }, /end_date must not be before start_date/],
        [{ start_date: '9999-12-31' }, /^start_date must not be in the future/],
        [{ start_date: '9999-12-30', end_date: '9999-12-31' }, /start_date must not be in the future/],
        [{ timezone: '' }, /timezone must be the name of an IANA time zone/],
        [{ timezone: 'Mars/Olympus' }, /timezone .*got "Mars\/Olympus"/],
        [{ timezone: '+02:00' }, /timezone/],
        [{ timezone: 'x'.repeat(3000) }, /timezone/],
        [{ granularity: 'yearly' }, /granularity must be hourly, daily, weekly or monthly/],
        [{ granularity: '' }, /granularity/],
        [{ metrics: '' }, /metrics must be a comma-separated list of received, delivered/],
        [{ metrics: 'sent,nonsense' }, /metrics .*got "nonsense"/],
        [{ metrics: 'sent, delivered' }, /metrics .*got " delivered"/],
        [{ metrics: 'constructor' }, /metrics/],
        [{ dimensions: '' }, /dimensions must be a comma-separated list of period, domain, email, broadcast/],
        [{ dimensions: 'period,country' }, /dimensions .*got "country"/],
        [{ domain_id: '' }, /domain_id must be ids/],
        [{ domain_id: 'x' }, /domain_id must be ids .*got "x"/],
        [{ domain_id: ids(101) }, /domain_id may have at most 100 ids; got 101/],
        [{ email_id: `${ids(1)},` }, /email_id must be ids/],
        [{ email_id: ids(101) }, /email_id may have at most 100/],
        [{ broadcast_id: 'one' }, /broadcast_id must be ids/],
        [{ broadcast_id: ids(101) }, /broadcast_id may have at most 100/],
        [{ dimensions: 'email,broadcast' }, /cannot be used together/],
        [{ dimensions: 'broadcast', email_id: ids(1) }, /cannot be used together/],
        [{ dimensions: 'email', broadcast_id: ids(1) }, /cannot be used together/],
        [{ broadcast_id: ids(1), email_id: ids(1) }, /cannot be used together/],
      ] as [Record<string, string>, RegExp][]
    ).map(([query, message]) => [formatLabel(query), query, message] as const),
  )('for %s', async (_, query, message) => {
    const answer = await ask(query);
    expect(answer).toMatchObject({ status: 422, body: { name: 'invalid_parameter' } });
    expect(answer.body.message).toMatch(message);
  });

  it('without repeating more of a hostile value than a person would read', async () => {
    for (const name of ['start_date', 'end_date', 'timezone', 'metrics', 'dimensions', 'domain_id', 'email_id']) {
      const { status, body } = await ask({ [name]: '<'.repeat(5000) });
      expect(status, name).toBe(422);
      expect(body.message.length, name).toBeLessThan(600);
    }
  });

  it('for more than 1000 rows', async () => {
    const period = { dimensions: 'period', granularity: 'hourly' };
    const full = { start_date: daysAgo(1000 / 24 - 0.1), end_date: daysAgo(0.1) };
    expect((await ask({ ...period, ...full })).status).toBe(200);
    for (const query of [
      { ...period, start_date: daysAgo(1002 / 24) },
      { dimensions: 'period', start_date: '0001-01-01', end_date: '9999-12-31' },
      { dimensions: 'period', start_date: daysAgo(1001) },
    ]) {
      const answer = await ask(query as Record<string, string>);
      expect(answer).toMatchObject({ status: 422, body: { name: 'invalid_parameter' } });
      expect(answer.body.message).toMatch(/more than 1000 rows/);
    }
    // Without periods the length of the range does not matter.
    expect((await ask({ start_date: '0001-01-01', granularity: 'hourly' })).status).toBe(200);
  });
});

describe('valid metrics parameters', () => {
  it.each(
    (
      [
        { metrics: 'received', dimensions: 'period,domain,email', granularity: 'monthly', timezone: 'Asia/Kathmandu' },
        { domain_id: ids(100), email_id: ids(100), dimensions: 'email' },
        { broadcast_id: ids(100), dimensions: 'broadcast,domain,period', domain_id: ids(100) },
        { timezone: 'America/Argentina/ComodRivadavia' },
        { start_date: '0001-01-01T00:00:00Z', end_date: '9999-12-31T23:59:59.999Z' },
      ] as Record<string, string>[]
    ).map((query) => [formatLabel(query), query] as const),
  )('include %s', async (_, query) => {
    const answer = await ask(query);
    expect(answer.status, answer.text).toBe(200);
  });
});

describe('the range of metrics', () => {
  const fetchRange = async (query: Record<string, string>): Promise<string[]> => {
    const { status, body, text } = await ask(query);
    expect(status, text).toBe(200);
    return [body.start_date, body.end_date];
  };

  it('is widened to whole quarters of an hour', async () => {
    const times = { start_date: '2026-03-01T10:14:59.999Z', end_date: '2026-03-01T10:15:00.001Z' };
    expect(await fetchRange(times)).toEqual(['2026-03-01T10:00:00.000Z', '2026-03-01T10:30:00.000Z']);
    const exact = { start_date: '2026-03-01T10:15:00Z', end_date: '2026-03-01T11:00:00+00:00' };
    expect(await fetchRange(exact)).toEqual(['2026-03-01T10:15:00.000Z', '2026-03-01T11:00:00.000Z']);
    const moment = { start_date: '2026-03-01T10:15:00Z', end_date: '2026-03-01T10:15:00Z' };
    expect(await fetchRange(moment)).toEqual(['2026-03-01T10:15:00.000Z', '2026-03-01T10:30:00.000Z']);
  });

  it('of plain dates covers whole days of the time zone', async () => {
    const dates = { start_date: '2026-03-29', end_date: '2026-03-29' };
    expect(await fetchRange(dates)).toEqual(['2026-03-29T00:00:00.000Z', '2026-03-30T00:00:00.000Z']);
    expect(await fetchRange({ ...dates, timezone: 'Europe/Berlin' })).toEqual([
      '2026-03-28T23:00:00.000Z',
      '2026-03-29T22:00:00.000Z',
    ]);
    expect(await fetchRange({ ...dates, timezone: 'Asia/Kolkata' })).toEqual([
      '2026-03-28T18:30:00.000Z',
      '2026-03-29T18:30:00.000Z',
    ]);
  });

  it('without a start begins 7 × 24 hours before its end, whatever the time zone', async () => {
    const kolkata = { end_date: '2026-03-20', timezone: 'Asia/Kolkata' };
    expect(await fetchRange(kolkata)).toEqual(['2026-03-13T18:30:00.000Z', '2026-03-20T18:30:00.000Z']);
    // Berlin moves its clocks forward in these days.
    expect(await fetchRange({ end_date: '2026-03-30', timezone: 'Europe/Berlin' })).toEqual([
      '2026-03-23T22:00:00.000Z',
      '2026-03-30T22:00:00.000Z',
    ]);
    expect(await fetchRange({ end_date: '2026-03-20T12:00:00Z' })).toEqual([
      '2026-03-13T12:00:00.000Z',
      '2026-03-20T12:00:00.000Z',
    ]);
    expect(await fetchRange({ end_date: '2026-03-20T12:07:00Z' })).toEqual([
      '2026-03-13T12:00:00.000Z',
      '2026-03-20T12:15:00.000Z',
    ]);
    expect(await fetchRange({ end_date: '1970-01-02' })).toEqual([
      '1970-01-01T00:00:00.000Z',
      '1970-01-03T00:00:00.000Z',
    ]);
    const now = new Date(scene.clock.now()).toISOString();
    expect(await fetchRange({ end_date: '9999-12-31' })).toEqual(await fetchRange({}));
    expect((await fetchRange({}))[1]).toBe(now);
  });

  it('never ends in the future', async () => {
    const now = new Date(scene.clock.now()).toISOString();
    const start = new Date(Math.floor(scene.clock.now() / QUARTER) * QUARTER).toISOString();
    expect(await fetchRange({ start_date: now })).toEqual([start, now]);
    expect(await fetchRange({ start_date: now, end_date: '9999-12-31' })).toEqual([start, now]);
  });

  it('in rows of days begins on the day a week ago in any time zone', async () => {
    for (const timezone of ['UTC', 'Pacific/Kiritimati', 'Pacific/Pago_Pago', 'America/New_York', 'Asia/Kathmandu']) {
      const { body } = await ask({ timezone, dimensions: 'period' });
      const format = new Intl.DateTimeFormat('en-CA', { timeZone: timezone, dateStyle: 'short' });
      const names = body.data.map((row: { period: string }) => row.period);
      const now = scene.clock.now();
      expect([names[0], names.at(-1)], timezone).toEqual([format.format(now - 7 * DAY), format.format(now)]);
    }
  });
});
