import { expect, it } from 'vitest';
import { openOffice } from './office.ts';
import { describePeers } from './peers.ts';

const MINUTE_MS = 60_000;
// With one message a connection, a later attempt meets the tables of that moment.
const eachAlone = { max_messages_per_connection: 1 };

describePeers('with a real Postfix,', ['postfix'], () => {
  it('a 550 5.1.1 for an unknown user bounces and suppresses the address', async () => {
    await using office = await openOffice();
    const sent = await office.send({ to: 'unknown@example.org' });
    await office.scene.settled();
    expect(await office.account(sent)).toEqual({
      state: 'bounced',
      events: ['email.queued', 'email.sent', 'email.bounced'],
    });
    expect(await loadBounce(office.scene, sent.id)).toEqual({
      type: 'Permanent',
      subType: 'NoEmail',
      diagnosticCode: [expect.stringMatching(/^smtp; 550 5\.1\.1 <unknown@example\.org>: .*User unknown/)],
    });
    expect(await office.suppressions()).toEqual(['unknown@example.org']);

    const again = await office.send({ to: 'unknown@example.org' });
    await office.scene.settled();
    expect((await office.account(again)).state).toBe('suppressed');
    expect(office.wire.commands('RCPT TO')).toHaveLength(1);
  });

  it('a 554 5.7.1 of a policy bounces without suppressing the address', async () => {
    await using office = await openOffice({
      postfix: { access: { 'blocked@example.org': '554 5.7.1 Your kind of mail is not wanted here' } },
    });
    const sent = await office.send({ to: 'blocked@example.org' });
    await office.scene.settled();
    expect(await office.account(sent)).toEqual({
      state: 'bounced',
      events: ['email.queued', 'email.sent', 'email.bounced'],
    });
    expect(await loadBounce(office.scene, sent.id)).toMatchObject({ type: 'Transient', subType: 'ContentRejected' });
    expect(await office.suppressions()).toEqual([]);
  });

  it('a deferred recipient is retried until Postfix accepts it, and nobody gets the mail twice', async () => {
    const recipients = ['reader@example.org', 'unknown@example.org', 'later@example.org'];
    await using office = await openOffice({
      delivery: eachAlone,
      postfix: { access: { 'later@example.org': '450 4.2.0 Greylisted, try again later' } },
    });
    const { clock } = office.scene;
    const sent = await office.send({ to: recipients });
    await office.scene.settled();
    expect((await office.account(sent)).events).toEqual([
      'email.queued',
      'email.sent',
      'email.delivered',
      'email.bounced',
      'email.delivery_delayed',
    ]);
    // The second attempt, five minutes later for greylisting, is deferred too, which is no news.
    clock.advance(6 * MINUTE_MS);
    await office.scene.settled();
    expect(office.wire.commands('RCPT TO:<later@')).toHaveLength(2);
    expect((await office.account(sent)).events).toHaveLength(5);

    office.postfix.setAccess({});
    clock.advance(10 * MINUTE_MS);
    await office.scene.settled();
    const mail = await office.postfix.received(sent.messageId, 2);
    expect(mail.map(({ to }) => to)).toEqual(expect.arrayContaining(['reader@example.org', 'later@example.org']));
    expect(mail[0]?.content.equals(mail[1]?.content ?? Buffer.alloc(0))).toBe(true);
    expect((await recipientsByEvent(office.scene, sent.id)).slice(2)).toEqual([
      ['email.delivered', ['reader@example.org']],
      ['email.bounced', ['unknown@example.org']],
      ['email.delivery_delayed', ['later@example.org']],
      ['email.delivered', ['later@example.org']],
    ]);

    clock.advance(72 * 60 * MINUTE_MS);
    await office.scene.settled();
    expect(office.wire.commands('MAIL FROM')).toHaveLength(3);
    expect(office.postfix.mail()).toHaveLength(2);
  });

  it('a recipient deferred for two days bounces once and is not suppressed', async () => {
    await using office = await openOffice({
      postfix: { access: { 'never@example.org': '450 4.2.0 Greylisted, try again later' } },
    });
    const sent = await office.send({ to: 'never@example.org' });
    for (let hours = 0; hours < 52; hours += 1) {
      await office.scene.settled();
      office.scene.clock.advance(60 * MINUTE_MS);
    }
    await office.scene.settled();
    expect(await office.account(sent)).toEqual({
      state: 'bounced',
      events: ['email.queued', 'email.sent', 'email.delivery_delayed', 'email.bounced'],
    });
    expect(await loadBounce(office.scene, sent.id)).toMatchObject({ type: 'Transient', subType: 'General' });
    expect(await office.suppressions()).toEqual([]);
    expect(office.postfix.mail()).toEqual([]);
  });

  it('a message refused after its final dot bounces, and one deferred there is sent again once', async () => {
    const atTheDot = (reply: string): Record<string, string> => ({
      smtpd_end_of_data_restrictions: `check_sender_access static:{${reply}}`,
    });
    await using office = await openOffice({
      delivery: eachAlone,
      postfix: { settings: atTheDot('550 5.7.1 This content is not wanted here') },
    });
    const refused = await office.send({ to: 'reader@example.org' });
    await office.scene.settled();
    expect((await office.account(refused)).events).toEqual(['email.queued', 'email.sent', 'email.bounced']);
    // Postfix puts "Sender address rejected" in front, after the list that was asked.
    expect(await loadBounce(office.scene, refused.id)).toMatchObject({ type: 'Transient', subType: 'General' });
    expect(await office.suppressions()).toEqual([]);

    office.postfix.set(atTheDot('451 4.7.1 Scanner is busy'));
    const deferred = await office.send({ to: 'reader@example.org' });
    await office.scene.settled();
    expect((await office.account(deferred)).state).toBe('delivery_delayed');
    office.postfix.set({ smtpd_end_of_data_restrictions: '' });
    for (let hours = 0; hours < 5; hours += 1) {
      office.scene.clock.advance(60 * MINUTE_MS);
      await office.scene.settled();
    }
    expect((await office.account(deferred)).events).toEqual([
      'email.queued',
      'email.sent',
      'email.delivery_delayed',
      'email.delivered',
    ]);
    expect(await office.postfix.received(deferred.messageId)).toHaveLength(1);
    expect(office.wire.commands('MAIL FROM')).toHaveLength(3);
  });

  it('recipients beyond smtpd_recipient_limit are retried in further transactions', async () => {
    const recipients = Array.from({ length: 25 }, (_, index) => `reader-${index}@example.org`);
    await using office = await openOffice({ postfix: { settings: { smtpd_recipient_limit: '10' } } });
    const sent = await office.send({ to: recipients });
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await office.scene.settled();
      office.scene.clock.advance(10 * MINUTE_MS);
    }
    await office.scene.settled();
    const mail = await office.postfix.received(sent.messageId, 25);
    expect(mail.map(({ to }) => to).sort()).toEqual([...recipients].sort());
    expect(await recipientsByEvent(office.scene, sent.id)).toEqual([
      ['email.queued', undefined],
      ['email.sent', undefined],
      ['email.delivered', recipients.slice(0, 10)],
      ['email.delivery_delayed', recipients.slice(10)],
      ['email.delivered', recipients.slice(10, 20)],
      ['email.delivered', recipients.slice(20)],
    ]);
  });

  it('good recipients get the mail once and bad ones bounce once when Postfix hangs up after too many errors', async () => {
    const good = ['reader-1@example.org', 'reader-2@example.org'];
    const bad = Array.from({ length: 40 }, (_, index) => `unknown-${index}@example.org`);
    await using office = await openOffice({ postfix: { settings: { smtpd_hard_error_limit: '20' } } });
    const sent = await office.send({ to: [...good, ...bad] });
    for (let attempt = 0; attempt < 6; attempt += 1) {
      await office.scene.settled();
      office.scene.clock.advance(60 * MINUTE_MS);
    }
    await office.scene.settled();
    const mail = await office.postfix.received(sent.messageId, 2);
    expect(mail.map(({ to }) => to).sort()).toEqual(good);
    const events = await recipientsByEvent(office.scene, sent.id);
    const among = (type: string): string[] => events.flatMap(([each, to]) => (each === type ? (to ?? []) : [])).sort();
    expect(among('email.delivered')).toEqual(good);
    expect(among('email.bounced')).toEqual([...bad].sort());
    expect((await office.suppressions()).sort()).toEqual([...bad].sort());
  });
});

type Events = Awaited<ReturnType<Awaited<ReturnType<typeof openOffice>>['scene']['events']>>;
interface HasEvents {
  events(id: string): Promise<Events>;
}

async function recipientsByEvent(scene: HasEvents, id: string): Promise<[string, string[] | undefined][]> {
  return (await scene.events(id)).map(({ type, data }) => [type, data?.to as string[] | undefined]);
}

async function loadBounce(scene: HasEvents, id: string): Promise<Record<string, unknown>> {
  const bounced = (await scene.events(id)).find(({ type }) => type === 'email.bounced');
  const { type, subType, diagnosticCode } = bounced!.data!.bounce as Record<string, unknown>;
  return { type, subType, diagnosticCode };
}
