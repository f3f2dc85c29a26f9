// an opt-in through the API --> a mail with a link --> the page that it leads to
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp } from '../../../src/app.ts';
import { nodeFolder } from '../../rig/node-folder.ts';
import { driver } from '../../rig/database.ts';
import { linksTo, press, visit } from '../../rig/preference-pages.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene.close());

const call = (team: Team, method: string, path: string, body?: unknown) =>
  scene.api(method, path, { key: team.key, ...(body === undefined ? {} : { body }) });

interface Asking {
  team: Team;
  topicId: string;
  templateId: string;
}

const URL_VARIABLE = { key: 'CONFIRMATION_URL', type: 'string' };

async function template(team: Team, more: object = {}, publish = true): Promise<string> {
  const from = `News <news@${(await team.domain()).name}>`;
  const body = {
    name: 'Confirm',
    from,
    subject: 'Do you want {{{TOPIC_NAME}}}?',
    html: '<a href="{{{CONFIRMATION_URL}}}">Yes</a>',
    text: 'Yes: {{{CONFIRMATION_URL}}}',
    variables: [URL_VARIABLE, { key: 'TOPIC_NAME', type: 'string' }],
    ...more,
  };
  const { id } = (await call(team, 'POST', '/templates', body)).body;
  if (publish) await call(team, 'POST', `/templates/${id}/publish`);
  return id;
}

const topicBody = (templateId: string | null, more: object = {}) => ({
  name: 'News',
  default_subscription: 'opt_out',
  visibility: 'public',
  description: 'What is new',
  confirmation: 'required',
  confirmation_template_id: templateId,
  ...more,
});

async function asking(): Promise<Asking> {
  const team = await scene.team();
  const templateId = await template(team);
  const created = await call(team, 'POST', '/topics', topicBody(templateId));
  expect(created.status, created.text).toBe(201);
  return { team, templateId, topicId: created.body.id };
}

const fetchState = async ({ team, topicId }: Asking, contact: string): Promise<string> => {
  const { data } = (await call(team, 'GET', `/contacts/${contact}/topics`)).body;
  const row = data.find((one: { id: string }) => one.id === topicId);
  return `${row.subscription} ${row.confirmation}`;
};

const optIn = ({ team, topicId }: Asking, contact: string, subscription = 'opt_in') =>
  call(team, 'PATCH', `/contacts/${contact}/topics`, { topics: [{ id: topicId, subscription }] });

const decisions = async ({ team }: Asking, contact: string): Promise<string[]> => {
  const { data } = (await call(team, 'GET', `/contacts/${contact}/activity?kind=consent`)).body;
  const chosen = data.filter((one: { type: string }) => one.type !== 'confirmation_asked');
  return chosen.map((one: { type: string; source: string }) => `${one.type} ${one.source}`).toReversed();
};

/** Returns the mails to one address. */
const mailsTo = (email: string): string[] =>
  scene.sink.messages.filter(({ rcptTo }) => rcptTo.includes(email)).map(({ data }) => unfolded(data.toString('utf8')));

const unfolded = (text: string): string => text.replaceAll(/=\r\n/g, '').replaceAll('=3D', '=');

async function linkTo(email: string): Promise<string> {
  await scene.settled();
  const link = /Yes: (\S+)/.exec(mailsTo(email).at(-1) ?? '')?.[1];
  if (link === undefined) throw new Error(`no link came to ${email}`);
  return link;
}

