import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene } from '../rig/scene.ts';
import { campaignIn } from './campaign.ts';
import { HOUR, MINUTE, SECOND } from './mail.ts';

const many = (count: number, domain = 'one.example'): string[] =>
  Array.from({ length: count }, (_, i) => `reader${i}@${domain}`);
const arrivedAt = (scene: Scene, subject: string): string[] =>
  scene.sink.messages.filter(({ data }) => data.includes(`Subject: ${subject}\r\n`)).flatMap(({ rcptTo }) => rcptTo);

describe('a broadcast', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await startScene();
  });
  afterAll(() => scene.close());

  it('is sent to each member of its segment, one email each, and its report says so', async () => {
    const campaign = await campaignIn(scene);
    await campaign.addContacts(['ada@one.example', 'bob@two.example']);
    const id = await campaign.broadcast({ subject: 'To all' });
    await scene.settled();
    expect(arrivedAt(scene, 'To all').sort()).toEqual(['ada@one.example', 'bob@two.example']);
    expect(await campaign.get(id)).toMatchObject({ status: 'sent', recipients: 2, excluded: 0, total: 2 });
    expect((await campaign.reported(id, 'recipients?type=delivered')).sort()).toEqual([
      'ada@one.example',
      'bob@two.example',
    ]);
    const data = String(scene.sink.messages.find(({ rcptTo }) => rcptTo.includes('ada@one.example'))?.data);
    expect(data).toContain('Hello reader');
    expect(data).toContain('1 Mail Street');
    expect(data).toMatch(/List-Unsubscribe: <http.*\/unsubscribe\//);
    expect(data).toContain('List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n');
    expect(data).toMatch(/DKIM-Signature:[^:]*h=[^;]*List-Unsubscribe[^;]*List-Unsubscribe-Post/i);
  });

  it('renders the values of each contact in its subject and its body', async () => {
    const campaign = await campaignIn(scene);
    await campaign.call('POST', '/contact-properties', { key: 'city', type: 'string', fallback_value: 'your town' });
    for (const contact of [
      { email: 'ann@one.example', first_name: '<b>Ann</b>', properties: { city: 'Rome\r\nBcc: x@y.example' } },
      { email: 'ben@one.example' },
    ])
      expect((await campaign.call('POST', '/contacts', contact)).status).toBe(201);
    const id = await campaign.broadcast({
      subject: 'Hi {{{FIRST_NAME|you}}} in {{{city}}}',
      html: '<p>{{{FIRST_NAME|you}}} at {{{EMAIL}}}, {{{CITY}}}, {{{UNSUBSCRIBE_URL}}}</p>',
    });
    await scene.settled();
    expect(await campaign.get(id)).toMatchObject({ status: 'sent' });
    const emails = (await campaign.read('/emails')).data as { id: string; to: string[]; subject: string }[];
    const of = async (address: string): Promise<Record<string, unknown>> =>
      (await campaign.call('GET', `/emails/${emails.find(({ to }) => to.includes(address))?.id}`)).body as Record<
        string,
        unknown
      >;
    const ann = await of('ann@one.example');
    const ben = await of('ben@one.example');
    expect(ann.subject).toBe('Hi <b>Ann</b> in Rome Bcc: x@y.example');
    expect(ann.html).toContain('<p>&lt;b&gt;Ann&lt;/b&gt; at ann@one.example, Rome\r\nBcc: x@y.example, http');
    expect(ben.subject).toBe('Hi you in your town');
    expect(ben.html).toContain('<p>you at ben@one.example, your town, http');
  });

  it('leaves out contacts that unsubscribed, left the topic or are suppressed, with the reason', async () => {
    const campaign = await campaignIn(scene);
    const topic = await campaign.make('/topics', { name: 'News', default_subscription: 'opt_in' });
    await campaign.addContacts([
      'stays@one.example',
      'left@one.example',
      'off-topic@one.example',
      'bounced@one.example',
    ]);
    await campaign.call('PATCH', '/contacts/left@one.example', { unsubscribed: true });
    await campaign.call('PATCH', '/contacts/off-topic@one.example/topics', {
      topics: [{ id: topic, subscription: 'opt_out' }],
    });
    await campaign.call('POST', '/suppressions', { email: 'bounced@one.example' });
    const id = await campaign.broadcast({ subject: 'Some', topic_id: topic });
    await scene.settled();
    expect(arrivedAt(scene, 'Some')).toEqual(['stays@one.example']);
    const rows = (await campaign.read(`/broadcasts/${id}/exclusions`)).data as {
      email: string;
      reason: string;
    }[];
    expect(Object.fromEntries(rows.map(({ email, reason }) => [email, reason]))).toEqual({
      'left@one.example': 'unsubscribed',
      'off-topic@one.example': 'topic_opt_out',
      'bounced@one.example': 'suppressed',
    });
  });

  it('checks again at the claim, so that a contact who left after the accept gets nothing', async () => {
    const campaign = await campaignIn(scene);
    await campaign.addContacts(['stays@held.example', 'late@held.example', 'gone@held.example', 'list@held.example']);
    const operator = await scene.operator();
    const hold = { destination: 'held.example', reason: 'test' };
    const held = await scene.api('POST', '/operator/queue/holds', { key: operator, body: hold });
    expect(held.status).toBeLessThan(300);
    const id = await campaign.broadcast({ subject: 'Held' });
    await scene.settled();
    expect(await campaign.get(id)).toMatchObject({ status: 'sent', recipients: 4 });
    await campaign.call('PATCH', '/contacts/late@held.example', { unsubscribed: true });
    await campaign.call('DELETE', '/contacts/gone@held.example');
    await campaign.call('POST', '/suppressions', { email: 'list@held.example' });
    await scene.api('DELETE', `/operator/queue/holds/${held.body.id as string}`, { key: operator });
    await scene.settled();
    expect(arrivedAt(scene, 'Held')).toEqual(['stays@held.example']);
    expect(await campaign.reported(id, 'recipients?type=delivered')).toEqual(['stays@held.example']);
    const kept = await campaign.reported(id, 'recipients?type=suppressed');
    expect(kept.toSorted(), 'whose contact was deleted is named no more').toEqual(
      expect.arrayContaining([null, 'late@held.example', 'list@held.example']),
    );
    expect(kept).toHaveLength(3);
  });

  it('is not sent twice by two calls, or to an address whose contact was deleted and created again', async () => {
    const campaign = await campaignIn(scene);
    await campaign.addContacts(['one@one.example']);
    const id = await campaign.broadcast({ subject: 'Once', send: false });
    const answers = await Promise.all([1, 2, 3].map(() => campaign.call('POST', `/broadcasts/${id}/send`, {})));
    expect(answers.map(({ status }) => status).filter((status) => status < 300)).toHaveLength(1);
    await scene.settled();
    expect(arrivedAt(scene, 'Once')).toEqual(['one@one.example']);
  });

  it('is sent at its scheduled time, and never when it was canceled', async () => {
    const campaign = await campaignIn(scene);
    await campaign.addContacts(['then@one.example']);
    const at = new Date(scene.clock.now() + HOUR).toISOString();
    const kept = await campaign.broadcast({ subject: 'Later', scheduled_at: at });
    const canceled = await campaign.broadcast({ subject: 'Never', scheduled_at: at });
    expect((await campaign.call('POST', `/broadcasts/${canceled}/cancel`)).status).toBe(200);
    scene.clock.advance(HOUR - SECOND);
    await scene.settled();
    expect(arrivedAt(scene, 'Later')).toEqual([]);
    scene.clock.advance(SECOND);
    await scene.settled();
    expect(arrivedAt(scene, 'Later')).toEqual(['then@one.example']);
    expect(arrivedAt(scene, 'Never')).toEqual([]);
    expect(await campaign.get(kept)).toMatchObject({
      status: 'sent',
      sent_at: new Date(scene.clock.now()).toISOString(),
    });
    expect(await campaign.get(canceled)).toMatchObject({ status: 'canceled' });
  });

  it('that is long overdue is held until somebody resumes it', async () => {
    const campaign = await campaignIn(scene);
    await campaign.addContacts(['patient@one.example']);
    const id = await campaign.broadcast({
      subject: 'Overdue',
      scheduled_at: new Date(scene.clock.now() + HOUR).toISOString(),
    });
    await scene.app.broadcasts?.stop(0);
    scene.clock.advance(8 * HOUR);
    await scene.restart();
    await scene.settled();
    expect(await campaign.get(id)).toMatchObject({ status: 'scheduled', held: { reason: 'overdue' } });
    expect(arrivedAt(scene, 'Overdue')).toEqual([]);
    expect((await campaign.call('POST', `/broadcasts/${id}/resume`)).status).toBe(200);
    await scene.settled();
    expect(arrivedAt(scene, 'Overdue')).toEqual(['patient@one.example']);
    expect(await campaign.get(id)).toMatchObject({ status: 'sent', held: null });
  });

  it('that was sent while nothing ran is held when it is overdue, too', async () => {
    const campaign = await campaignIn(scene);
    await campaign.addContacts(['patient@two.example']);
    await scene.app.broadcasts?.stop(0);
    const id = await campaign.broadcast({ subject: 'Late' });
    scene.clock.advance(8 * HOUR);
    await scene.restart();
    await scene.settled();
    expect(await campaign.get(id)).toMatchObject({ status: 'queued', held: { reason: 'overdue' } });
    expect(arrivedAt(scene, 'Late')).toEqual([]);
    expect((await campaign.call('POST', `/broadcasts/${id}/resume`)).status).toBe(200);
    await scene.settled();
    expect(arrivedAt(scene, 'Late')).toEqual(['patient@two.example']);
    expect(await campaign.get(id)).toMatchObject({ status: 'sent', held: null });
  });

  it('with a rate is sent evenly', async () => {
    const campaign = await campaignIn(scene);
    await campaign.addContacts(many(10));
    const id = await campaign.broadcast({ subject: 'Slow', rate_per_minute: 24 });
    await scene.settled();
    expect(arrivedAt(scene, 'Slow')).toHaveLength(2);
    expect(await campaign.get(id)).toMatchObject({ status: 'sending', waiting_reason: 'rate' });
    scene.clock.advance(5 * SECOND);
    await scene.settled();
    expect(arrivedAt(scene, 'Slow')).toHaveLength(4);
    for (let i = 0; i < 10; i++) {
      scene.clock.advance(MINUTE / 12);
      await scene.settled();
    }
    expect(arrivedAt(scene, 'Slow').sort()).toEqual(many(10).sort());
    expect(await campaign.get(id)).toMatchObject({ status: 'sent', waiting_reason: null });
  });

  it('is held when a quota ends in the middle, and continues with the remaining contacts', async () => {
    const campaign = await campaignIn(scene);
    await campaign.addContacts(many(3));
    const { db } = scene.app.world;
    // This is the month in which it is sent.
    const month = new Date(scene.clock.now() + HOUR).toISOString().slice(0, 7);
    const id = await campaign.broadcast({
      subject: 'Quota',
      scheduled_at: new Date(scene.clock.now() + HOUR).toISOString(),
    });
    await db.run("insert into usage_counters (team_id, period, kind, used) values (?, ?, 'marketing', 1000000000)", [
      campaign.team.id,
      month,
    ]);
    scene.clock.advance(HOUR);
    await scene.settled();
    expect(await campaign.get(id)).toMatchObject({ status: 'sending', held: { reason: 'quota' }, recipients: 0 });
    await db.run("delete from usage_counters where team_id = ? and kind = 'marketing'", [campaign.team.id]);
    await campaign.call('POST', `/broadcasts/${id}/resume`);
    await scene.settled();
    expect(arrivedAt(scene, 'Quota')).toHaveLength(3);
  });

  it('that is canceled in the middle sends what was created and no further page', async () => {
    const campaign = await campaignIn(scene);
    await campaign.addContacts(many(6));
    const id = await campaign.broadcast({ subject: 'Half', rate_per_minute: 24 });
    await scene.settled();
    expect((await campaign.call('POST', `/broadcasts/${id}/cancel`)).status).toBe(200);
    scene.clock.advance(HOUR);
    await scene.settled();
    expect(arrivedAt(scene, 'Half')).toHaveLength(2);
    expect(await campaign.get(id)).toMatchObject({ status: 'canceled', recipients: 2 });
  });

  it('whose segment is deleted before its time fails with the reason', async () => {
    const campaign = await campaignIn(scene);
    await campaign.addContacts(['x@one.example']);
    const id = await campaign.broadcast({ scheduled_at: new Date(scene.clock.now() + HOUR).toISOString() });
    await campaign.call('DELETE', `/segments/${campaign.segmentId}`);
    scene.clock.advance(HOUR);
    await scene.settled();
    expect(await campaign.get(id)).toMatchObject({ status: 'failed', failed_reason: 'segment_deleted' });
  });
});

