// mail of automations --> the queue, where it waits --> a contact that has left, or that opens it
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAutomationLoop } from '../../src/features/automations/runner/execute-run.ts';
import { claimDeliveries } from '../../src/mail/queue/claim.ts';
import type { Executor } from '../../src/platform/db/index.ts';
import { line, start, step, supply, type Supplies } from '../api/automations/graph.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { POSTAL_ADDRESS } from './campaign.ts';
import { HOUR } from './mail.ts';
import { engagements, follow, publishTracking, readMail, sendHtml } from './reader.ts';

const thanks = (has: Supplies, more: object = {}) =>
  step('mail', 'send_email', { template: { id: has.template, variables: { PRODUCT: 'Tea' } }, ...more });

function desk(scene: Scene, has: Supplies) {
  return async (method: string, path: string, body?: unknown) => {
    const answer = await scene.api(method, path, { key: has.team.key, ...(body === undefined ? {} : { body }) });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
    return answer.body;
  };
}

describe('when an email of a run is claimed,', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await startScene({ config: { tracking: { scheme: 'http' } } });
  });
  afterAll(() => scene.close());

  /** Sends to a contact whose server puts it off, so that it waits in the queue; then that happens, and the queue comes to it. */
  async function waiting(leave: (has: Supplies, call: ReturnType<typeof desk>, contact: string) => Promise<unknown>) {
    const has = await supply(scene);
    const call = desk(scene, has);
    await call('PATCH', '/team', { postal_address: POSTAL_ADDRESS });
    const { id: contact } = await call('POST', '/contacts', { email: 'tempfail@one.example' });
    await call('PATCH', `/contacts/${contact}/topics`, [{ id: has.topic, subscription: 'opt_in' }]);
    const graph = line(start, thanks(has, { topic_id: has.topic }));
    await call('POST', '/automations', { name: 'A', status: 'enabled', ...graph });
    await call('POST', '/events/send', { event: 'order', contact_id: contact });
    await scene.settled();
    const [{ id }] = (await call('GET', '/emails')).data;
    const attempts = async () => (await call('GET', `/emails/${id}/attempts`)).data.length;
    expect(await attempts()).toBe(1);
    await leave(has, call, contact);
    scene.clock.advance(HOUR);
    await scene.settled();
    const told = (await scene.events(id)).find(({ type }) => type === 'email.suppressed');
    return { attempts: await attempts(), told };
  }

  it.each([
    ['unsubscribed', (_, call, contact) => call('PATCH', `/contacts/${contact}`, { unsubscribed: true })],
    [
      'left the topic',
      (has, call, contact) =>
        call('PATCH', `/contacts/${contact}/topics`, [{ id: has.topic, subscription: 'opt_out' }]),
    ],
    ['was deleted', (_, call, contact) => call('DELETE', `/contacts/${contact}`)],
  ] satisfies [string, Parameters<typeof waiting>[0]][])(
    'a contact that %s gets nothing, and the reason is recorded',
    async (_, leave) => {
      const { attempts, told } = await waiting(leave);
      expect(attempts).toBe(1);
      expect(JSON.stringify(told)).toContain(
        'The contact unsubscribed, left the topic or was deleted after this email was accepted, so nothing was sent to it.',
      );
    },
  );

  it('a suppressed contact gets nothing, by the rule for all mail, and another one is retried', async () => {
    const suppressed = await waiting((_, call) => call('POST', '/suppressions', { email: 'tempfail@one.example' }));
    expect([suppressed.attempts, JSON.stringify(suppressed.told)]).toEqual([
      1,
      expect.stringContaining('suppression list'),
    ]);
    const stays = await waiting(async () => undefined);
    expect(stays.attempts).toBeGreaterThan(1);
    expect(stays.told).toBeUndefined();
  });
});

it('the check of the contact costs other mail no statement', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const { world } = scene.app;
  const has = await supply(scene);
  const call = desk(scene, has);
  const [{ name }] = (await call('GET', '/domains')).data;
  const claim = () =>
    world.db.tx(async (tx) => {
      const sent: string[] = [];
      const note = (sql: string): string => {
        sent.push(sql);
        return sql;
      };
      const counting: Executor = {
        dialect: tx.dialect,
        all: (sql, values) => tx.all(note(sql), values),
        get: (sql, values) => tx.get(note(sql), values),
        run: (sql, values) => tx.run(note(sql), values),
        insertMany: (table, ...rows) => tx.insertMany(note(table), ...rows),
        runEach: (sql, ...rest) => tx.runEach(note(sql), ...rest),
      };
      const { claimed } = await claimDeliveries(world, counting, { owner: 'test', limit: 10, lane: 0 });
      return { count: claimed.length, sent };
    });
  await call('POST', '/emails', { from: `a@${name}`, to: 'ada@example.org', subject: 'x', text: 'x' });
  const plain = await claim();
  const graph = line(start, thanks(has));
  await call('POST', '/automations', { name: 'A', status: 'enabled', ...graph });
  await call('POST', '/events/send', { event: 'order', contact_id: has.contact });
  const loop = createAutomationLoop(world, () => undefined);
  await loop.start();
  await loop.idle();
  await loop.stop(0);
  const ofRun = await claim();
  expect([plain.count, ofRun.count]).toEqual([1, 1]);
  const isAbout = (sql: string): boolean => /from (contacts|broadcast_recipients)|select \* from emails/.test(sql);
  expect(plain.sent.filter(isAbout)).toEqual([]);
  // The email with its topic, its contact, and whether that is suppressed; and the send, for the contact's engagement.
  expect([ofRun.sent.filter(isAbout).length, ofRun.sent.length - plain.sent.length]).toEqual([2, 4]);
});