describe('an opt-in through the API', () => {
  it('sends a confirmation mail, and takes effect once the button behind the link is pressed', async () => {
    const it = await asking();
    const email = 'ada@example.org';
    await call(it.team, 'POST', '/contacts', { email });
    const answer = await optIn(it, email);
    expect(answer.body.topics).toEqual([{ id: it.topicId, subscription: 'opt_out' }]);
    expect(await fetchState(it, email)).toBe('opt_out pending');
    const link = await linkTo(email);
    expect(mailsTo(email)[0]).toContain('Subject: Do you want News?');
    const page = await visit(scene, link);
    expect(page.text).toMatch(
      /Subscribe to News .* received a request to send News to ada@example\.org \. What is new/,
    );
    await visit(scene, link, { method: 'HEAD' });
    expect(await fetchState(it, email)).toBe('opt_out pending');
    const done = await press(scene, page, 'subscribe');
    expect(done.text).toContain('You are subscribed to News');
    expect(await fetchState(it, email)).toBe('opt_in null');
    // A second click and a second opt-in change nothing.
    await press(scene, page, 'subscribe');
    await optIn(it, email);
    await scene.settled();
    expect(await decisions(it, email)).toEqual(['topic_opt_in confirmation']);
    expect([await fetchState(it, email), mailsTo(email).length]).toEqual(['opt_in null', 1]);
  });

  it('together with the contact sends a confirmation mail too, once a day', async () => {
    const it = await asking();
    const email = 'bea@example.org';
    const body = { email, topics: [{ id: it.topicId, subscription: 'opt_in' }] };
    for (let time = 0; time < 3; time++) {
      await call(it.team, 'POST', '/contacts', body);
      await scene.settled();
    }
    expect(mailsTo(email)).toHaveLength(1);
    scene.clock.advance(24 * 3_600_000 + 1000);
    await call(it.team, 'POST', '/contacts', body);
    await scene.settled();
    expect([mailsTo(email).length, await fetchState(it, email)]).toEqual([2, 'opt_out pending']);
  });

  it('is withdrawn by an opt-out, an erasure and the end of the topic', async () => {
    const it = await asking();
    for (const email of ['cay@example.org', 'dan@example.org', 'eve@example.org']) {
      await call(it.team, 'POST', '/contacts', { email });
      await optIn(it, email);
    }
    await optIn(it, 'cay@example.org', 'opt_out');
    expect(await fetchState(it, 'cay@example.org')).toBe('opt_out null');
    const link = await linkTo('dan@example.org');
    await call(it.team, 'DELETE', '/contacts/dan@example.org');
    expect((await visit(scene, link, { body: 'do=subscribe' })).text).toContain('You are not on the list');
    const late = await linkTo('eve@example.org');
    await call(it.team, 'DELETE', `/topics/${it.topicId}`);
    await call(it.team, 'PATCH', '/contacts/eve@example.org', { unsubscribed: true });
    expect((await visit(scene, late, { body: 'do=subscribe' })).text).toContain('Nothing to confirm');
    // Confirming a deleted topic subscribes to nothing else.
    expect((await call(it.team, 'GET', '/contacts/eve@example.org')).body.unsubscribed).toBe(true);
  });

  it('is confirmed for the mailed address only: a new address of the contact gets its own mail', async () => {
    const it = await asking();
    const { id } = (await call(it.team, 'POST', '/contacts', { email: 'kim@example.org' })).body;
    await optIn(it, id);
    const link = await linkTo('kim@example.org');
    await call(it.team, 'PATCH', `/contacts/${id}`, { email: 'lea@example.org' });
    const page = await visit(scene, link);
    expect([page.text.includes('Nothing to confirm'), page.html.includes('lea@')]).toEqual([true, false]);
    await visit(scene, link, { body: 'do=subscribe' });
    // However often the address changes, no mail is sent before the day is over.
    for (const email of ['kim@example.org', 'kay@example.org', 'lea@example.org']) {
      await call(it.team, 'PATCH', `/contacts/${id}`, { email });
      await optIn(it, id);
      await scene.settled();
    }
    expect([mailsTo('kim@example.org').length, mailsTo('kay@example.org'), mailsTo('lea@example.org')]).toEqual([
      1,
      [],
      [],
    ]);
    scene.clock.advance(24 * 3_600_000 + 1000);
    const own = await linkTo('lea@example.org');
    expect(await fetchState(it, id)).toBe('opt_out pending');
    await press(scene, await visit(scene, own), 'subscribe');
    expect([await fetchState(it, id), await decisions(it, id)]).toEqual(['opt_in null', ['topic_opt_in confirmation']]);
  });

  it('that was confirmed does not count for a later address either', async () => {
    const it = await asking();
    const { id } = (await call(it.team, 'POST', '/contacts', { email: 'liv@example.org' })).body;
    await optIn(it, id);
    await press(scene, await visit(scene, await linkTo('liv@example.org')), 'subscribe');
    expect(await fetchState(it, id)).toBe('opt_in null');
    await call(it.team, 'PATCH', `/contacts/${id}`, { email: 'max@example.org' });
    expect(await fetchState(it, id)).toBe('opt_out pending');
    await press(scene, await visit(scene, await linkTo('max@example.org')), 'subscribe');
    const said = ['topic_opt_in confirmation', 'topic_opt_out api', 'topic_opt_in confirmation'];
    expect([await fetchState(it, id), await decisions(it, id)]).toEqual(['opt_in null', said]);
    // Another letter case is not another address.
    await call(it.team, 'PATCH', `/contacts/${id}`, { email: 'Max@example.org' });
    expect(await fetchState(it, id)).toBe('opt_in null');
  });

  it('sends no mail to people who unsubscribed from everything or are suppressed, and shows that', async () => {
    const it = await asking();
    await call(it.team, 'POST', '/contacts', { email: 'fay@example.org', unsubscribed: true });
    await call(it.team, 'POST', '/contacts', { email: 'gus@example.org' });
    await call(it.team, 'POST', '/suppressions', { email: 'gus@example.org' });
    for (const email of ['fay@example.org', 'gus@example.org']) {
      await optIn(it, email);
      await scene.settled();
      expect([await fetchState(it, email), mailsTo(email).length]).toEqual(['opt_out failed', 0]);
    }
    // Another opt-in tries again.
    await call(it.team, 'PATCH', '/contacts/fay@example.org', { unsubscribed: false });
    await optIn(it, 'fay@example.org');
    await linkTo('fay@example.org');
    expect(await fetchState(it, 'fay@example.org')).toBe('opt_out pending');
  });

  it('shows that it failed if the mail can no longer be sent', async () => {
    const it = await asking();
    await call(it.team, 'DELETE', `/templates/${it.templateId}`);
    await call(it.team, 'POST', '/contacts', { email: 'hal@example.org' });
    await optIn(it, 'hal@example.org');
    await scene.settled();
    expect(await fetchState(it, 'hal@example.org')).toBe('opt_out failed');
    expect(scene.log.join('')).toContain('could not be asked to confirm a topic');
  });
});

