import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene } from '../rig/scene.ts';
import { advanceToNextAttempt, mailIn, listMessages, MINUTE, SECOND } from './mail.ts';

describe('an email', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await startScene();
  });
  afterAll(() => scene.close());

  it('is sent to each destination once, with all its recipients there', async () => {
    const mail = await mailIn(scene);
    const id = await mail.send(['a@one.example', 'b@one.example'], { cc: ['c@two.example'], bcc: ['d@three.example'] });
    await scene.settled();
    const account = await mail.account(id);
    expect({ ...account, events: account.events.sort(), arrived: account.arrived.sort() }).toEqual({
      state: 'delivered',
      events: [
        'email.delivered a@one.example b@one.example',
        'email.delivered c@two.example',
        'email.delivered d@three.example',
        'email.queued',
        'email.sent',
      ],
      arrived: ['a@one.example b@one.example', 'c@two.example', 'd@three.example'],
      suppressed: [],
      waiting: [],
    });
  });

  it('hides blind copies from everybody, and has the same bytes everywhere', async () => {
    const mail = await mailIn(scene);
    const id = await mail.send('seen@one.example', { bcc: ['hidden@one.example', 'hidden@two.example'] });
    await scene.settled();
    const texts = listMessages(scene, id).map((message) => message.data.toString('latin1'));
    expect(texts).toHaveLength(2);
    expect(new Set(texts).size).toBe(1);
    expect(texts[0]).toContain('seen@one.example');
    expect(texts[0]).not.toContain('hidden');
    // The test is by the name of the field: a signature may hold these letters in a row.
    expect(texts[0]).not.toMatch(/^bcc/im);
  });

  it('is sent once to an address that is named twice', async () => {
    const mail = await mailIn(scene);
    const id = await mail.send(['x@one.example', 'x@ONE.example'], { cc: ['x@one.example'] });
    await scene.settled();
    expect((await mail.account(id)).arrived).toEqual(['x@one.example']);
  });

  it('distinguishes accepted, refused and deferred recipients of one transaction', async () => {
    const mail = await mailIn(scene);
    const id = await mail.send(['ok@mixed.example', 'permfail@mixed.example', 'tempfail-once+m@mixed.example']);
    await scene.settled();
    const early = await mail.account(id);
    expect({ ...early, events: early.events.sort() }).toEqual({
      state: 'bounced',
      events: [
        'email.bounced permfail@mixed.example',
        'email.delivered ok@mixed.example',
        'email.delivery_delayed tempfail-once+m@mixed.example',
        'email.queued',
        'email.sent',
      ],
      arrived: ['ok@mixed.example'],
      suppressed: ['permfail@mixed.example'],
      waiting: ['tempfail-once+m@mixed.example'],
    });
    await advanceToNextAttempt(scene, id);
    const late = await mail.account(id);
    expect(late.events.slice(5)).toEqual(['email.delivered tempfail-once+m@mixed.example']);
    expect([late.arrived, late.waiting]).toEqual([['ok@mixed.example', 'tempfail-once+m@mixed.example'], []]);
    expect(late.state, 'a trouble is not covered up by a later success').toBe('bounced');
  });

  it('bounces for a refused recipient once, with the reason, and suppresses the address', async () => {
    const mail = await mailIn(scene);
    const id = await mail.send('permfail@refused.example');
    await scene.settled();
    expect(await mail.account(id)).toEqual({
      state: 'bounced',
      events: ['email.queued', 'email.sent', 'email.bounced permfail@refused.example'],
      arrived: [],
      suppressed: ['permfail@refused.example'],
      waiting: [],
    });
    const { bounce } = await mail.detail(id, 'email.bounced');
    expect(bounce).toMatchObject({ type: 'Permanent', diagnosticCode: ['smtp; 550 5.1.1 No such user'] });
    const { body } = await scene.api('GET', '/suppressions/permfail@refused.example', { key: mail.team.key });
    expect(body).toMatchObject({ origin: 'bounce', source_id: id });
  });

  it('bounces when the whole message is refused after its dot', async () => {
    const mail = await mailIn(scene);
    const id = await mail.send('dot-554-message-refused@refused.example');
    await scene.settled();
    const account = await mail.account(id);
    expect([account.state, account.arrived, account.waiting]).toEqual(['bounced', [], []]);
  });

  it('suppresses nobody when one reply refuses several recipients, because it names none of them', async () => {
    const mail = await mailIn(scene);
    const id = await mail.send(['dot-permfail@refused.example', 'mate@refused.example']);
    await scene.settled();
    expect(await mail.account(id)).toEqual({
      state: 'bounced',
      events: ['email.queued', 'email.sent', 'email.bounced dot-permfail@refused.example mate@refused.example'],
      arrived: [],
      suppressed: [],
      waiting: [],
    });
  });

  it('is retried after a temporary refusal of its dot, because nobody has accepted it', async () => {
    const mail = await mailIn(scene);
    const id = await mail.send('dot-tempfail-once@later.example');
    await scene.settled();
    expect((await mail.account(id)).state).toBe('delivery_delayed');
    await advanceToNextAttempt(scene, id);
    expect(await mail.account(id)).toMatchObject({ state: 'delivered', arrived: ['dot-tempfail-once@later.example'] });
  });

  it('bounces without a connection when the domain accepts no mail (RFC 7505)', async () => {
    scene.dns.set('null.example', 'MX', ['0 .']);
    const mail = await mailIn(scene);
    const id = await mail.send('x@null.example');
    await scene.settled();
    expect(await mail.account(id)).toEqual({
      state: 'bounced',
      events: ['email.queued', 'email.sent', 'email.bounced x@null.example'],
      arrived: [],
      suppressed: ['x@null.example'],
      waiting: [],
    });
    // Without an address there is nothing to connect to.
    expect(scene.dns.queries.filter(({ name }) => name === 'null.example').map(({ type }) => type)).toEqual(['MX']);
    expect((await mail.detail(id, 'email.bounced')).bounce).toMatchObject({ type: 'Permanent', subType: 'NoEmail' });
  });

  it('waits when no name server responds, and is sent when one does', async () => {
    scene.dns.set('broken-dns.example', 'ANY', 'SERVFAIL');
    const mail = await mailIn(scene);
    const id = await mail.send('x@broken-dns.example');
    await scene.settled();
    expect((await mail.account(id)).events.slice(2)).toEqual(['email.delivery_delayed x@broken-dns.example']);
    scene.dns.set('mended.sink.test', 'A', ['127.0.0.1']);
    scene.dns.set('broken-dns.example', 'ANY', []);
    scene.dns.set('broken-dns.example', 'MX', ['5 mended.sink.test']);
    await advanceToNextAttempt(scene, id);
    expect(await mail.account(id)).toMatchObject({ state: 'delivered', arrived: ['x@broken-dns.example'] });
  });

  it('waits for its scheduled time, and causes no work before', async () => {
    const mail = await mailIn(scene);
    const questions = scene.dns.queries.length;
    const id = await mail.send('x@one.example', {
      scheduled_at: new Date(scene.clock.now() + 30 * MINUTE).toISOString(),
    });
    scene.clock.advance(30 * MINUTE - SECOND);
    await scene.settled();
    expect(await mail.account(id)).toEqual({
      state: 'scheduled',
      events: ['email.scheduled'],
      arrived: [],
      suppressed: [],
      waiting: ['x@one.example'],
    });
    expect(scene.dns.queries.length).toBe(questions);
    scene.clock.advance(SECOND);
    await scene.settled();
    expect(await mail.account(id)).toMatchObject({
      state: 'delivered',
      events: ['email.scheduled', 'email.sent', 'email.delivered x@one.example'],
      arrived: ['x@one.example'],
    });
  });

  it('has two days of retries from its scheduled time', async () => {
    const mail = await mailIn(scene);
    const inTenDays = new Date(scene.clock.now() + 10 * 24 * 60 * MINUTE).toISOString();
    const id = await mail.send('tempfail-once+ten@days.example', { scheduled_at: inTenDays });
    await advanceToNextAttempt(scene, id);
    await advanceToNextAttempt(scene, id);
    expect(await mail.account(id)).toMatchObject({ state: 'delivered', arrived: ['tempfail-once+ten@days.example'] });
  });

  it('fails when its domain was removed before it was due', async () => {
    const mail = await mailIn(scene);
    const id = await mail.send('x@one.example', {
      scheduled_at: new Date(scene.clock.now() + 30 * MINUTE).toISOString(),
    });
    await scene.api('DELETE', `/domains/${mail.domain.id}`, { key: mail.team.key });
    scene.clock.advance(30 * MINUTE);
    await scene.settled();
    expect(await mail.account(id)).toMatchObject({
      state: 'failed',
      events: ['email.scheduled', 'email.sent', 'email.failed x@one.example'],
      arrived: [],
      waiting: [],
    });
    expect((await mail.detail(id, 'email.failed')).failed).toEqual({ reason: 'domain_removed' });
  });
});
