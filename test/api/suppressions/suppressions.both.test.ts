import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { suppress } from '../../../src/mail/suppressions/index.ts';
import { driver } from '../../rig/database.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene.close());

const NOWHERE = 'sup_019a9c1e7d527c3a9a540b8f4c1f2e03';
const call = (team: Team, method: string, path: string, body?: unknown) =>
  scene.api(method, path, { key: team.key, ...(body === undefined ? {} : { body }) });
const add = (team: Team, ...emails: string[]) => call(team, 'POST', '/suppressions/batch/add', { emails });
const remove = (team: Team, body: unknown) => call(team, 'POST', '/suppressions/batch/remove', body);
async function create(team: Team, email: string): Promise<string> {
  return (await call(team, 'POST', '/suppressions', { email })).body.id as string;
}
async function emails(team: Team, query = ''): Promise<string[]> {
  const { body } = await call(team, 'GET', `/suppressions${query}`);
  return body.data.map((item: { email: string }) => item.email);
}
const addedEvents = async (team: Team) => {
  const sql = "select count(*) as n from events where team_id = ? and type = 'suppression.added'";
  return (await scene.app.world.db.get<{ n: number }>(sql, [team.id]))?.n;
};
const types = async (id: string) => (await scene.events(id)).map((event) => event.type);

describe('POST /suppressions', () => {
  it('suppresses an address by hand and records it', async () => {
    const team = await scene.team();
    const { status, body } = await call(team, 'POST', '/suppressions', { email: 'Some.One+news@Example.ORG' });
    expect([status, Object.keys(body).sort(), body.object]).toEqual([201, ['id', 'object'], 'suppression']);
    expect(body.id).toMatch(/^sup_[0-9a-f]{32}$/);
    const row = {
      id: body.id,
      email: 'Some.One+news@example.org',
      origin: 'manual',
      source_id: null,
      created_at: new Date(scene.clock.now()).toISOString(),
    };
    expect((await call(team, 'GET', `/suppressions/${body.id}`)).body).toEqual({ object: 'suppression', ...row });
    expect((await call(team, 'GET', '/suppressions')).body).toEqual({ object: 'list', has_more: false, data: [row] });
    const [event, ...more] = await scene.events(body.id);
    expect(event).toMatchObject({ type: 'suppression.added', teamId: team.id, data: row });
    expect(more).toEqual([]);
  });

  it('keeps the entry of a suppressed address and causes no event', async () => {
    const team = await scene.team();
    const id = await create(team, 'again@example.org');
    scene.clock.advance(1000);
    expect(await create(team, 'AGAIN@Example.org')).toBe(id);
    expect(await types(id)).toEqual(['suppression.added']);
    expect(await emails(team)).toEqual(['again@example.org']);
  });

  it.each([
    ['not an address', 'no @'],
    ['Name <a@example.org>', 'a name'],
    ['a@example.org, b@example.org', 'a list'],
    ['a@example.org\r\nBcc: b@example.org', 'a line break'],
    ['', 'nothing'],
  ])('refuses %j: %s', async (email) => {
    const team = await scene.team();
    expect(await call(team, 'POST', '/suppressions', { email })).toMatchObject({
      status: 400,
      body: { name: 'validation_error', errors: [{ path: 'email' }] },
    });
  });

  it('requires an address', async () => {
    const team = await scene.team();
    const refused = { status: 422, body: { name: 'missing_required_field' } };
    expect(await call(team, 'POST', '/suppressions', {})).toMatchObject(refused);
    expect(await call(team, 'POST', '/suppressions/batch/add', {})).toMatchObject(refused);
  });
});

describe('GET /suppressions', () => {
  it('lists newest first, page by page, filtered by origin', async () => {
    const team = await scene.team();
    for (const name of ['a', 'b', 'c', 'd']) await create(team, `${name}@example.org`);
    const { db } = scene.app.world;
    await db.run("update suppressions set origin = 'bounce' where team_id = ? and email like 'b%'", [team.id]);
    await db.run("update suppressions set origin = 'complaint' where team_id = ? and email like 'd%'", [team.id]);
    expect(await emails(team)).toEqual(['d@example.org', 'c@example.org', 'b@example.org', 'a@example.org']);
    expect(await emails(team, '?origin=manual')).toEqual(['c@example.org', 'a@example.org']);
    expect(await emails(team, '?origin=bounce')).toEqual(['b@example.org']);
    expect(await emails(team, '?origin=complaint')).toEqual(['d@example.org']);
    const first = (await call(team, 'GET', '/suppressions?origin=manual&limit=1')).body;
    expect([first.has_more, first.data[0].email]).toEqual([true, 'c@example.org']);
    const next = (await call(team, 'GET', `/suppressions?origin=manual&limit=1&after=${first.data[0].id}`)).body;
    expect([next.has_more, next.data[0].email]).toEqual([false, 'a@example.org']);
    const back = (await call(team, 'GET', `/suppressions?limit=2&before=${next.data[0].id}`)).body;
    expect([back.has_more, back.data.map((item: { email: string }) => item.email)]).toEqual([
      true,
      ['c@example.org', 'b@example.org'],
    ]);
    expect(await call(team, 'GET', '/suppressions?origin=spam')).toMatchObject({
      status: 422,
      body: { name: 'invalid_parameter', message: expect.stringContaining('origin') },
    });
  });
});

