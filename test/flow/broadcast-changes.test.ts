// What a broadcast is made of changes between its schedule and its sending, or in the middle of it: nobody gets two, and it ends.
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
const templateOf = async ({ call, make }: Campaign): Promise<string> => {
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
] as const)('a template that is %s before the time goes out as it was scheduled', async (what, change) => {
  const campaign = await campaignIn(scene);
  await campaign.addContacts(['a@one.example']);
  const template = await templateOf(campaign);
  const subject = `Template ${what}`;
  const id = await campaign.broadcast({ subject, html: null, template: { id: template }, scheduled_at: inAnHour() });
  expect((await change(campaign, template)).status).toBeLessThan(300);
  await due();
  expect(await campaign.get(id)).toMatchObject({ status: 'sent', recipients: 1 });
  const mails = arrived(subject);
  expect(mails.map(({ to }) => to)).toEqual([['a@one.example']]);
  expect(mails[0]?.data).toContain('As it was, reader');
});

it('a property that is deleted before the time leaves the default in its place', async () => {
  const campaign = await campaignIn(scene);
  const property = await campaign.make('/contact-properties', { key: 'city', type: 'string', fallback_value: 'town' });
  await campaign.call('POST', '/contacts', { email: 'p@one.example', properties: { city: 'Rome' } });
  const html = '<p>From {{{CITY|nowhere}}} [{{{city}}}]</p>';
  const id = await campaign.broadcast({ subject: 'Property', html, scheduled_at: inAnHour() });
  expect((await campaign.call('DELETE', `/contact-properties/${property}`)).status).toBe(200);
  await due();
  expect(await campaign.get(id)).toMatchObject({ status: 'sent', recipients: 1 });
  expect(arrived('Property')[0]?.data).toContain('From nowhere []');
});

it('a postal address cannot be taken away, so that what is scheduled has one', async () => {
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

it('a domain that loses its verification makes it wait with the reason, and it goes on when that is back', async () => {
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

it('a contact with a new address in the middle gets one, at the old or at the new', async () => {
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