it('an opt-in on the preference page needs no confirmation', async () => {
  const it = await asking();
  const { id } = (await call(it.team, 'POST', '/contacts', { email: 'ida@example.org' })).body;
  const page = await visit(scene, (await linksTo(scene, it.team, { id, email: 'ida@example.org' })).preferences);
  await press(scene, page, 'save', { tick: it.topicId });
  await scene.settled();
  expect([await fetchState(it, id), mailsTo('ida@example.org').length]).toEqual(['opt_in null', 0]);
});

it('a topic that no longer requires confirmation deletes its pending requests', async () => {
  const it = await asking();
  await call(it.team, 'POST', '/contacts', { email: 'jan@example.org' });
  await optIn(it, 'jan@example.org');
  expect((await call(it.team, 'PATCH', `/topics/${it.topicId}`, { confirmation: 'none' })).status).toBe(200);
  expect(await fetchState(it, 'jan@example.org')).toBe('opt_out null');
  await optIn(it, 'jan@example.org');
  expect(await fetchState(it, 'jan@example.org')).toBe('opt_in null');
});

describe('the limit of one confirmation mail per address and topic a day, and three in 30 days', () => {
  const DAY = 24 * 3_600_000;
  const create = ({ team, topicId }: Asking, email: string) =>
    call(team, 'POST', '/contacts', { email, topics: [{ id: topicId, subscription: 'opt_in' }] });
  /** Returns how many mails the address has got, and the state of its contact in the API. */
  const outcome = async (it: Asking, email: string): Promise<string> => {
    await scene.settled();
    return `${mailsTo(email).length} ${await fetchState(it, email)}`;
  };

  it('holds if the contact opts out and in again, or is deleted and created again', async () => {
    const it = await asking();
    const email = 'mia@example.org';
    await create(it, email);
    expect(await outcome(it, email)).toBe('1 opt_out pending');
    for (let time = 0; time < 3; time++) {
      await optIn(it, email, 'opt_out');
      await optIn(it, email);
      expect(await outcome(it, email)).toBe('1 opt_out failed');
      await call(it.team, 'DELETE', `/contacts/${email}`);
      await create(it, time === 0 ? 'Mia@Example.org' : email);
      expect(await outcome(it, email)).toBe('1 opt_out failed');
    }
    expect(scene.log.join('')).toContain(
      'a confirmation email was sent to the address today, or three times within 30 days',
    );
    // Another address and another topic are not limited by it.
    await create(it, 'ned@example.org');
    expect(await outcome(it, 'ned@example.org')).toBe('1 opt_out pending');
    const other = {
      ...it,
      topicId: (await call(it.team, 'POST', '/topics', topicBody(it.templateId, { name: 'Offers' }))).body.id,
    };
    await optIn(other, email);
    expect(await outcome(other, email)).toBe('2 opt_out pending');
    // The link of the mail that arrived is still valid.
    await press(scene, await visit(scene, /Yes: (\S+)/.exec(mailsTo(email)[0] ?? '')?.[1] ?? ''), 'subscribe');
    expect(await fetchState(it, email)).toBe('opt_in null');
  });

  it('allows a fourth when the first of the three is 30 days old', async () => {
    const it = await asking();
    const email = 'oda@example.org';
    for (let day = 0; day < 3; day++) {
      await create(it, email);
      expect(await outcome(it, email)).toBe(`${day + 1} opt_out pending`);
      scene.clock.advance(DAY + 1000);
    }
    for (let day = 3; day < 29; day += 13) {
      await call(it.team, 'DELETE', `/contacts/${email}`);
      await create(it, email);
      expect(await outcome(it, email)).toBe('3 opt_out failed');
      scene.clock.advance(13 * DAY);
    }
    scene.clock.advance(DAY);
    await optIn(it, email);
    expect(await outcome(it, email)).toBe('4 opt_out pending');
    await optIn(it, email, 'opt_out');
    await optIn(it, email);
    expect(await outcome(it, email)).toBe('4 opt_out failed');
  });

  it('does not count a mail that could not be accepted', async () => {
    const it = await asking();
    const email = 'pam@example.org';
    const { data } = (await call(it.team, 'GET', '/domains')).body;
    await call(it.team, 'DELETE', `/domains/${data[0].id}`);
    await create(it, email);
    expect(await outcome(it, email)).toBe('0 opt_out failed');
    await it.team.domain(data[0].name);
    await optIn(it, email);
    expect(await outcome(it, email)).toBe('1 opt_out pending');
  });

  it('holds for concurrent requests on several nodes', async () => {
    const it = await asking();
    const email = 'quin@example.org';
    const dataDir = nodeFolder(scene);
    const { config, log } = scene.app.world;
    const { clock } = scene;
    // SQLite has one process.
    const start = () => startApp({ config, dataDir, clock, version: '0.0.0-test', log, roles: ['delivery'] });
    const node = driver === 'pg' ? await start() : undefined;
    try {
      const again = async (): Promise<void> => {
        for (let time = 0; time < 8; time++) {
          await call(it.team, 'DELETE', `/contacts/${email}`);
          await create(it, email);
          await Promise.all([node?.confirmations?.idle(), scene.app.confirmations?.idle()]);
        }
      };
      await Promise.all(Array.from({ length: 4 }, again));
      await node?.confirmations?.idle();
      await node?.queue?.idle();
      await scene.settled();
      expect(mailsTo(email)).toHaveLength(1);
    } finally {
      await node?.close(0);
      rmSync(dataDir, { recursive: true, force: true });
    }
  });

  it('keeps no record that no longer counts', async () => {
    const { db } = scene.app.world;
    const count = async (): Promise<number> => {
      const sql = 'select count(*) as n from topic_confirmation_mails';
      return Number((await db.get<{ n: number }>(sql))?.n);
    };
    const it = await asking();
    scene.clock.advance(31 * DAY);
    await create(it, 'rob@example.org');
    await scene.settled();
    expect(await count()).toBeGreaterThan(1);
    await scene.app.jobs.find(({ name }) => name === 'forget-confirmation-mails')?.run();
    expect(await count()).toBe(1);
  });
});

