import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EVENT_TYPES } from '../../../src/mail/events/index.ts';
import { driver } from '../../rig/database.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { plantWebhook } from '../../rig/webhooks.ts';

const ROWS = 20_000;

/**
 * The database's plan decides the cost of a list: a step into an index in the order of the page, whatever else is
 * stored. A sort or a scan would cost more with every event.
 */
describe('the events of an endpoint are read in the order of an index', () => {
  let scene: Scene;
  let team: Team;
  let id: string;
  let middle = '';
  let asked: { sql: string; values: readonly unknown[] }[] = [];
  beforeAll(async () => {
    scene = await startScene({ roles: ['http'] });
    team = await scene.team();
    id = await plantWebhook(scene, team);
    const { db, ids } = scene.app.world;
    const columns = ['webhook_id', 'event_id', 'team_id', 'type', 'status', 'parked', 'created_at'];
    // The distribution is realistic: nearly everything is of one type and delivered, and little of the others.
    const row = (i: number) => {
      const type = i % 500 === 0 ? 'email.bounced' : 'email.sent';
      const status = i % 300 === 0 ? 'failed' : 'success';
      return [id, ids.uuid(), team.id, type, status, i % 100 === 0 ? 1 : 0, 0];
    };
    const rows = Array.from({ length: ROWS }, (_, i) => row(i));
    middle = `msg_${String(rows[ROWS / 2]?.[1]).replaceAll('-', '')}`;
    await db.insertMany('webhook_events', columns, rows);
    await db.withKnex((knex) => knex.raw(driver === 'pg' ? 'vacuum analyze webhook_events' : 'analyze'));
    const all = db.all.bind(db);
    db.all = ((sql: string, values: readonly unknown[] = []) => {
      asked.push({ sql, values });
      return all(sql, values as never);
    }) as typeof db.all;
  });
  afterAll(() => scene.close());

  const WHOLE = 'start_date=2020-01-01T00:00:00Z&end_date=2100-01-01T00:00:00Z';
  const filters = ['', 'status=failed', 'status=success', 'type=email.bounced', 'type=email.sent'];
  const both = [
    'status=failed&type=email.bounced',
    'status=success&type=email.bounced',
    'status=failed&type=email.sent',
  ];
  const queries = [...filters, ...both].flatMap((filter) =>
    ['', WHOLE, 'after=MIDDLE', 'before=MIDDLE'].map((more) => `events?${[filter, more].filter(Boolean).join('&')}`),
  );

  it.each([...queries, 'parked', 'parked?limit=100'])('for %s', async (query) => {
    asked = [];
    expect(
      (await scene.api('GET', `/webhooks/${id}/${query.replace('MIDDLE', middle)}`, { key: team.key })).status,
    ).toBe(200);
    const [read, ...more] = asked.filter(({ sql }) => sql.includes('from webhook_events'));
    expect(more).toEqual([]);
    if (!read) throw new Error('no statement read webhook_events');
    const plan = await explainQuery(read.sql, read.values);
    const steps = plan.filter((line) => /(SEARCH|Scan) .*webhook_events/.test(line));
    const ranges = computeRanges(query);
    expect(steps).toHaveLength(ranges);
    if (driver === 'pg') {
      expect(plan.join('\n')).not.toMatch(/Filter|Seq Scan|Bitmap/);
      // No step of the plan returns more rows than a page of each range, nor reads more of the table and its indexes.
      const rows = [...plan.join('\n').matchAll(/rows=(\d+)/g)].map((match) => Number(match[1]));
      const most = Math.max(ranges, 4) * (query.includes('limit=100') ? 101 : 21);
      expect(Math.max(...rows)).toBeLessThanOrEqual(most);
      const looks = [...(plan.find((line) => line.includes('Buffers:')) ?? '').matchAll(/=(\d+)/g)];
      expect(looks.reduce((sum, [, count]) => sum + Number(count), 0)).toBeLessThanOrEqual(most + 16);
    } else {
      expect(plan.join('\n')).not.toMatch(/LAST TERM|AUTOMATIC/);
      // Steps through the whole key are ranges in the order of the page; only the results of several are sorted.
      const columns = /\((?:(\w+), )?(?:(\w+), )?event_id\) >/.exec(read.sql)?.slice(1).filter(Boolean) ?? [];
      const key = columns.length === 0 ? 'event_id' : `(${[...columns, 'event_id'].join(',')})`;
      if (!query.startsWith('parked')) for (const step of steps) expect(step).toContain(`webhook_id=? AND ${key}>`);
      expect(plan.some((line) => line.includes('TEMP B-TREE'))).toBe(ranges > 1);
    }
  });

  /** Returns the number of ranges of the index: one for a type and a status, and one for each possible value of an open field. */
  function computeRanges(query: string): number {
    const hasType = query.includes('type=');
    const hasStatus = query.includes('status=');
    if (hasType === hasStatus) return 1;
    return hasType ? 4 : EVENT_TYPES.length;
  }

  async function explainQuery(sql: string, values: readonly unknown[]): Promise<string[]> {
    const explain =
      driver === 'pg' ? 'explain (analyze, buffers, costs off, timing off, summary off)' : 'explain query plan';
    const rows = await scene.app.world.db.all<Record<string, string>>(`${explain} ${sql}`, values as never);
    return rows.map((row) => row['QUERY PLAN'] ?? row['detail'] ?? '');
  }
});
