import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildPng } from '../../rig/pictures.ts';
import { receiveMail } from '../../rig/received-mail.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { plantWebhook, plantWebhookEvent } from '../../rig/webhooks.ts';
import { formatLabel, lists } from './sample-calls.ts';

/** More than the default page of twenty. */
const COUNT = 25;

interface Listed {
  family: string;
  path: string;
  make: (scene: Scene, team: Team, i: number) => Promise<string>;
  /** Filters that match every second item, including the first; omitted if the list has none. */
  half?: () => string;
  /** Filters that match every item. */
  every?: string;
}

const kept: { sendingKey: string; sendingKeyId: string; domain: string; webhook: string } = {
  sendingKey: '',
  sendingKeyId: '',
  domain: '',
  webhook: '',
};

const listed: Listed[] = [
  {
    family: 'emails',
    path: '/emails',
    async make(scene, team, i) {
      const body = {
        from: `a@${kept.domain}`,
        to: 'x@example.org',
        subject: i % 2 === 0 ? `Even ${i}` : `Odd ${i}`,
        text: 'x',
        tags: [{ name: 'half', value: i % 2 === 0 ? 'even' : 'odd' }],
      };
      const key = i % 2 === 0 ? kept.sendingKey : team.key;
      return (await scene.api('POST', '/emails', { key, body })).body.id;
    },
    half: () =>
      `search=even&tag=half:even&api_key_id=${kept.sendingKeyId}&status=queued&start_date=2020-01-01&end_date=2100-01-01`,
    every: 'status=queued',
  },
  {
    family: 'received emails',
    path: '/emails/receiving',
    make: (scene, team, i) => {
      const from = `${i % 2 === 0 ? 'even' : 'odd'}@example.org`;
      return receiveMail(scene, team, { raw: `From: ${from}\r\nMessage-ID: <${i}@example.org>\r\n\r\nNumber ${i}` });
    },
    half: () => 'search=EVEN',
  },
  {
    family: 'broadcasts',
    path: '/broadcasts',
    make: async (scene, team, i) => {
      const body = { from: `a@${kept.domain}`, subject: 'News', name: i % 2 === 0 ? `Even ${i}` : `Odd ${i}` };
      return (await scene.api('POST', '/broadcasts', { key: team.key, body })).body.id;
    },
    half: () => 'search=even&status=draft',
    every: 'status=draft',
  },
  {
    family: 'forms',
    path: '/forms',
    make: async (scene, team, i) => {
      const topic = { name: `Sign-ups ${i}`, default_subscription: 'opt_out' };
      const { id } = (await scene.api('POST', '/topics', { key: team.key, body: topic })).body;
      const body = { name: `Form ${i}`, topic_id: id, from: `a@${kept.domain}` };
      return (await scene.api('POST', '/forms', { key: team.key, body })).body.id;
    },
  },
  {
    family: 'images',
    path: '/images',
    make: async (scene, team, i) =>
      (await scene.api('POST', '/images', { key: team.key, body: buildPng(1, 1, { salt: `${i}` }) })).body.id,
  },
  {
    family: 'domains',
    path: '/domains',
    make: async (scene, team, i) =>
      (await scene.api('POST', '/domains', { key: team.key, body: { name: `n${i}.example.com` } })).body.id,
  },
  {
    family: 'api-keys',
    path: '/api-keys',
    make: async (scene, team, i) =>
      (
        await scene.api('POST', '/api-keys', {
          key: team.key,
          body: { name: i % 2 === 0 ? `Even ${i}` : `Odd ${i}`, permission: 'sending_access' },
        })
      ).body.id,
    half: () => 'search=EVEN&permission=sending_access&status=all',
    every: 'permission=sending_access',
  },
  {
    family: 'templates',
    path: '/templates',
    make: async (scene, team, i) =>
      (await scene.api('POST', '/templates', { key: team.key, body: { name: `N${i}`, html: '' } })).body.id,
  },
  {
    family: 'suppressions',
    path: '/suppressions',
    async make(scene, team, i) {
      const email = `${i % 2 === 0 ? 'even' : 'odd'}${i}@example.org`;
      const { id } = (await scene.api('POST', '/suppressions', { key: team.key, body: { email } })).body;
      if (i % 2 === 0) await scene.app.world.db.run('update suppressions set origin = ? where id = ?', ['bounce', id]);
      return id;
    },
    half: () => 'search=EVEN&origin=bounce',
  },
  {
    family: 'contact properties',
    path: '/contact-properties',
    make: async (scene, team, i) =>
      (await scene.api('POST', '/contact-properties', { key: team.key, body: { key: `k${i}`, type: 'string' } })).body
        .id,
  },
  {
    family: 'segments',
    path: '/segments',
    make: async (scene, team, i) =>
      (await scene.api('POST', '/segments', { key: team.key, body: { name: `${i % 2 === 0 ? 'Even' : 'Odd'} ${i}` } }))
        .body.id,
    half: () => 'search=even',
    every: 'include=counts',
  },
  {
    family: 'events',
    path: '/events',
    make: async (scene, team, i) =>
      (await scene.api('POST', '/events', { key: team.key, body: { name: `n${i}` } })).body.id,
  },
  {
    family: 'automations',
    path: '/automations',
    make: async (scene, team, i) => {
      const steps = [{ key: 'start', type: 'trigger', config: { event_name: 'rasket:contact.created' } }];
      const body = { name: `${i % 2 === 0 ? 'Even' : 'Odd'} ${i}`, steps, connections: [] };
      return (await scene.api('POST', '/automations', { key: team.key, body })).body.id;
    },
    half: () => 'search=even',
    every: 'status=disabled',
  },
  {
    family: 'topics',
    path: '/topics',
    make: async (scene, team, i) =>
      (
        await scene.api('POST', '/topics', {
          key: team.key,
          body: { name: `N${i}`, default_subscription: i % 2 === 0 ? 'opt_in' : 'opt_out' },
        })
      ).body.id,
  },
  {
    family: 'inbound rules',
    path: '/inbound-rules',
    make: async (scene, team, i) => {
      const domain = await team.domain();
      const body = { pattern: `n${i}@${domain.name}`, action: i % 2 === 0 ? 'drop' : 'webhook_only' };
      return (await scene.api('POST', '/inbound-rules', { key: team.key, body })).body.id;
    },
  },
  {
    family: 'webhooks',
    path: '/webhooks',
    make: (scene, team) => plantWebhook(scene, team),
    every: 'status=enabled',
  },
  {
    family: 'webhook events',
    path: '/webhooks/{webhook_id}/events',
    make: (scene, team, i) =>
      plantWebhookEvent(scene, team, kept.webhook, {
        type: i % 2 === 0 ? 'email.sent' : 'email.bounced',
        status: i % 4 === 1 ? 'failed' : 'success',
      }),
    half: () => 'type=email.sent&status=success&start_date=2020-01-01T00:00:00Z&end_date=2100-01-01T00:00:00Z',
  },
  {
    family: 'audit',
    path: '/audit',
    async make(scene, team) {
      await scene.api('PATCH', '/team', { key: team.key, body: { ai_assist_enabled: true } });
      const { body } = await scene.api('GET', '/audit?limit=1', { key: team.key });
      return body.data[0].id;
    },
  },
  {
    family: 'logs',
    path: '/logs',
    async make(scene, team, i) {
      const path = `/suppressions/${i % 2 === 0 ? 'even' : 'odd'}@example.org`;
      return (await scene.api('GET', path, { key: team.key })).headers.get('x-request-id') ?? '';
    },
    half: () => 'search=suppressions/even',
    // Excludes the requests of this test, which are logged between the expected ones.
    every: 'response_status=404&start_date=2020-01-01&end_date=2100-01-01',
  },
];

