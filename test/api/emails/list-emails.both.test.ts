import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Db } from '../../../src/platform/db/index.ts';
import { explainQueries } from '../../rig/plans.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const DAY_MS = 24 * 3_600_000;

const indexesByKey = (db: Db): Promise<unknown[]> =>
  db.all("select indexname from pg_indexes where tablename = 'emails' and indexdef like '%api_key_id IS NOT NULL%'");

describe('GET /emails', () => {
  let scene: Scene;
  let team: Team;
  let domain: string;
  const sent: Record<string, { id: string; at: number }> = {};
  const keyIds: Record<string, string> = {};

  beforeAll(async () => {
    scene = await startScene();
    team = await scene.team();
    domain = (await team.domain()).name;
    const { body: second } = await scene.api('POST', '/api-keys', { key: team.key, body: { name: 'Second' } });
    keyIds['second'] = second.id;
    const { body: keys } = await scene.api('GET', '/api-keys', { key: team.key });
    keyIds['first'] = keys.data.find((key: { name: string }) => key.name === 'First key').id;
    // Moves to the next midnight, so that days can be distinguished.
    scene.clock.advance(DAY_MS - (scene.clock.now() % DAY_MS));
    const messages: [string, Record<string, unknown>, string][] = [
      ['delivered', { subject: 'Receipt 100% sure', to: 'Ann <ann@example.org>' }, team.key],
      ['bounced', { subject: 'Under_score', to: 'permfail@example.org' }, second.token],
      ['delayed', { subject: 'Plain', to: 'tempfail@example.org' }, team.key],
      ['scheduled', { subject: 'ÄPFEL und ΟΔΟΣΑ', scheduled_at: iso(20 * DAY_MS) }, second.token],
      ['idn', { subject: 'Nothing special', to: 'x@bücher.example', cc: 'C@Example.NET' }, team.key],
      ['bcc', { subject: 'back\\slash', bcc: 'secret@hidden.example' }, team.key],
    ];
    for (const [name, fields, key] of messages) {
      const body = { from: `Sender Name <news@${domain}>`, to: 'x@example.org', text: 'Body-only-word', ...fields };
      const answer = await scene.api('POST', '/emails', { key, body });
      expect(answer.status).toBe(200);
      sent[name] = { id: answer.body.id, at: scene.clock.now() };
      await scene.settled();
      scene.clock.advance(1000);
    }
    await scene.api('DELETE', `/api-keys/${keyIds['second']}`, { key: team.key });
    // Every filter below would find this email of another team.
    const other = await scene.team();
    const elsewhere = {
      from: `news@${(await other.domain()).name}`,
      to: 'ann@example.org',
      subject: 'Receipt',
      text: 'x',
    };
    await scene.api('POST', '/emails', { key: other.key, body: elsewhere });
    await scene.settled();
  });
  afterAll(() => scene.close());

  const iso = (offsetMs: number) => new Date(scene.clock.now() + offsetMs).toISOString();
  const ALL = ['bcc', 'idn', 'scheduled', 'delayed', 'bounced', 'delivered'];
  const findName = (id: string) => Object.keys(sent).find((name) => sent[name]?.id === id) ?? id;

  async function found(filters: Record<string, string>): Promise<string[]> {
    const answer = await scene.api('GET', `/emails?${new URLSearchParams(filters)}`, { key: team.key });
    expect(answer.status, JSON.stringify(filters)).toBe(200);
    expect(answer.body.has_more).toBe(false);
    return answer.body.data.map(({ id }: { id: string }) => findName(id));
  }
  const at = (name: string, offsetMs = 0) => new Date((sent[name]?.at ?? 0) + offsetMs).toISOString();

  it('returns all emails of the team without a filter, newest first, each as GET /emails/{id} does', async () => {
    expect(await found({})).toEqual(ALL);
    const { body } = await scene.api('GET', '/emails', { key: team.key });
    for (const item of body.data) {
      expect((await scene.api('GET', `/emails/${item.id}`, { key: team.key })).body).toEqual(item);
    }
  });

  it.each([
    ['delivered', ['bcc', 'idn', 'delivered']],
    ['bounced', ['bounced']],
    ['delivery_delayed', ['delayed']],
    ['scheduled', ['scheduled']],
    ['queued', []],
    ['sent', []],
    ['opened', []],
    ['clicked', []],
    ['complained', []],
    ['failed', []],
    ['suppressed', []],
    ['canceled', []],
  ])('filters by status=%s', async (status, names) => expect(await found({ status })).toEqual(names));

  it('filters by api_key_id, even of a revoked key, and finds nothing for an unknown one', async () => {
    expect(await found({ api_key_id: keyIds['first'] ?? '' })).toEqual(['bcc', 'idn', 'delayed', 'delivered']);
    expect(await found({ api_key_id: keyIds['second'] ?? '' })).toEqual(['scheduled', 'bounced']);
    expect(await found({ api_key_id: (keyIds['second'] ?? '').toUpperCase() })).toEqual(['scheduled', 'bounced']);
    expect(await found({ api_key_id: randomUUID() })).toEqual([]);
  });

  it('finds api_key_id by an index that excludes emails sent without a key', async () => {
    const { db } = scene.app.world;
    const ask = (filters: Record<string, string>) => () => found({ api_key_id: keyIds['first'] ?? '', ...filters });
    // PostgreSQL reads a small table whole, whatever its indexes.
    if (db.dialect === 'pg') return expect(await indexesByKey(db)).toHaveLength(2);
    for (const filters of [{}, { status: 'delivered' }] as Record<string, string>[]) {
      const plans = await explainQueries(db, ask(filters), 'from emails', 'api_key_id = ?');
      expect(plans.length).toBeGreaterThan(0);
      for (const plan of plans) expect(plan).toMatch(/USING (?:COVERING )?INDEX emails_team_id_api_key_id/);
    }
  });

  it('includes the milliseconds of start_date and end_date', async () => {
    expect(await found({ start_date: at('idn') })).toEqual(['bcc', 'idn']);
    expect(await found({ start_date: at('idn', 1) })).toEqual(['bcc']);
    expect(await found({ end_date: at('bounced') })).toEqual(['bounced', 'delivered']);
    expect(await found({ end_date: at('bounced', -1) })).toEqual(['delivered']);
    expect(await found({ start_date: at('delayed'), end_date: at('delayed') })).toEqual(['delayed']);
    expect(await found({ start_date: at('delayed', 1), end_date: at('delayed', 999) })).toEqual([]);
  });

  it('finds an email with its created_at as either date', async () => {
    const { body } = await scene.api('GET', `/emails/${sent['delayed']?.id}`, { key: team.key });
    expect(await found({ start_date: body.created_at, end_date: body.created_at })).toEqual(['delayed']);
  });

  it('reads a plain date as the whole day, understands an offset, and assumes UTC without one', async () => {
    const day = at('delivered').slice(0, 10);
    const dayBefore = at('delivered', -DAY_MS).slice(0, 10);
    const dayAfter = at('delivered', DAY_MS).slice(0, 10);
    expect(await found({ start_date: day, end_date: day })).toEqual(ALL);
    expect(await found({ end_date: dayBefore })).toEqual([]);
    expect(await found({ start_date: dayAfter })).toEqual([]);
    const local = new Date((sent['idn']?.at ?? 0) + 2 * 3_600_000).toISOString().replace('Z', '');
    expect(await found({ start_date: `${local}+02:00` })).toEqual(['bcc', 'idn']);
    expect(await found({ start_date: at('idn').replace('Z', '') })).toEqual(['bcc', 'idn']);
  });

  it.each([
    'yesterday',
    '2026',
    '2026-02-30',
    '2026-13-01',
    '20261120',
    '1800000000',
    '',
    ' ',
    '2026-11-20T25:00:00Z',
    '2026-11-20T10:00:00 02:00',
  ])('returns 422 for the date %j, and names it', async (date) => {
    for (const name of ['start_date', 'end_date']) {
      const answer = await scene.api('GET', `/emails?${name}=${encodeURIComponent(date)}`, { key: team.key });
      expect(answer).toMatchObject({ status: 422, body: { name: 'invalid_parameter' } });
      expect(answer.body.message).toContain(name);
    }
  });

  it('returns 422 if the end is before the start', async () => {
    const query = new URLSearchParams({ start_date: at('idn'), end_date: at('idn', -1) });
    expect(await scene.api('GET', `/emails?${query}`, { key: team.key })).toMatchObject({
      status: 422,
      body: { name: 'invalid_parameter' },
    });
  });

  it('accepts dates far away', async () => {
    expect(await found({ start_date: '0001-01-01', end_date: '9999-12-31' })).toEqual(ALL);
    expect(await found({ start_date: '9999-12-31' })).toEqual([]);
    expect(await found({ end_date: '0001-01-01' })).toEqual([]);
  });

  it.each([
    ['receipt', ['delivered']],
    ['RECEIPT', ['delivered']],
    ['ceipt 10', ['delivered']],
    ['100%', ['delivered']],
    ['%', ['delivered']],
    ['_', ['bounced']],
    ['u_d', []],
    ['%sure', []],
    ['back\\slash', ['bcc']],
    ['\\', ['bcc']],
    ['äpfel', ['scheduled']],
    ['Äpfel', ['scheduled']],
    ['ÄPFEL', ['scheduled']],
    ['a\u0308pfel', ['scheduled']],
    ['οδοσα', ['scheduled']],
    ['ΟΔΟΣ', ['scheduled']],
    ['οδος', ['scheduled']],
    ['ann@', ['delivered']],
    ['ANN@EXAMPLE.ORG', ['delivered']],
    ['permfail@', ['bounced']],
    ['c@example.net', ['idn']],
    ['bücher', ['idn']],
    ['BÜCHER.example', ['idn']],
    ['xn--bcher-kva', ['idn']],
    ['secret@hidden', ['bcc']],
    ['news@', ALL],
    ['body-only-word', []],
    ["'", []],
    ['"', []],
    ["'; drop table emails; --", []],
    [' ', ALL.filter((name) => ['idn', 'scheduled', 'delivered'].includes(name))],
    ['\n', []],
    ['receipt 100% sure\nnews', []],
    ['😀', []],
  ])('finds the right emails with search=%j', async (search, names) => expect(await found({ search })).toEqual(names));

  it('takes a search of 1 to 200 characters', async () => {
    expect(await found({ search: 'x'.repeat(200) })).toEqual([]);
    expect(await found({ search: '😀'.repeat(200) })).toEqual([]);
    for (const search of ['', 'x'.repeat(201)]) {
      const answer = await scene.api('GET', `/emails?search=${search}`, { key: team.key });
      expect(answer).toMatchObject({ status: 422, body: { name: 'invalid_parameter' } });
    }
  });

  it('combines filters', async () => {
    const first = keyIds['first'] ?? '';
    expect(await found({ status: 'delivered', api_key_id: first, search: 'news@' })).toEqual([
      'bcc',
      'idn',
      'delivered',
    ]);
    expect(await found({ status: 'delivered', api_key_id: first, search: 'EXAMPLE.ORG' })).toEqual([
      'bcc',
      'delivered',
    ]);
    expect(await found({ status: 'delivered', start_date: at('bounced'), end_date: at('idn') })).toEqual(['idn']);
    expect(await found({ status: 'bounced', api_key_id: first })).toEqual([]);
    expect(
      await found({ search: 'plain', start_date: at('delayed'), end_date: at('delayed'), status: 'delivery_delayed' }),
    ).toEqual(['delayed']);
    expect(await found({ search: 'plain', start_date: at('delayed', 1) })).toEqual([]);
  });
});