describe('a broadcast with long values', () => {
  it('leaves out contacts whose mail would exceed the size limit, and is sent to the others', async () => {
    await using scene = await startScene();
    const campaign = await campaignIn(scene);
    await campaign.call('POST', '/contact-properties', { key: 'motto', type: 'string' });
    for (const [name, motto] of [
      ['short', 'Hm'],
      ['long', '&'.repeat(500)],
    ] as const) {
      await campaign.call('POST', '/contacts', { email: `${name}@one.example`, properties: { motto } });
    }
    const id = await campaign.broadcast({ subject: 'Long', html: '<p>{{{MOTTO}}}</p>'.repeat(2000) });
    await scene.settled();
    expect(arrivedAt(scene, 'Long')).toEqual(['short@one.example']);
    const rows = (await campaign.read(`/broadcasts/${id}/exclusions`)).data;
    expect(rows).toMatchObject([{ email: 'long@one.example', reason: 'too_large' }]);
  });

  it('has a subject no longer than that of any other email, truncated between two characters', async () => {
    await using scene = await startScene();
    const campaign = await campaignIn(scene);
    await campaign.call('POST', '/contact-properties', { key: 'motto', type: 'string' });
    const motto = '\u{1F4EC}'.repeat(250);
    await campaign.call('POST', '/contacts', { email: 'm@one.example', properties: { motto } });
    await campaign.broadcast({ subject: 'A{{{MOTTO}}} {{{MOTTO}}}' });
    await scene.settled();
    const [email] = (await campaign.read('/emails')).data as { subject: string }[];
    expect(email?.subject).toBe(`A${'\u{1F4EC}'.repeat(249)}`);
    expect(scene.sink.messages.map(({ rcptTo }) => rcptTo)).toEqual([['m@one.example']]);
  });
});

describe('a broadcast in a sandboxed region', () => {
  it('is sent only to own domains, and lists the others with the reason', async () => {
    await using scene = await startScene({ config: { regions: { 'eu-west-1': { sandbox: true } } } });
    const campaign = await campaignIn(scene);
    await campaign.addContacts([`own@${campaign.domain.name}`, 'other@one.example']);
    const id = await campaign.broadcast({ subject: 'Sand' });
    await scene.settled();
    expect(arrivedAt(scene, 'Sand')).toEqual([`own@${campaign.domain.name}`]);
    const rows = (await campaign.read(`/broadcasts/${id}/exclusions`)).data;
    expect(rows).toMatchObject([{ email: 'other@one.example', reason: 'sandboxed' }]);
  });
});