it('a loop of automations through opened mail stops at the maximum depth, with the reason on the run', async () => {
  await using scene = await startScene({ config: { tracking: { scheme: 'http' } } });
  const has = await supply(scene);
  const call = desk(scene, has);
  const [domain] = (await call('GET', '/domains')).data;
  await publishTracking(scene, has.team, domain.id, { open_tracking: true, click_tracking: true });
  const opened = { ...start, config: { event_name: 'rasket:email.opened' } };
  const { id } = await call('POST', '/automations', { name: 'Loop', status: 'enabled', ...line(opened, thanks(has)) });
  const first = await sendHtml(scene, has.team, domain, { html: '<p>Hi</p>', to: 'ada@example.org' });
  let pixel = first.pixel ?? '';
  let email = first.id;
  for (let n = 1; pixel !== '' && n < 20; n++) {
    const before = scene.sink.messages.length;
    await follow(scene.url, pixel);
    expect(await engagements(scene, email)).toHaveLength(1);
    await scene.settled();
    scene.clock.advance(3000);
    const fresh = scene.sink.messages[before];
    pixel = fresh ? ((await readMail(fresh.data)).pixel ?? '') : '';
    email = (await call('GET', '/emails?limit=1')).data[0].id;
  }
  const sql = 'select depth, status, error from automation_runs where automation_id = ? order by id';
  const runs = await scene.app.world.db.all<{ depth: number; status: string; error: string | null }>(sql, [id]);
  const completed = Array.from({ length: 6 }, (_, depth) => ({ depth, status: 'completed', error: null }));
  const error = 'not begun: 6 runs, one started by what the other did, led to it, and at most 5 may';
  expect(runs).toEqual([...completed, { depth: 6, status: 'cancelled', error }]);
  // A day later a person who opens an email of their own begins at depth 0 again.
  scene.clock.advance(24 * HOUR);
  const later = await sendHtml(scene, has.team, domain, { html: '<p>Hi</p>', to: 'ada@example.org' });
  await follow(scene.url, later.pixel ?? '');
  await engagements(scene, later.id);
  await scene.settled();
  expect((await scene.app.world.db.all<{ depth: number }>(sql, [id])).at(-1)).toMatchObject({ depth: 0 });
});

it('a merge value that would be code at its place in the template is left out', async () => {
  await using scene = await startScene();
  const has = await supply(scene);
  const call = desk(scene, has);
  const html = '<p><a href="{{{LINK}}}">{{{NAME}}}</a></p>';
  const variables = ['LINK', 'NAME'].map((key) => ({ key, type: 'string' }));
  const { id } = await call('POST', '/templates', {
    name: 'Link',
    subject: 'A link',
    html,
    variables,
    from: `shop@${(await call('GET', '/domains')).data[0].name}`,
  });
  await call('POST', `/templates/${id}/publish`);
  const given = { LINK: { var: 'event.link' }, NAME: { var: 'event.name' } };
  const graph = line(start, step('mail', 'send_email', { template: { id, variables: given } }));
  await call('POST', '/automations', { name: 'A', status: 'enabled', ...graph });
  const fetchHref = async (link: string) => {
    const before = scene.sink.messages.length;
    await call('POST', '/events/send', {
      event: 'order',
      email: 'ada@example.org',
      payload: { link, name: '<b>Ada</b>' },
    });
    await scene.settled();
    const data = scene.sink.messages[before]?.data ?? Buffer.alloc(0);
    const { html: body } = await readMail(data);
    expect(body).toContain('&lt;b&gt;Ada&lt;/b&gt;');
    return /href="([^"]*)"/.exec(body)?.[1];
  };
  expect(await fetchHref('https://shop.example/1?a=b')).toBe('https://shop.example/1?a=b');
  expect(await fetchHref('java\tscript:alert(1)')).toBe('');
});