describe('a topic can require confirmation only', () => {
  it('with a published template that has a sender, a subject and the variable of the link', async () => {
    const team = await scene.team();
    const refused = { status: 422, body: { name: 'invalid_parameter' } };
    const none = { variables: [], html: 'x', text: 'x', subject: 'x' };
    for (const id of [
      null,
      '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e32',
      await template(await scene.team()),
      await template(team, {}, false),
      await template(team, none),
      await template(team, { from: undefined }),
    ]) {
      const answer = await call(team, 'POST', '/topics', topicBody(id));
      expect(answer).toMatchObject(refused);
      expect(answer.body.message).toContain('confirmation_template_id');
    }
    const good = await template(team);
    const optedIn = topicBody(good, { default_subscription: 'opt_in' });
    expect(await call(team, 'POST', '/topics', optedIn)).toMatchObject(refused);
    const { id } = (await call(team, 'POST', '/topics', { name: 'Later', default_subscription: 'opt_out' })).body;
    expect(await call(team, 'PATCH', `/topics/${id}`, { confirmation: 'required' })).toMatchObject(refused);
    const change = { confirmation: 'required', confirmation_template_id: good };
    expect((await call(team, 'PATCH', `/topics/${id}`, change)).status).toBe(200);
    expect((await call(team, 'GET', `/topics/${id}`)).body).toMatchObject(change);
  });

  it.each([{ confirmation: 'maybe' }, { confirmation_template_id: 'x' }])(
    'with valid values: %j returns 400',
    async (more) => {
      const body = { name: 'News', default_subscription: 'opt_out', ...more };
      expect((await call(await scene.team(), 'POST', '/topics', body)).status).toBe(400);
    },
  );
});
