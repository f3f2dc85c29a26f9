import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { explainQueries } from '../../rig/plans.ts';
import type { AnyBody } from '../../rig/api.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const DAY_MS = 24 * 3_600_000;

let scene: Scene;
let team: Team;
let domain: { id: string; name: string };

beforeAll(async () => {
  scene = await startScene();
  team = await scene.team();
  domain = await team.domain();
});
afterAll(() => scene.close());

type Tag = { name: string; value: string };

async function send(fields: Record<string, unknown>, by: Team = team, from = domain.name): Promise<string> {
  const body = { from: `news@${from}`, to: 'x@example.org', subject: 'Hello', text: 'x', ...fields };
  const answer = await scene.api('POST', '/emails', { key: by.key, body });
  expect(answer).toMatchObject({ status: 200 });
  scene.clock.advance(1000);
  return answer.body.id;
}

const list = async (query: Record<string, string>): Promise<AnyBody> =>
  (await scene.api('GET', `/emails?${new URLSearchParams(query)}`, { key: team.key })).body;

const found = async (query: Record<string, string>): Promise<string[]> =>
  (await list(query)).data.map(({ id }: { id: string }) => id);

async function metrics(query: Record<string, string>): Promise<AnyBody> {
  const answer = await scene.api('GET', `/emails/metrics?${new URLSearchParams(query)}`, { key: team.key });
  expect(answer).toMatchObject({ status: 200 });
  return answer.body;
}

const tagged = (...pairs: string[]): { tags: Tag[] } => ({
  tags: pairs.map((pair) => {
    const [name = '', value = ''] = pair.split(':');
    return { name, value };
  }),
});

