import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene } from '../rig/scene.ts';
import { mailIn, SECOND } from './mail.ts';

const CASES = [
  { local: 'delivered', state: 'delivered', events: ['delivered'] },
  { local: 'bounced', state: 'bounced', events: ['bounced'] },
  { local: 'full', state: 'bounced', events: ['bounced'] },
  { local: 'delayed', state: 'delivered', events: ['delivery_delayed', 'delivered'] },
  { local: 'complained', state: 'complained', events: ['delivered', 'complained'] },
  { local: 'suppressed', state: 'suppressed', events: ['suppressed'] },
  { local: 'opened', state: 'opened', events: ['delivered', 'opened'] },
  { local: 'clicked', state: 'clicked', events: ['delivered', 'clicked'] },
];

describe('the mailbox simulator', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await startScene();
  });
  afterAll(() => scene.close());

  const spellings = (local: string): string[] => [local, `${local}+order-42`, local.toUpperCase()];
  const cases = CASES.flatMap((each) => spellings(each.local).map((spelling) => ({ ...each, spelling })));

  it.for(cases)('replies for $spelling@ without DNS and without a network', async ({ spelling, state, events }) => {
    const mail = await mailIn(scene);
    const address = `${spelling}@simulator.rasket.test`;
    const questions = scene.dns.queries.length;
    const id = await mail.send(address);
    await scene.settled();
    scene.clock.advance(2 * SECOND);
    await scene.settled();
    expect(await mail.account(id)).toEqual({
      state,
      events: ['email.queued', 'email.sent', ...events.map((event) => `email.${event} ${address}`)],
      arrived: [],
      // Nothing it answers lasts: each address can be used again.
      suppressed: [],
      waiting: [],
    });
    expect([scene.sink.counts.connections, scene.dns.queries.length - questions]).toEqual([0, 0]);
  });

  it('distinguishes the kinds of bounces', async () => {
    const mail = await mailIn(scene);
    const bounced = await mail.send('bounced@simulator.rasket.test');
    const full = await mail.send('full@simulator.rasket.test');
    await scene.settled();
    const loadBounce = async (id: string): Promise<unknown> => (await mail.detail(id, 'email.bounced')).bounce;
    expect(await loadBounce(bounced)).toMatchObject({
      type: 'Permanent',
      diagnosticCode: [expect.stringContaining('5.1.1')],
    });
    expect(await loadBounce(full)).toMatchObject({
      type: 'Transient',
      subType: 'MailboxFull',
      diagnosticCode: [expect.stringContaining('5.2.2')],
    });
  });

  it('applies to no address of another domain', async () => {
    const mail = await mailIn(scene);
    const id = await mail.send('bounced@simulator.example');
    await scene.settled();
    expect(await mail.account(id)).toMatchObject({ state: 'delivered', arrived: ['bounced@simulator.example'] });
  });
});
