import { expect, it } from 'vitest';
import { openOffice, type Office, type Sent } from './office.ts';
import { describePeers } from './peers.ts';

describePeers('connections to a real Postfix', ['postfix'], () => {
  it('are reused: Postfix sees few of them for many messages, and each message once', async () => {
    await using office = await openOffice({ delivery: { max_connections_per_destination: 4 } });
    const sent = await sendTogether(office, 40);
    for (const { messageId } of sent) expect(await office.postfix.received(messageId)).toHaveLength(1);
    expect(office.postfix.mail()).toHaveLength(40);
    await office.hangUp();
    const connections = (await office.postfix.logged(/: connect from/)).length;
    const goodbyes = await office.postfix.logged(/disconnect from/, connections);
    expect(connections).toBeLessThanOrEqual(4);
    expect(goodbyes.map((line) => Number(/ mail=(\d+)/.exec(line)?.[1])).reduce((sum, mails) => sum + mails)).toBe(40);
    for (const line of goodbyes) expect(line).toMatch(/ quit=1 /);
  });

  it('are replaced after the configured number of messages', async () => {
    const delivery = { max_connections_per_destination: 1, max_messages_per_connection: 5 };
    await using office = await openOffice({ delivery });
    for (let count = 0; count < 12; count += 1) {
      await office.send({ to: 'reader@example.org' });
      await office.scene.settled();
    }
    await office.hangUp();
    const goodbyes = await office.postfix.logged(/disconnect from/, 3);
    expect(goodbyes.map((line) => Number(/ mail=(\d+)/.exec(line)?.[1]))).toEqual([5, 5, 2]);
  });

  it('stay usable after a refused transaction', async () => {
    await using office = await openOffice({ delivery: { max_connections_per_destination: 1 } });
    const refused = await office.send({ to: 'unknown@example.org' });
    await office.scene.settled();
    const sent = await office.send({ to: 'reader@example.org' });
    await office.scene.settled();
    expect((await office.account(refused)).state).toBe('bounced');
    expect((await office.account(sent)).state).toBe('delivered');
    expect(await office.postfix.received(sent.messageId)).toHaveLength(1);
    expect(await office.postfix.logged(/: connect from/)).toHaveLength(1);
  });

  it('that Postfix closed while they were idle cost the next message nothing', async () => {
    await using office = await openOffice({
      postfix: { settings: { smtpd_timeout: '1s' } },
      delivery: { idle_seconds: 300 },
    });
    await office.send({ to: 'reader@example.org' });
    await office.scene.settled();
    await office.postfix.logged(/disconnect from/);
    const sent = await office.send({ to: 'reader@example.org' });
    await office.scene.settled();
    expect(await office.account(sent)).toEqual({
      state: 'delivered',
      events: ['email.queued', 'email.sent', 'email.delivered'],
    });
    expect(await office.postfix.received(sent.messageId)).toHaveLength(1);
  });

  it('are limited to two by Postfix, which gets all mail over those two', async () => {
    await using office = await openOffice({
      postfix: { settings: { smtpd_client_connection_count_limit: '2' } },
      delivery: { max_connections_per_destination: 8 },
    });
    const sent = await sendTogether(office, 30);
    await office.postfix.logged(/Connection concurrency limit exceeded/);
    for (const each of sent) {
      expect(await office.account(each)).toEqual({
        state: 'delivered',
        events: ['email.scheduled', 'email.sent', 'email.delivered'],
      });
      expect(await office.postfix.received(each.messageId)).toHaveLength(1);
    }
    expect(office.postfix.mail()).toHaveLength(30);
  });
});

/** Messages that all fall due at one moment, so that they want more connections than they may have. */
async function sendTogether({ scene, send }: Office, count: number): Promise<Sent[]> {
  const scheduled_at = new Date(scene.clock.now() + 600_000).toISOString();
  const messages = Array.from({ length: count }, (_, index) => ({ to: `reader-${index}@example.org`, scheduled_at }));
  const sent = await Promise.all(messages.map(send));
  scene.clock.advance(600_000);
  await scene.settled();
  return sent;
}