let scene: Scene;
beforeAll(async () => {
  // Nothing is delivered, so that every email stays queued.
  scene = await startScene({ roles: ['http'] });
});
afterAll(() => scene.close());

describe.each(listed)(`paging through ${COUNT} $family`, (list) => {
  const { half, every = '' } = list;
  let team: Team;
  /** Ids newest first, like lists. */
  const all: string[] = [];
  beforeAll(async () => {
    team = await scene.team();
    const other = await scene.team();
    if (list.family === 'emails' || list.family === 'forms') kept.domain = (await team.domain()).name;
    if (list.family === 'emails') {
      kept.sendingKey = await team.sendingKey();
      const { body } = await scene.api('GET', '/api-keys?permission=sending_access', { key: team.key });
      kept.sendingKeyId = body.data[0].id;
    }
    if (list.family === 'webhook events') kept.webhook = await plantWebhook(scene, team);
    for (let i = 0; i < COUNT; i++) {
      all.unshift(await list.make(scene, team, i));
      // Some share a millisecond, some do not, and another team's are in between.
      if (i % 3 === 0) scene.clock.advance(1);
      if (i % 9 === 0 && list.family === 'suppressions') await list.make(scene, other, i);
    }
  });

  const page = async (query: string) => {
    const { status, body } = await scene.api('GET', `${list.path.replace('{webhook_id}', kept.webhook)}?${query}`, {
      key: team.key,
    });
    expect(status, query).toBe(200);
    expect(Object.keys(body).sort()).toEqual(['data', 'has_more', 'object']);
    expect(body.object).toBe('list');
    return { ids: body.data.map((item: { id: string }) => item.id) as string[], hasMore: body.has_more as boolean };
  };

  it.each([1, 7, 15, 20, COUNT - 1, COUNT, COUNT + 1, 100])(
    'by %i, forwards, returns each item once, newest first',
    async (limit) => {
      const seen: string[] = [];
      for (let cursor = '', hasMore = true; hasMore;) {
        const { ids, hasMore: more } = await page(`limit=${limit}${cursor}&${every}`);
        expect(ids).toHaveLength(Math.min(limit, COUNT - seen.length));
        seen.push(...ids);
        hasMore = more;
        cursor = `&after=${ids.at(-1)}`;
        expect(more).toBe(seen.length < COUNT);
      }
      expect(seen).toEqual(all);
    },
  );

  it.each([1, 7, 12, COUNT - 1, 100])(
    'by %i, backwards from the oldest, returns each item once and every page newest first',
    async (limit) => {
      const oldest = all.at(-1) ?? '';
      let seen = [oldest];
      for (let hasMore = true; hasMore;) {
        const { ids, hasMore: more } = await page(`limit=${limit}&before=${seen[0]}&${every}`);
        seen = [...ids, ...seen];
        hasMore = more;
        expect(more).toBe(seen.length < COUNT);
      }
      expect(seen).toEqual(all);
    },
  );

  it('returns twenty by default', async () => {
    const first = await page(every);
    expect(first).toEqual({ ids: all.slice(0, 20), hasMore: true });
  });

  it('returns an empty page beyond either end', async () => {
    expect(await page(`after=${all.at(-1)}&${every}`)).toEqual({ ids: [], hasMore: false });
    expect(await page(`before=${all[0]}&${every}`)).toEqual({ ids: [], hasMore: false });
  });

  it('returns the last page before the smallest possible id', async () => {
    const smallest = (all[0] ?? '').replace(/[0-9a-f-]{32,}$/, (digits) => digits.replaceAll(/[0-9a-f]/g, '0'));
    expect(await page(`limit=10&before=${smallest}&${every}`)).toEqual({ ids: all.slice(-10), hasMore: true });
  });

  it('leads back to the previous page with before', async () => {
    const one = all.slice(0, 10);
    const two = all.slice(10, 20);
    expect((await page(`limit=10&after=${one.at(-1)}&${every}`)).ids).toEqual(two);
    expect((await page(`limit=10&before=${two[0]}&${every}`)).ids).toEqual(one);
  });

  const filtersApply = async (leave: string): Promise<void> => {
    const even = all.filter((_, i) => (COUNT - 1 - i) % 2 === 0);
    for (const limit of [4, even.length, even.length - 1]) {
      const seen: string[] = [];
      for (let cursor = '', hasMore = true; hasMore; cursor = `&after=${seen.at(-1)}`) {
        const { ids, hasMore: more } = await page(`limit=${limit}${cursor}&${leave}`);
        seen.push(...ids);
        hasMore = more;
        expect(more).toBe(seen.length < even.length);
      }
      expect(seen).toEqual(even);
    }
    // A cursor marks a place in the list, even if its own item is filtered out.
    const odd = all[2 * 5 + 1] ?? '';
    expect((await page(`limit=3&after=${odd}&${leave}`)).ids).toEqual(
      all
        .slice(all.indexOf(odd) + 1)
        .filter((id) => even.includes(id))
        .slice(0, 3),
    );
  };
  if (half) it('applies filters before paging', () => filtersApply(half()));

  it('is not shifted by an item that arrives meanwhile', async () => {
    const first = await page(`limit=10&${every}`);
    const fresh = await list.make(scene, team, COUNT + (list.family === 'emails' ? 1 : 2));
    const second = await page(`limit=10&after=${first.ids.at(-1)}&${every}`);
    expect(second.ids).toEqual(all.slice(10, 20));
    expect((await page(`before=${first.ids[0]}&${every}`)).ids).toEqual([fresh]);
  });
});