describe('a page of large emails', () => {
  it('ends early, and the next page continues, in either direction', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const team = await scene.team();
    const { name } = await team.domain();
    const body = { from: `a@${name}`, to: 'x@example.org', subject: 'Large', text: 'x'.repeat(2_000_000) };
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.unshift((await scene.api('POST', '/emails', { key: team.key, body })).body.id);
    const page = async (cursor: string) => {
      const { body: list } = await scene.api('GET', `/emails?limit=100${cursor}`, { key: team.key });
      return { ids: list.data.map((email: { id: string }) => email.id) as string[], more: list.has_more as boolean };
    };
    const first = await page('');
    expect(first).toEqual({ ids: ids.slice(0, 2), more: true });
    const second = await page(`&after=${first.ids.at(-1)}`);
    expect(second).toEqual({ ids: ids.slice(2, 4), more: true });
    expect(await page(`&after=${second.ids.at(-1)}`)).toEqual({ ids: ids.slice(4), more: false });
    expect(await page(`&before=${ids[4]}`)).toEqual({ ids: ids.slice(2, 4), more: true });
    expect(await page(`&before=${ids[2]}`)).toEqual({ ids: ids.slice(0, 2), more: false });
  });
});

describe('GET /emails/{id}', () => {
  it('shows everything that was sent, and its state', async () => {
    await using scene = await startScene();
    const team = await scene.team();
    const domain = await team.domain();
    const body = {
      from: `Sender <a@${domain.name}>`,
      to: ['X <x@example.org>', 'y@example.net'],
      cc: ['c@example.org'],
      bcc: ['b@example.org'],
      reply_to: ['r@example.org'],
      subject: 'Everything',
      html: `<p>${'é'.repeat(200_000)}</p>`,
      text: `${'日本\r\n'.repeat(50_000)}`,
      headers: { 'X-A': '1' },
      tags: [{ name: 'kind', value: 'receipt' }],
      attachments: [{ filename: 'a.txt', content: 'QQ==' }],
      topic_id: 'topic',
    };
    const createdAt = new Date(scene.clock.now()).toISOString();
    const { body: sent } = await scene.api('POST', '/emails', { key: team.key, body });
    expect(Object.keys(sent)).toEqual(['id']);
    await scene.settled();
    const { headers: _, attachments: __, ...shown } = body;
    const read = async () => (await scene.api('GET', `/emails/${sent.id}`, { key: team.key })).body;
    const email = await read();
    expect(email).toEqual({
      object: 'email',
      id: sent.id,
      ...shown,
      message_id: `<${sent.id}@${domain.name}>`,
      created_at: createdAt,
      scheduled_at: null,
      last_event: 'delivered',
    });
    const list = await scene.api('GET', '/emails', { key: team.key });
    expect(list.body.data).toEqual([email]);
    await scene.restart();
    expect(await read()).toEqual(email);
  });

  it('finds an id in any letter case, and returns 404 for a random one', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const team = await scene.team();
    const domain = await team.domain();
    const body = { from: `a@${domain.name}`, to: 'x@example.org', subject: 'Hello', text: 'x' };
    const { id } = (await scene.api('POST', '/emails', { key: team.key, body })).body;
    const upper = await scene.api('GET', `/emails/${id.toUpperCase()}`, { key: team.key });
    expect(upper).toMatchObject({ status: 200, body: { id } });
    const absent = await scene.api('GET', `/emails/${randomUUID()}`, { key: team.key });
    expect(absent).toMatchObject({ status: 404, body: { statusCode: 404, name: 'not_found' } });
  });
});