describe('the path of a suppression', () => {
  it.each([
    'first.last+tag@example.org',
    'FIRST.Last+TAG@EXAMPLE.org',
    'first.last%2Btag%40example.org',
    '%22first.last+tag%22@example.org',
  ])('names it by its address: %s', async (path) => {
    const team = await scene.team();
    const id = await create(team, 'First.Last+tag@example.org');
    expect((await call(team, 'GET', `/suppressions/${path}`)).body).toMatchObject({ id });
    expect((await call(team, 'DELETE', `/suppressions/${path}`)).body).toEqual({
      object: 'suppression',
      id,
      deleted: true,
    });
    expect(await emails(team)).toEqual([]);
  });

  it.each([
    ['a/b@example.org', 'a%2Fb@example.org'],
    ['a%b@example.org', 'a%25b@example.org'],
    ['"quoted at@here"@example.org', '%22quoted%20at%40here%22%40example.org'],
    ['bücher@bücher.example', 'b%C3%BCcher@b%C3%BCcher.example'],
    ['BÜCHER@bücher.example', 'b%C3%BCcher@xn--bcher-kva.example'],
    ['batch@example.org', 'batch@example.org'],
  ])('finds %s under %s', async (email, path) => {
    const team = await scene.team();
    const id = await create(team, email);
    expect((await call(team, 'GET', `/suppressions/${path}`)).body).toMatchObject({ id });
  });

  it.each(['sup_1', 'batch', 'nobody', 'a@', 'Name%20%3Ca@example.org%3E', `${'a'.repeat(70)}@example.org`])(
    'returns 422 for %s, which cannot exist',
    async (path) => {
      const team = await scene.team();
      for (const method of ['GET', 'DELETE']) {
        expect(await call(team, method, `/suppressions/${path}`)).toMatchObject({
          status: 422,
          body: { name: 'invalid_parameter' },
        });
      }
    },
  );

  it('returns the same for a foreign and an unknown suppression, by id and by address', async () => {
    const team = await scene.team();
    const stranger = await scene.team();
    const id = await create(team, 'mine@example.org');
    for (const method of ['GET', 'DELETE']) {
      const nowhere = await call(stranger, method, `/suppressions/${NOWHERE}`);
      expect(nowhere).toMatchObject({ status: 404, body: { name: 'not_found' } });
      expect((await call(stranger, method, `/suppressions/${id}`)).text).toBe(nowhere.text);
      expect((await call(stranger, method, '/suppressions/mine@example.org')).text).toBe(nowhere.text);
    }
    expect(await emails(team)).toEqual(['mine@example.org']);
  });
});

describe('DELETE /suppressions/{suppression}', () => {
  it('records the removal once, even if it is requested twice at the same moment', async () => {
    const team = await scene.team();
    const id = await create(team, 'gone@example.org');
    const answers = await Promise.all([1, 2, 3].map(() => call(team, 'DELETE', `/suppressions/${id}`)));
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 404, 404]);
    const events = await scene.events(id);
    expect(events.map((event) => event.type)).toEqual(['suppression.added', 'suppression.removed']);
    expect(events[1]?.data).toMatchObject({ id, email: 'gone@example.org', origin: 'manual' });
    expect(await create(team, 'gone@example.org')).not.toBe(id);
  });
});

