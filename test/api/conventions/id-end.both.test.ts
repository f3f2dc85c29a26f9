// Search by the end of an id, in the lists that may grow without limit.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { driver } from '../../rig/database.ts';
import { explainQueries, rowsRead } from '../../rig/plans.ts';
import { receiveMail } from '../../rig/received-mail.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { plantWebhook, plantWebhookEvent } from '../../rig/webhooks.ts';
import { createInbox, type Inbox } from '../../rig/inboxes.ts';
import { line, start, wait } from '../automations/graph.ts';

let scene: Scene;
let team: Team;
let other: Team;
let inbox: Inbox;
let operator: string;
const kept = { domain: '', webhook: '', automation: '' };
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
  team = await scene.team();
  other = await scene.team();
  inbox = await createInbox(scene, team);
  operator = await scene.operator();
  kept.domain = (await team.domain()).name;
  kept.webhook = await plantWebhook(scene, team, {});
  await post('/events', { name: 'order' });
  const graph = { name: 'Welcome', status: 'enabled', ...line(start, wait('later')) };
  kept.automation = (await post('/automations', graph)).id;
});
afterAll(() => scene.close());

const post = async (path: string, body: object): Promise<{ id: string }> => {
  const answer = await scene.api('POST', path, { key: team.key, body });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body;
};
const asked = (path: string, query: Record<string, string>, key: string) =>
  scene.api('GET', `${path}?${new URLSearchParams(query)}`, { key });
const WAITING = '/operator/queue/deliveries';
const toIds = ({ body }: { body: { data?: { id: string }[] } }): string[] => (body.data ?? []).map(({ id }) => id);
/** Returns its digits, without prefix and hyphens. */
const digits = (id: string): string => id.replace(/^[a-z]+_/, '').replaceAll('-', '');

interface Listed {
  family: string;
  path: () => string;
  make: (n: number) => Promise<string>;
  filter?: Record<string, string>;
  /** The caller, if it is not the team. */
  key?: () => string;
}

const email = async (subject: string): Promise<string> =>
  (await post('/emails', { from: `a@${kept.domain}`, to: 'x@example.org', subject, text: 'x' })).id;
const contact = async (n: number): Promise<string> => (await post('/contacts', { email: `c${n}@example.org` })).id;
const listed: Listed[] = [
  {
    family: 'emails',
    path: () => '/emails',
    filter: { status: 'queued' },
    make: (n) => email(`${n}`),
  },
  {
    family: 'received emails',
    path: () => '/emails/receiving',
    filter: { search: 'a' },
    make: (n) => receiveMail(scene, team, { raw: `From: a@example.org\r\nMessage-ID: <${n}@example.org>\r\n\r\n${n}` }),
  },
  { family: 'contacts', path: () => '/contacts', filter: { search: 'c' }, make: contact },
  {
    family: 'suppressions',
    path: () => '/suppressions',
    filter: { origin: 'manual' },
    make: async (n) => (await post('/suppressions', { email: `s${n}@example.org` })).id,
  },
  {
    family: 'webhook events',
    path: () => `/webhooks/${kept.webhook}/events`,
    filter: { status: 'failed' },
    make: (n) => {
      scene.clock.advance(n);
      return plantWebhookEvent(scene, team, kept.webhook, {});
    },
  },
  {
    family: 'runs',
    path: () => `/automations/${kept.automation}/runs`,
    filter: { status: 'running' },
    make: async (n) => {
      await post('/events/send', { event: 'order', contact_id: await contact(100 + n) });
      const [newest = ''] = toIds(await asked(`/automations/${kept.automation}/runs`, { limit: '1' }, team.key));
      return newest;
    },
  },
  {
    family: 'threads',
    path: () => `/inboxes/${inbox.id}/threads`,
    filter: { read: 'false' },
    make: async (n) => {
      await inbox.receive({ subject: `Thread ${n}` });
      return (await inbox.threads('?limit=1'))[0]?.id ?? '';
    },
  },
  {
    family: 'what waits',
    path: () => WAITING,
    filter: { state: 'waiting' },
    key: () => operator,
    make: async (n) => {
      await email(`waits ${n}`);
      return toIds(await asked(WAITING, { limit: '1' }, operator))[0] ?? '';
    },
  },
];