describe('lists of the contract', () => {
  it('are all paged in this file', () => {
    // Attachments come together with their email and keep the order they have in it.
    const elsewhere = [
      'GET /emails/{email_id}/attachments',
      'GET /emails/receiving/{received_email_id}/attachments',
      // These are of one email; history.test.ts pages through them.
      'GET /emails/{email_id}/attempts',
      'GET /emails/{email_id}/events',
      // These are few, and oldest first; their own family tests them.
      'GET /webhooks/{webhook_id}/events/{event_id}/attempts',
      'GET /webhooks/{webhook_id}/parked',
      // These have no `has_more`, or belong to one segment, contact or broadcast; their own families test them.
      'GET /broadcasts/{broadcast_id}/clicked-links',
      'GET /broadcasts/{broadcast_id}/exclusions',
      'GET /broadcasts/{broadcast_id}/recipients',
      'GET /broadcasts/{broadcast_id}/reviews',
      'GET /automations/{automation_id}/runs',
      'GET /contacts',
      'GET /segments/{segment}/contacts',
      'GET /audiences/{segment}/contacts',
      'GET /contacts/{contact}/segments',
      'GET /contacts/{contact}/topics',
      'GET /contacts/{contact}/activity',
      'GET /contacts/imports',
      // No key creates its items: people join by invitation.
      'GET /team/members',
      // No call creates its items: other mail servers send them.
      'GET /domains/{domain_id}/reports',
      // Its items are created at the end of a month.
      'GET /billing/invoices',
      // No key creates its items: people give apps access.
      'GET /oauth/grants',
      'GET /approvals',
      'GET /inboxes',
      'GET /inboxes/{inbox}/drafts',
      'GET /inboxes/{inbox}/threads',
      'GET /inboxes/{inbox}/threads/search',
      'GET /inboxes/{inbox}/threads/{thread_id}/emails',
    ];
    expect(lists.map(formatLabel).sort()).toEqual([...elsewhere, ...listed.map(({ path }) => `GET ${path}`)].sort());
  });

  it.each(listed)('have every filter tested in this file: $path', ({ path, half, every = '' }) => {
    const declared = lists.find((operation) => operation.path === path)?.parameters.filter((p) => p.in === 'query');
    // id_end cannot be combined with other filters, and has a test file of its own.
    const others = ['limit', 'after', 'before', 'id_end'];
    const filters = declared?.map(({ name }) => name).filter((name) => !others.includes(name));
    const asked = new URLSearchParams(`${half?.() ?? ''}&${every}`);
    expect([...new Set(asked.keys())].sort()).toEqual(filters?.sort());
  });

  it('are empty for a team without anything', async () => {
    const { key } = await scene.team();
    // A team has the key it calls with, each call is logged, and without an endpoint there is no list of its events.
    const never = ['api-keys', 'logs', 'webhook events'];
    for (const { path } of listed.filter(({ family }) => !never.includes(family))) {
      const { body } = await scene.api('GET', path, { key });
      expect(body).toEqual({ object: 'list', has_more: false, data: [] });
    }
  });
});