describe('GET /emails with a tag', () => {
  it('lists the emails of the team that have the tag, newest first', async () => {
    const both = await send(tagged('list:a', 'user:7'));
    const other = await send(tagged('list:b'));
    const twice = await send(tagged('list:a', 'list:a'));
    const batch = await scene.api('POST', '/emails/batch', {
      key: team.key,
      body: [{ from: `news@${domain.name}`, to: 'x@example.org', subject: 'x', text: 'x', ...tagged('list:a') }],
    });
    await send({});
    const stranger = await scene.team();
    await send(tagged('list:a'), stranger, (await stranger.domain()).name);
    const inBatch = batch.body.data[0].id;
    expect(await found({ tag: 'list:a' })).toEqual([inBatch, twice, both]);
    expect(await found({ tag: 'list:b' })).toEqual([other]);
    expect(await found({ tag: 'user:7' })).toEqual([both]);
    expect(await found({ tag: 'LIST:a' })).toEqual([]);
    expect(await found({ tag: 'list:aa' })).toEqual([]);
    expect((await list({ tag: 'list:a', limit: '1' })).has_more).toBe(true);
    expect(await found({ tag: 'list:a', limit: '1', after: inBatch })).toEqual([twice]);
    expect(await found({ tag: 'list:a', before: both })).toEqual([inBatch, twice]);
  });

  it('narrows the list together with the other filters', async () => {
    const early = await send({ ...tagged('and:1'), subject: 'Receipt' });
    const at = new Date(scene.clock.now() - 500).toISOString();
    const late = await send({ ...tagged('and:1'), to: 'permfail@example.org' });
    await send({ subject: 'Receipt' });
    await scene.settled();
    expect(await found({ tag: 'and:1', search: 'receipt' })).toEqual([early]);
    expect(await found({ tag: 'and:1', status: 'bounced' })).toEqual([late]);
    expect(await found({ tag: 'and:1', status: 'delivered' })).toEqual([early]);
    expect(await found({ tag: 'and:1', status: 'canceled' })).toEqual([]);
    expect(await found({ tag: 'and:1', end_date: at })).toEqual([early]);
    expect(await found({ tag: 'and:1', start_date: at })).toEqual([late]);
    const keys = await scene.api('GET', '/api-keys', { key: team.key });
    expect(await found({ tag: 'and:1', api_key_id: keys.body.data[0].id })).toEqual([late, early]);
    expect(await found({ tag: 'and:1', api_key_id: late })).toEqual([]);
  });

  it.each(['', 'list', 'list=a', 'list:', ':a', 'list:a:b', 'list:a b', `${'x'.repeat(257)}:a`])(
    'refuses %j as a tag and says how one is written',
    async (tag) => {
      const answer = await scene.api('GET', `/emails?${new URLSearchParams({ tag })}`, { key: team.key });
      expect(answer).toMatchObject({
        status: 422,
        body: { name: 'invalid_parameter', message: expect.stringMatching(/^tag must be name:value/) },
      });
    },
  );

  it('finds one matching email among thousands by the index of tags, whichever are frequent', async () => {
    const many = await scene.team();
    const { name } = await many.domain();
    const first = await send(tagged('rare:yes', 'all:yes'), many, name);
    const { db, ids } = scene.app.world;
    // These are copies of the first one that differ in their id and their tags.
    const copies = Array.from({ length: 3000 }, () => ids.uuid());
    const row = await db.get<Record<string, unknown>>('select * from emails where id = ?', [first]);
    const columns = Object.keys(row ?? {});
    const write = async (table: string, names: readonly string[], rows: unknown[][]) =>
      db.tx((tx) => tx.insertMany(table, names, rows as never));
    await write(
      'emails',
      columns,
      copies.map((id) =>
        columns.map((column) => (column === 'id' ? id : column === 'last_event' ? 'sent' : row?.[column])),
      ),
    );
    await write(
      'email_bodies',
      ['email_id', 'html', 'text', 'html_in_blob', 'text_in_blob'],
      copies.map((id) => [id, null, 'x', 0, 0]),
    );
    await write(
      'email_tags',
      ['team_id', 'tag', 'email_id'],
      copies.map((id) => [many.id, 'all:yes', id]),
    );
    if (db.dialect === 'pg') await db.run('analyze emails, email_tags');
    await scene.settled();
    const ask = async (query: Record<string, string>) =>
      (await scene.api('GET', `/emails?${new URLSearchParams(query)}`, { key: many.key })).body.data;
    expect(await ask({ tag: 'rare:yes' })).toMatchObject([{ id: first }]);
    expect(await ask({ tag: 'all:yes', status: 'delivered' })).toMatchObject([{ id: first }]);
    expect(await ask({ tag: 'rare:yes', status: 'sent' })).toEqual([]);
    for (const query of [{ tag: 'rare:yes' }, { tag: 'all:yes' }, { tag: 'all:yes', status: 'delivered' }]) {
      const plans = await explainQueries(db, () => ask(query as Record<string, string>), 'email_tags');
      expect(plans.length).toBeGreaterThan(0);
      for (const plan of plans)
        expect(plan).toMatch(/email_tags_pkey|SEARCH email_tags USING PRIMARY KEY \(team_id=\? AND tag=\?/);
    }
  });
});

describe('GET /emails/metrics with a tag', () => {
  it('counts the outcomes of the emails that have the tag', async () => {
    const start = new Date(scene.clock.now()).toISOString();
    await send(tagged('run:1', 'kind:a'));
    await send(tagged('run:1', 'kind:b'));
    const bounced = await send({ ...tagged('run:1'), to: 'permfail@example.net' });
    await send(tagged('run:2'));
    await scene.settled();
    const counted = { received: 3, sent: 3, delivered: 2, bounced: 1, bounce_rate: 33.33 };
    expect((await metrics({ tag: 'run:1' })).totals).toMatchObject(counted);
    expect((await metrics({ tag: 'run:1', domain_id: domain.id })).totals).toMatchObject(counted);
    expect((await metrics({ tag: 'kind:a' })).totals).toMatchObject({ received: 1, delivered: 1, bounced: 0 });
    expect((await metrics({ tag: 'run:3' })).totals).toMatchObject({ received: 0 });
    expect((await metrics({ tag: 'run:1', email_id: bounced })).totals).toMatchObject({ received: 1, bounced: 1 });
    expect((await metrics({ tag: 'run:2', email_id: bounced })).totals).toMatchObject({ received: 0 });
    const byDomain = await metrics({ tag: 'run:1', dimensions: 'domain', start_date: start });
    expect(byDomain.data).toMatchObject([{ domain_id: domain.id, ...counted }]);
    const byEmail = await metrics({ tag: 'kind:b', dimensions: 'email', metrics: 'delivered' });
    expect(byEmail.data).toMatchObject([{ delivered: 1 }]);
    const byPeriod = await metrics({ tag: 'run:1', dimensions: 'period', metrics: 'received' });
    expect(byPeriod.data.map((row: { received: number }) => row.received).reduce((a: number, b: number) => a + b)).toBe(
      3,
    );
  });

  it('leaves out emails that were accepted before the range', async () => {
    await send(tagged('old:yes'));
    await scene.settled();
    scene.clock.advance(2 * DAY_MS);
    const start = new Date(scene.clock.now() - DAY_MS).toISOString();
    expect((await metrics({ tag: 'old:yes' })).totals).toMatchObject({ received: 1 });
    expect((await metrics({ tag: 'old:yes', start_date: start })).totals).toMatchObject({ received: 0 });
  });

  it.each(['broadcast_id=019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e55', 'dimensions=broadcast'])(
    'refuses a tag together with %s',
    async (query) => {
      expect(await scene.api('GET', `/emails/metrics?tag=a:b&${query}`, { key: team.key })).toMatchObject({
        status: 422,
        body: { message: expect.stringMatching(/^tag and .* cannot be used together/) },
      });
    },
  );
});
