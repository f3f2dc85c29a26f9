// The parts of a broadcast change between its schedule and its sending, or in the middle of it: nobody gets two, and it ends.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startScene, type Scene } from '../rig/scene.ts';
import { campaignIn, type Campaign } from './campaign.ts';
import { HOUR, SECOND } from './mail.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene.close());

const arrived = (subject: string): { to: string[]; data: string }[] =>
  scene.sink.messages
    .filter(({ data }) => data.includes(`Subject: ${subject}\r\n`))
    .map(({ rcptTo, data }) => ({ to: [...rcptTo], data: String(data) }));
const inAnHour = (): string => new Date(scene.clock.now() + HOUR).toISOString();
const due = async (): Promise<void> => {
  scene.clock.advance(HOUR);
  await scene.settled();
};
const createTemplate = async ({ call, make }: Campaign): Promise<string> => {
  const id = await make('/templates', { name: 'T', html: '<p>As it was, {{{FIRST_NAME|reader}}}</p>' });
  await call('POST', `/templates/${id}/publish`);
  return id;
};

it.each([
  ['deleted', async ({ call }: Campaign, id: string) => call('DELETE', `/templates/${id}`)],
  [
    'republished',
    async ({ call }: Campaign, id: string) => {
      await call('PATCH', `/templates/${id}`, { html: '<p>Something else</p>' });
      return call('POST', `/templates/${id}/publish`);
    },
  ],
] as const)('a broadcast whose template is %s before its time is sent as it was scheduled', async (what, change) => {
  const campaign = await campaignIn(scene);
  await campaign.addContacts(['a@one.example']);
  const template = await createTemplate(campaign);
  const subject = `Template ${what}`;
  const id = await campaign.broadcast({ subject, html: null, template: { id: template }, scheduled_at: inAnHour() });
  expect((await change(campaign, template)).status).toBeLessThan(300);
  await due();
  expect(await campaign.get(id)).toMatchObject({ status: 'sent', recipients: 1 });
  const mails = arrived(subject);
  expect(mails.map(({ to }) => to)).toEqual([['a@one.example']]);
  expect(mails[0]?.data).toContain('As it was, reader');
});

it('a property that is deleted before the time is replaced by the default, or the fallback that was fixed at scheduling', async () => {
  const campaign = await campaignIn(scene);
  const property = await campaign.make('/contact-properties', { key: 'city', type: 'string', fallback_value: 'town' });
  await campaign.call('POST', '/contacts', { email: 'p@one.example', properties: { city: 'Rome' } });
  const html = '<p>From {{{CITY|nowhere}}} [{{{city}}}]</p>';
  const id = await campaign.broadcast({ subject: 'Property', html, scheduled_at: inAnHour() });
  expect((await campaign.call('DELETE', `/contact-properties/${property}`)).status).toBe(200);
  await due();
  expect(await campaign.get(id)).toMatchObject({ status: 'sent', recipients: 1 });
  expect(arrived('Property')[0]?.data).toContain('From nowhere [town]');
});

it('a postal address cannot be removed, so that scheduled broadcasts have one', async () => {
  const campaign = await campaignIn(scene);
  await campaign.addContacts(['a@one.example']);
  const id = await campaign.broadcast({ subject: 'Address', scheduled_at: inAnHour() });
  for (const gone of [null, {}, { line1: '', city: '', country: '' }]) {
    const refused = await campaign.call('PATCH', '/team', { postal_address: gone });
    expect([400, 422]).toContain(refused.status);
    expect(refused.text).toMatch(/postal_address|line1/);
  }
  await due();
  expect(await campaign.get(id)).toMatchObject({ status: 'sent' });
  expect(arrived('Address')[0]?.data).toContain('1 Mail Street');
});

