import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene } from '../rig/scene.ts';
import { mailIn, MINUTE } from './mail.ts';

describe('a suppressed address', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await startScene();
  });
  afterAll(() => scene.close());

  it('gets nothing, in any letter case, while the other recipients get their mail', async () => {
    const mail = await mailIn(scene);
    await mail.suppress('No.More@one.example');
    const id = await mail.send(['no.more@ONE.example', 'x@one.example', 'y@two.example']);
    await scene.settled();
    const account = await mail.account(id);
    expect({ ...account, events: account.events.sort(), arrived: account.arrived.sort() }).toEqual({
      state: 'suppressed',
      events: [
        'email.delivered x@one.example',
        'email.delivered y@two.example',
        'email.queued',
        'email.sent',
        'email.suppressed no.more@one.example',
      ],
      arrived: ['x@one.example', 'y@two.example'],
      suppressed: ['No.More@one.example'],
      waiting: [],
    });
  });

  it('makes an email with no other recipient end without being sent', async () => {
    const mail = await mailIn(scene);
    await mail.suppress('nobody@one.example');
    const id = await mail.send('nobody@one.example');
    await scene.settled();
    expect(await mail.account(id)).toMatchObject({
      state: 'suppressed',
      events: ['email.queued', 'email.suppressed nobody@one.example'],
      arrived: [],
      waiting: [],
    });
  });

  it('of one team gets the mail of another', async () => {
    const mail = await mailIn(scene);
    const other = await mailIn(scene);
    await mail.suppress('shared@one.example');
    // Due together, so that both teams' mail is looked up in one claim.
    const scheduled = { scheduled_at: new Date(scene.clock.now() + MINUTE).toISOString() };
    const suppressed = await mail.send('shared@one.example', scheduled);
    const delivered = await other.send('shared@one.example', scheduled);
    scene.clock.advance(MINUTE);
    await scene.settled();
    expect((await mail.account(suppressed)).arrived).toEqual([]);
    expect(await other.account(delivered)).toMatchObject({ state: 'delivered', arrived: ['shared@one.example'] });
  });

  it('gets mail again as soon as it is removed from the list', async () => {
    const mail = await mailIn(scene);
    const bounced = await mail.send('permfail@one.example');
    await scene.settled();
    expect((await mail.account(bounced)).suppressed).toEqual(['permfail@one.example']);
    await scene.api('DELETE', '/suppressions/permfail@one.example', { key: mail.team.key });
    const again = await mail.send('permfail@one.example');
    await scene.settled();
    expect((await mail.account(again)).events.at(-1)).toBe('email.bounced permfail@one.example');
  });
});
