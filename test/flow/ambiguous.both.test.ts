import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startScene, type Scene } from '../rig/scene.ts';
import { advanceToNextAttempt, HOUR, mailIn, MINUTE } from './mail.ts';

/** A file of more than a socket takes at once, so that the break comes before the dot. */
const LARGE = { filename: 'large.bin', content: Buffer.alloc(12_000_000).toString('base64') };

describe('a message whose reply was lost after its final dot', () => {
  let scene: Scene;
  beforeEach(async () => {
    scene = await startScene();
  });
  afterEach(() => scene.close());

  const timesOffered = (address: string): number =>
    scene.sink.commands.filter((line) => line.includes(`RCPT TO:<${address}>`)).length;

  it('is never sent again and fails after exactly two hours', async () => {
    const mail = await mailIn(scene);
    const id = await mail.send('drop-after-dot@one.example');
    await scene.settled();
    const inDoubt = {
      state: 'sent',
      events: ['email.queued', 'email.sent'],
      arrived: [],
      suppressed: [],
      waiting: ['drop-after-dot@one.example'],
    };
    expect(await mail.account(id)).toEqual(inDoubt);
    scene.clock.advance(2 * HOUR - 1);
    await scene.settled();
    expect(await mail.account(id)).toEqual(inDoubt);
    scene.clock.advance(1);
    await scene.settled();
    const failed = {
      ...inDoubt,
      state: 'failed',
      events: [...inDoubt.events, 'email.failed drop-after-dot@one.example'],
      waiting: [],
    };
    expect(await mail.account(id)).toEqual(failed);
    expect((await mail.detail(id, 'email.failed')).failed).toEqual({ reason: 'ambiguous_submission' });
    scene.clock.advance(48 * HOUR);
    await scene.settled();
    expect(await mail.account(id)).toEqual(failed);
    expect(timesOffered('drop-after-dot@one.example')).toBe(1);
  });

  it('stays in doubt over a restart', async () => {
    const mail = await mailIn(scene);
    const id = await mail.send('drop-after-dot@one.example');
    await scene.settled();
    scene.clock.advance(HOUR);
    await scene.restart();
    await scene.settled();
    expect((await mail.account(id)).state).toBe('sent');
    scene.clock.advance(HOUR);
    await scene.settled();
    expect((await mail.account(id)).state).toBe('failed');
    expect(timesOffered('drop-after-dot@one.example')).toBe(1);
  });

  it('is separate from the deferred recipients of the same transaction, which are retried', async () => {
    const mail = await mailIn(scene);
    const id = await mail.send(['drop-after-dot@one.example', 'tempfail-once@one.example']);
    await scene.settled();
    expect(await mail.account(id)).toEqual({
      state: 'delivery_delayed',
      events: ['email.queued', 'email.sent', 'email.delivery_delayed tempfail-once@one.example'],
      arrived: [],
      suppressed: [],
      waiting: ['drop-after-dot@one.example', 'tempfail-once@one.example'],
    });
    await advanceToNextAttempt(scene, id);
    expect(await mail.account(id)).toMatchObject({
      state: 'delivered',
      arrived: ['tempfail-once@one.example'],
      waiting: ['drop-after-dot@one.example'],
    });
    scene.clock.advance(2 * HOUR);
    await scene.settled();
    expect(await mail.account(id)).toMatchObject({
      state: 'failed',
      events: expect.arrayContaining(['email.failed drop-after-dot@one.example']),
      arrived: ['tempfail-once@one.example'],
      waiting: [],
    });
    expect(timesOffered('drop-after-dot@one.example')).toBe(1);
  });

  it('is sent again when the connection broke before its dot', async () => {
    const mail = await mailIn(scene);
    const id = await mail.send('drop-in-data@one.example', { attachments: [LARGE] });
    await scene.settled();
    expect((await mail.account(id)).state).toBe('delivery_delayed');
    scene.clock.advance(2 * MINUTE);
    await scene.settled();
    expect(timesOffered('drop-in-data@one.example')).toBe(2);
  });
});