describe('POST /suppressions/batch/add', () => {
  it('returns an entry for each address, in order, and keeps existing ones', async () => {
    const team = await scene.team();
    const known = await create(team, 'known@example.org');
    const { status, body } = await add(
      team,
      'new@example.org',
      'KNOWN@example.org',
      'New@Example.org',
      'last@example.org',
    );
    expect(status).toBe(201);
    const ids = body.data.map((item: { id: string }) => item.id);
    expect(ids).toHaveLength(4);
    expect([ids[1], ids[2]]).toEqual([known, ids[0]]);
    expect((await emails(team)).sort()).toEqual(['known@example.org', 'last@example.org', 'new@example.org']);
    for (const id of new Set<string>(ids)) expect(await types(id)).toEqual(['suppression.added']);
    expect(await addedEvents(team)).toBe(3);
  });

  it('accepts 100 and refuses 101', async () => {
    const team = await scene.team();
    const many = Array.from({ length: 101 }, (_, i) => `n${i}@example.org`);
    expect((await add(team, ...many.slice(0, 100))).body.data).toHaveLength(100);
    expect(await add(team, ...many)).toMatchObject({
      status: 400,
      body: { name: 'validation_error', errors: [{ path: 'emails' }] },
    });
    expect(await emails(team, '?limit=100')).toHaveLength(100);
  });

  it('refuses all addresses if one is invalid, and reports each with its position', async () => {
    const team = await scene.team();
    const { status, body } = await add(team, 'good@example.org', 'bad', 'Name <x@example.org>');
    expect(status).toBe(400);
    expect(body.errors.map((error: { path: string }) => error.path)).toEqual(['emails.1', 'emails.2']);
    expect(await emails(team)).toEqual([]);
  });

  it('adds nothing for an empty list', async () => {
    const team = await scene.team();
    expect((await add(team)).body).toEqual({ data: [] });
  });

  it('adds each address once when the same batch arrives many times at once', async () => {
    const team = await scene.team();
    const some = Array.from({ length: 100 }, (_, i) => `m${i}@example.org`);
    const batches = Array.from({ length: 8 }, (_, i) => (i % 2 === 0 ? some : some.toReversed()));
    const answers = await Promise.all(batches.map((batch) => add(team, ...batch)));
    expect(answers.map((answer) => answer.status)).toEqual(batches.map(() => 201));
    expect(answers[1]?.body.data.toReversed()).toEqual(answers[0]?.body.data);
    expect(await emails(team, '?limit=100')).toHaveLength(100);
    expect(await addedEvents(team)).toBe(100);
  });

  // runs only on PostgreSQL: on SQLite a second transaction does not begin before the first has ended.
  it.runIf(driver === 'pg')('locks addresses in one order, so that overlapping batches do not deadlock', async () => {
    const team = await scene.team();
    const { world } = scene.app;
    const addition = (email: string) => [{ email, origin: 'manual' as const, sourceId: null }];
    const waiting = async () =>
      (
        await world.db.get<{ n: number }>(
          "select count(*) as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        )
      )?.n;
    const adding = await world.db.tx(async (tx) => {
      await suppress(world, tx, team.id, addition('a@example.org'));
      const answer = add(team, 'b@example.org', 'a@example.org');
      await expect.poll(waiting).toBe(1);
      await suppress(world, tx, team.id, addition('b@example.org'));
      return { answer };
    });
    expect((await adding.answer).status).toBe(201);
    expect(await addedEvents(team)).toBe(2);
  });
});

describe('POST /suppressions/batch/remove', () => {
  it('removes by address in any letter case, and skips what is not suppressed or not an address', async () => {
    const team = await scene.team();
    const one = await create(team, 'one@example.org');
    const two = await create(team, 'two@example.org');
    await create(team, 'three@example.org');
    const asked = ['TWO@example.org', 'nobody@example.org', 'nonsense', 'one@example.org', 'two@EXAMPLE.org'];
    const { status, body } = await remove(team, { emails: asked });
    expect([status, body]).toEqual([
      200,
      { data: [two, one].map((id) => ({ object: 'suppression', id, deleted: true })) },
    ]);
    expect(await emails(team)).toEqual(['three@example.org']);
    for (const id of [one, two]) expect(await types(id)).toEqual(['suppression.added', 'suppression.removed']);
  });

  it('removes by id, and skips foreign and unknown ones', async () => {
    const team = await scene.team();
    const stranger = await scene.team();
    const mine = await create(team, 'a@example.org');
    const foreign = await create(stranger, 'a@example.org');
    const { body } = await remove(team, { ids: [foreign, NOWHERE, "x'; drop table suppressions; --", mine, mine] });
    expect(body).toEqual({ data: [{ object: 'suppression', id: mine, deleted: true }] });
    expect(await emails(stranger)).toEqual(['a@example.org']);
  });

  it.each([
    [{}, 'neither'],
    [{ emails: ['a@example.org'], ids: [NOWHERE] }, 'both'],
  ])('refuses %j, which names %s', async (body, word) => {
    const team = await scene.team();
    await create(team, 'a@example.org');
    expect(await remove(team, body)).toMatchObject({
      status: 422,
      body: { name: 'invalid_parameter', message: expect.stringContaining(word) },
    });
    expect(await emails(team)).toHaveLength(1);
  });

  it('accepts 100 and refuses 101', async () => {
    const team = await scene.team();
    const many = Array.from({ length: 101 }, (_, i) => `n${i}@example.org`);
    await add(team, ...many.slice(0, 100));
    expect(await remove(team, { emails: many })).toMatchObject({ status: 400, body: { errors: [{ path: 'emails' }] } });
    expect((await remove(team, { emails: many.slice(0, 100) })).body.data).toHaveLength(100);
    expect(await remove(team, { ids: [] })).toMatchObject({ status: 200, body: { data: [] } });
  });
});