describe.each(listed)('the id_end filter of $family', ({ path, make, filter, key = () => team.key }) => {
  const ask = (at: string, query: Record<string, string>) => asked(at, query, key());
  let ids: string[];
  beforeAll(async () => {
    ids = [];
    for (let n = 1; n <= 5; n++) ids.push(await make(n));
  });

  it('finds the object whose id ends with it, from four digits up to the whole id', async () => {
    for (const id of ids.slice(0, 3)) {
      for (const length of [8, 13, 17, 21, 32]) {
        const end = digits(id).slice(-length);
        expect(toIds(await ask(path(), { id_end: end })), end).toEqual([id]);
      }
      expect(toIds(await ask(path(), { id_end: digits(id).slice(-8).toUpperCase() }))).toEqual([id]);
      expect(toIds(await ask(path(), { id_end: digits(id).slice(-4) }))).toContain(id);
    }
    expect(await ask(path(), { id_end: digits(ids[0] ?? '').replace(/^./, 'f') })).toMatchObject({
      status: 200,
      body: { data: [] },
    });
  });

  it('can be combined with after and before, but with no other filter', async () => {
    const [oldest = '', , middle = ''] = ids;
    const end = digits(middle).slice(-12);
    expect(toIds(await ask(path(), { id_end: end, before: oldest }))).toEqual([middle]);
    expect(toIds(await ask(path(), { id_end: end, after: oldest }))).toEqual([]);
    expect(toIds(await ask(path(), { id_end: end, before: ids[4] ?? '' }))).toEqual([]);
    const [name] = Object.keys(filter ?? {});
    expect(await ask(path(), { id_end: end, ...filter })).toMatchObject({
      status: 422,
      body: { name: 'invalid_parameter', message: `id_end stands alone; leave out ${name}.` },
    });
  });

  it.each(['abc', 'xyz1', '0'.repeat(33), '', '%%%%', 'ab-cd'])('refuses %j', async (end) => {
    expect(await ask(path(), { id_end: end })).toMatchObject({
      status: 422,
      body: { message: expect.stringContaining('id_end must be 4 to 32 hexadecimal digits without hyphens') },
    });
  });

  it('finds nothing of another team', async () => {
    const { status, body } = await asked(path(), { id_end: digits(ids[0] ?? '').slice(-12) }, other.key);
    // An operator sees all teams, and a team nothing of an operator.
    if (path() === WAITING) expect(status).toBe(403);
    else if (status !== 404) expect([status, body.data]).toEqual([200, []]);
  });
});

it('a queued email is also found by the id of its email, at each of its destinations', async () => {
  const { id } = await post('/emails', {
    from: `a@${kept.domain}`,
    to: ['x@example.org', 'y@example.net'],
    subject: 'Two',
    text: 'x',
  });
  const found = (await asked(WAITING, { id_end: digits(id).slice(-8) }, operator)).body;
  expect(found.data.map((row: { destination: string }) => row.destination).sort()).toEqual([
    'example.net',
    'example.org',
  ]);
  expect(found.data.map((row: { email_id: string }) => row.email_id)).toEqual([id, id]);
});

it('a thread is found in any folder', async () => {
  await inbox.receive({ subject: 'Away' });
  const [{ id } = { id: '' }] = await inbox.threads('?limit=1');
  const end = digits(id).slice(-8);
  for (const body of [{ folder: 'trash' }, { folder: 'spam' }, { folder: 'inbox', snoozed_until: LATER() }]) {
    expect((await inbox.call('PATCH', `/threads/${id}`, body)).status).toBe(200);
    expect(await inbox.threads(`?id_end=${end}`)).toMatchObject([{ id }]);
  }
  expect(await asked(`/inboxes/${inbox.id}/threads`, { id_end: end, snoozed: 'true' }, team.key)).toMatchObject({
    status: 422,
    body: { message: 'id_end stands alone; leave out snoozed.' },
  });
});

const LATER = (): string => new Date(scene.clock.now() + 3_600_000).toISOString();

const FILLED = 20_000;

describe('id_end among many requests', () => {
  let ids: string[];
  beforeAll(async () => {
    const { db, ids: make } = scene.app.world;
    ids = Array.from({ length: FILLED + 1 }, () => make.uuid());
    const columns = ['team_id', 'id', 'method', 'endpoint', 'response_status'];
    await db.tx((tx) =>
      tx.insertMany(
        'request_logs',
        columns,
        ids.map((id) => [other.id, id, 'GET', '/emails', 200]),
      ),
    );
    await db.withKnex((knex) => knex.raw(driver === 'pg' ? 'vacuum analyze request_logs' : 'analyze'));
  });

  it('searches the newest, and says so if none of them matches', async () => {
    const [oldest = '', second = ''] = ids;
    // The request log may have written a request of this test after them.
    const found = await asked('/logs', { id_end: digits(ids[100] ?? '').slice(-12) }, other.key);
    expect(toIds(found)).toEqual([ids[100]]);
    const end = digits(oldest).slice(-12);
    expect(await asked('/logs', { id_end: end }, other.key)).toMatchObject({
      status: 422,
      body: {
        name: 'invalid_parameter',
        message: `None of the newest ${FILLED} requests has an id that ends in ${end}; name an older one by its whole id.`,
      },
    });
    expect(toIds(await asked('/logs', { id_end: end, after: second }, other.key))).toEqual([oldest]);
  });

  it('reads ids in the order of an index', async () => {
    const { db } = scene.app.world;
    const end = digits(ids[FILLED - 50] ?? '').slice(-12);
    const plans = await explainQueries(db, () => asked('/logs', { id_end: end }, other.key), 'request_logs', 'like');
    expect(plans.length).toBeGreaterThan(0);
    for (const plan of plans) {
      expect(plan).not.toMatch(/Seq Scan|SCAN request_logs|Sort|TEMP B-TREE/);
      if (driver === 'pg') expect(rowsRead(plan)).toBeLessThanOrEqual(FILLED);
    }
  });
});
