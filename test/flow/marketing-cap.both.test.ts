// a team that limits the marketing emails of a contact --> broadcasts and automations leave out who has had enough
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startApp } from '../../src/app.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { supply } from '../api/automations/graph.ts';
import { driver } from '../rig/database.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { arrived, desk, mail } from './automations-desk.ts';
import { campaignIn, POSTAL_ADDRESS } from './campaign.ts';
import { HOUR, SECOND } from './mail.ts';

describe('with a limit of marketing emails for each contact,', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await startScene();
  });
  afterAll(() => scene.close());

  it('a broadcast leaves out contacts that have had as many, with the reason, until the first is too long ago', async () => {
    const campaign = await campaignIn(scene);
    await campaign.call('PATCH', '/team', { marketing_cap: { emails: 2, days: 7 } });
    await campaign.addContacts(['old@one.example']);
    const send = async (subject: string): Promise<Record<string, unknown>> => {
      const id = await campaign.broadcast({ subject });
      await scene.settled();
      return campaign.get(id);
    };
    expect(await send('First')).toMatchObject({ recipients: 1, excluded: 0 });
    scene.clock.advance(HOUR);
    await campaign.addContacts(['new@one.example']);
    expect(await send('Second')).toMatchObject({ recipients: 2, excluded: 0 });
    const draft = await campaign.broadcast({ subject: 'Third', send: false });
    const { audience } = await campaign.read(`/broadcasts/${draft}/checklist`);
    expect(audience).toMatchObject({ contacts: 2, recipients: 2, over_marketing_cap: 1 });
    const third = await send('Third');
    expect(third).toMatchObject({ status: 'sent', recipients: 1, excluded: 1 });
    expect(arrived(scene, 'Third')).toEqual(['new@one.example']);
    const left = (await campaign.read(`/broadcasts/${third.id as string}/exclusions`)).data;
    expect(left).toMatchObject([{ email: 'old@one.example', reason: 'marketing_cap' }]);
    scene.clock.advance(7 * 24 * HOUR - HOUR - SECOND);
    expect(await send('Fourth')).toMatchObject({ recipients: 0, excluded: 2 });
    scene.clock.advance(2 * SECOND);
    expect(await send('Fifth')).toMatchObject({ recipients: 1, excluded: 1 });
    expect(arrived(scene, 'Fifth')).toEqual(['old@one.example']);
    await campaign.call('PATCH', '/team', { marketing_cap: null });
    const lifted = await campaign.read(`/broadcasts/${draft}/checklist`);
    expect(lifted.audience).toMatchObject({ recipients: 2, over_marketing_cap: null });
    expect(await send('Sixth')).toMatchObject({ recipients: 2, excluded: 0 });
  });

  it('a copy for the remaining contacts reaches those that the limit left out', async () => {
    const campaign = await campaignIn(scene);
    await campaign.call('PATCH', '/team', { marketing_cap: { emails: 1, days: 1 } });
    await campaign.addContacts(['again@one.example']);
    await campaign.broadcast({ subject: 'Before' });
    await scene.settled();
    const id = await campaign.broadcast({ subject: 'Over' });
    await scene.settled();
    expect(arrived(scene, 'Over')).toEqual([]);
    scene.clock.advance(25 * HOUR);
    const copy = await campaign.make(`/broadcasts/${id}/duplicate`, { remaining: true });
    await campaign.call('POST', `/broadcasts/${copy}/send`);
    await scene.settled();
    expect(arrived(scene, 'Over')).toEqual(['again@one.example']);
  });

  it('an email of an automation is skipped with the reason, and transactional mail is sent and not counted', async () => {
    const has = await supply(scene);
    const { must, automate, send, run } = desk(scene, has);
    await must('PATCH', '/team', { marketing_cap: { emails: 1, days: 1 }, postal_address: POSTAL_ADDRESS });
    const step = (key: string, stream: string) => mail(key, has, { PRODUCT: 'Tea' }, { subject: key, stream });
    const id = await automate(
      step('receipt', 'transactional'),
      step('offer', 'marketing'),
      step('more', 'marketing'),
      step('invoice', 'transactional'),
    );
    await send();
    await scene.settled();
    expect(await run(id)).toMatchObject({
      status: 'completed',
      by: {
        receipt: { output: { email_id: expect.any(String) } },
        offer: { output: { email_id: expect.any(String) } },
        more: { output: { skipped: 'marketing_cap' } },
        invoice: { output: { email_id: expect.any(String) } },
      },
    });
    expect([arrived(scene, 'offer'), arrived(scene, 'more')].map((found) => found.length)).toEqual([1, 0]);
    const dry = await must('POST', `/automations/${id}/dry-run`, { contact_id: has.contact });
    expect(JSON.stringify(dry)).toContain('The contact is skipped: marketing_cap.');
  });

  it('a limit out of range is refused with its field', async () => {
    const { team } = await campaignIn(scene);
    const change = (marketing_cap: unknown) => scene.api('PATCH', '/team', { key: team.key, body: { marketing_cap } });
    expect((await change({ emails: 0, days: 7 })).body.message).toContain('marketing_cap.emails');
    expect((await change({ emails: 1, days: 91 })).body.message).toContain('marketing_cap.days');
    expect((await change({ emails: 50, days: 90 })).body).toMatchObject({ marketing_cap: { emails: 50, days: 90 } });
  });
});

it('four broadcasts that are sent at once exceed the limit for no contact', async () => {
  const scene = await startScene();
  onTestFinished(() => scene.close());
  const nodes = [scene.app];
  if (driver === 'pg') {
    const log = createLog({ level: 'error', format: 'json', write: (line) => void scene.log.push(line) });
    const { config, clock } = scene.app.world;
    const { dataDir } = scene;
    const node = await startApp({ config, dataDir, clock, log, roles: ['http', 'delivery'], version: '0.0.0-test' });
    onTestFinished(() => node.close(0));
    nodes.push(node);
  }
  const campaign = await campaignIn(scene);
  await campaign.call('PATCH', '/team', { marketing_cap: { emails: 2, days: 30 } });
  const addresses = Array.from({ length: 60 }, (_, i) => `reader${i}@list.example`);
  await campaign.addContacts(addresses);
  const ids = await Promise.all(['A', 'B', 'C', 'D'].map((subject) => campaign.broadcast({ subject })));
  const isSent = async (id: string): Promise<boolean> => (await campaign.get(id)).status === 'sent';
  for (let i = 0; i < 60 && !(await Promise.all(ids.map(isSent))).every(Boolean); i++) {
    scene.clock.advance(SECOND);
    await Promise.all([
      scene.settled(),
      ...nodes.flatMap(({ queue, broadcasts }) => [queue?.idle(), broadcasts?.idle()]),
    ]);
  }
  await scene.settled();
  const counts = new Map<string, number>();
  const all = ['A', 'B', 'C', 'D'].flatMap((subject) => arrived(scene, subject));
  for (const address of all) counts.set(address, (counts.get(address) ?? 0) + 1);
  expect([counts.size, new Set(counts.values())]).toEqual([60, new Set([2])]);
});