it('a domain that loses its verification makes a broadcast wait with the reason until it is verified again', async () => {
  const campaign = await campaignIn(scene);
  const { db } = scene.app.world;
  await campaign.addContacts(['a@one.example', 'b@one.example']);
  const id = await campaign.broadcast({ subject: 'Domain', scheduled_at: inAnHour() });
  const was = await db.get<{ verified_at: number }>('select verified_at from domains where id = ?', [
    campaign.domain.id,
  ]);
  const verify = (at: number | null) =>
    db.run('update domains set verified_at = ? where id = ?', [at, campaign.domain.id]);
  await verify(null);
  await due();
  expect(arrived('Domain')).toEqual([]);
  expect(await campaign.get(id)).toMatchObject({ waiting_reason: 'domain_unverified' });
  await verify(was?.verified_at ?? 1);
  for (let i = 0; i < 40 && arrived('Domain').length < 2; i++) {
    scene.clock.advance(5 * SECOND);
    await scene.settled();
  }
  expect(await campaign.get(id)).toMatchObject({ status: 'sent', recipients: 2 });
  expect(
    arrived('Domain')
      .flatMap(({ to }) => to)
      .sort(),
  ).toEqual(['a@one.example', 'b@one.example']);
});

it('a contact whose address changes during a broadcast gets one email, at the old or the new address', async () => {
  const campaign = await campaignIn(scene);
  await campaign.addContacts(['last@one.example', 'middle@one.example', 'first@one.example']);
  // One in five seconds, the newest first.
  const id = await campaign.broadcast({ subject: 'Moved', rate_per_minute: 12 });
  await scene.settled();
  expect(arrived('Moved').flatMap(({ to }) => to)).toEqual(['first@one.example']);
  for (const name of ['first', 'last']) {
    const moved = await campaign.call('PATCH', `/contacts/${name}@one.example`, { email: `${name}@new.example` });
    expect(moved.status, moved.text).toBe(200);
  }
  for (let i = 0; i < 40; i++) {
    scene.clock.advance(SECOND);
    await scene.settled();
  }
  expect(await campaign.get(id)).toMatchObject({ status: 'sent', recipients: 3 });
  const names = arrived('Moved').flatMap(({ to }) => to.map((address) => address.split('@')[0]));
  expect(names.sort()).toEqual(['first', 'last', 'middle']);
});

it('a topic that is deleted before or during a broadcast makes it fail, and nobody is reported to have left it', async () => {
  const campaign = await campaignIn(scene);
  await campaign.addContacts(['t1@one.example', 't2@one.example']);
  const createTopic = (name: string) => campaign.make('/topics', { name, default_subscription: 'opt_in' });
  const before = await createTopic('Before');
  const middle = await createTopic('Middle');
  const scheduled = await campaign.broadcast({ subject: 'Topic', topic_id: before, scheduled_at: inAnHour() });
  const begun = await campaign.broadcast({ subject: 'Topic', topic_id: middle, rate_per_minute: 12 });
  await scene.settled();
  expect(await campaign.get(begun)).toMatchObject({ status: 'sending', recipients: 1 });
  for (const topic of [before, middle]) await campaign.call('DELETE', `/topics/${topic}`);
  await due();
  const failed = { status: 'failed', failed_reason: 'topic_deleted', excluded: 0 };
  expect(await campaign.get(scheduled)).toMatchObject({ ...failed, recipients: 0 });
  expect(await campaign.get(begun)).toMatchObject({ ...failed, recipients: 1 });
  expect(arrived('Topic').map(({ to }) => to)).toEqual([['t2@one.example']]);
});

it('a topic that is deleted while a page is made makes the broadcast fail as well', async () => {
  const campaign = await campaignIn(scene);
  await campaign.addContacts(['page@one.example']);
  const topic = await campaign.make('/topics', { name: 'Page', default_subscription: 'opt_in' });
  const id = await campaign.broadcast({ subject: 'Page', topic_id: topic, scheduled_at: inAnHour() });
  const { db } = scene.app.world;
  const { all } = db;
  let deleted: number | undefined;
  // The members are read, and the page is about to be written.
  db.all = (async (...args: Parameters<typeof all>) => {
    const rows = await all.apply(db, args);
    if (deleted === undefined && JSON.stringify(rows).includes('page@one.example')) {
      deleted = 0;
      deleted = (await campaign.call('DELETE', `/topics/${topic}`)).status;
    }
    return rows;
  }) as typeof all;
  await due();
  Object.assign(db, { all });
  await due();
  expect(deleted).toBe(200);
  expect(await campaign.get(id)).toMatchObject({ status: 'failed', failed_reason: 'topic_deleted', excluded: 0 });
  expect(arrived('Page')).toEqual([]);
});
