import { describe, expect, it } from 'vitest';
import { startScene } from '../rig/scene.ts';
import { mailIn, listMessages, MINUTE } from './mail.ts';

describe('under load', () => {
  it('a slow destination delays only its own mail', async () => {
    await using scene = await startScene({ config: { delivery: { max_in_flight: 8 } } });
    const mail = await mailIn(scene);
    const slow = await Promise.all(Array.from({ length: 12 }, (_, n) => mail.send(`slow+${n}@slow.example`)));
    await scene.sink.waitFor((sink) => sink.commands.some((line) => line.includes('@slow.example')));
    const quick = await Promise.all(Array.from({ length: 12 }, (_, n) => mail.send(`q${n}@quick.example`)));
    await scene.sink.waitFor(12);
    expect(scene.sink.messages.map((message) => message.rcptTo[0]?.split('@')[1])).toEqual(
      Array.from({ length: 12 }, () => 'quick.example'),
    );
    scene.sink.openGate();
    await scene.sink.waitFor(24);
    await scene.settled();
    for (const id of [...slow, ...quick])
      expect(await mail.account(id)).toMatchObject({ state: 'delivered', waiting: [] });
    expect(new Set(scene.sink.messages.map((message) => message.rcptTo.join())).size).toBe(24);
  });

  it('large messages to several destinations share memory and connections without waiting for each other', async () => {
    // There is one connection in all: its holder must never wait for memory that waits for the connection.
    await using scene = await startScene({
      config: { delivery: { max_connections: 1, max_connections_per_destination: 1 } },
      sink: { keep: false },
    });
    const mail = await mailIn(scene);
    const content = Buffer.alloc(29_500_000, 'attachment').toString('base64');
    const dueAt = scene.clock.now() + MINUTE;
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) {
      // Due together, so that all of them want memory before any has reached its second destination.
      const scheduled_at = new Date(dueAt).toISOString();
      const attachments = [{ filename: 'large.bin', content }];
      ids.push(await mail.send([`x${n}@one.example`, `x${n}@two.example`], { attachments, scheduled_at }));
    }
    scene.clock.advance(MINUTE);
    await scene.settled();
    for (const id of ids) expect(await mail.account(id)).toMatchObject({ state: 'delivered', waiting: [] });
    expect(scene.sink.counts.accepted).toBe(6);
  });

  it('an email whose destinations are claimed separately is sent once', async () => {
    await using scene = await startScene({ config: { delivery: { max_in_flight: 1 } } });
    const mail = await mailIn(scene);
    await mail.suppress('gone@one.example');
    const id = await mail.send(['gone@one.example', 'x@two.example', 'y@three.example']);
    await scene.sink.waitFor(2);
    await scene.settled();
    const { events } = await mail.account(id);
    expect([...events].sort()).toEqual([
      'email.delivered x@two.example',
      'email.delivered y@three.example',
      'email.queued',
      'email.sent',
      'email.suppressed gone@one.example',
    ]);
    expect(listMessages(scene, id)).toHaveLength(2);
  });
});
