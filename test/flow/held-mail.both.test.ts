import { describe, expect, it } from 'vitest';
import { publish, startScene } from '../rig/scene.ts';
import { setSending } from '../../src/tenancy/instance/index.ts';
import { administerTeam } from '../../src/tenancy/teams/index.ts';
import { HOUR, mailIn, MINUTE } from './mail.ts';

describe('the global send switch', () => {
  it('refuses new mail with 503, holds accepted mail, and releases it when it is on again', async () => {
    await using scene = await startScene();
    const mail = await mailIn(scene);
    const scheduled_at = new Date(scene.clock.now() + 10 * MINUTE).toISOString();
    const id = await mail.send('x@one.example', { scheduled_at });
    await setSending(scene.app.world, { isOn: false, reason: 'moving house' });

    const body = { from: `a@${mail.domain.name}`, to: 'x@one.example', subject: 'x', text: 'y' };
    for (const [path, sent] of [
      ['/emails', body],
      ['/emails/batch', [body]],
    ] as const) {
      const refused = await scene.api('POST', path, { key: mail.team.key, body: sent });
      expect(refused).toMatchObject({ status: 503, body: { statusCode: 503, name: 'service_unavailable' } });
      expect(refused.body.message).toContain('(moving house)');
    }
    scene.clock.advance(HOUR);
    await scene.settled();
    expect(await mail.account(id)).toMatchObject({ state: 'scheduled', arrived: [] });

    await setSending(scene.app.world, { isOn: true });
    scene.clock.advance(1000);
    await scene.settled();
    expect(await mail.account(id)).toMatchObject({ state: 'delivered', arrived: ['x@one.example'] });
  });

  it('does not prevent a stored idempotent response', async () => {
    await using scene = await startScene();
    const mail = await mailIn(scene);
    const body = { from: `a@${mail.domain.name}`, to: 'x@one.example', subject: 'x', text: 'y' };
    const send = () =>
      scene.api('POST', '/emails', { key: mail.team.key, body, headers: { 'idempotency-key': 'once' } });
    const first = await send();
    await setSending(scene.app.world, { isOn: false });
    expect(await send()).toMatchObject({ status: 200, text: first.text });
  });
});

describe('a suspended team', () => {
  it('is refused, and its waiting mail is held until it is resumed, with all its time for retries', async () => {
    await using scene = await startScene();
    const mail = await mailIn(scene);
    const other = await mailIn(scene);
    const scheduled_at = new Date(scene.clock.now() + 10 * MINUTE).toISOString();
    const id = await mail.send('451-later@one.example', { scheduled_at });
    const shared = await scene.api('POST', `/emails/${id}/share`, { key: mail.team.key });
    expect((await fetch(shared.body.url)).status).toBe(200);
    await administerTeam(scene.app.world, mail.team.id, { riskState: 'suspended' });

    const body = { from: `a@${mail.domain.name}`, to: 'x@one.example', subject: 'x', text: 'y' };
    expect(await scene.api('POST', '/emails', { key: mail.team.key, body })).toMatchObject({
      status: 403,
      body: { name: 'suspended_api_key' },
    });
    expect((await fetch(shared.body.url)).status).toBe(404);
    for (let passed = 0; passed < 72 * HOUR; passed += HOUR) {
      scene.clock.advance(HOUR);
      await scene.settled();
    }
    expect((await scene.events(id)).map(({ type }) => type)).toEqual(['email.scheduled']);
    const theirs = await other.send('x@one.example');
    await scene.settled();
    expect((await other.account(theirs)).state).toBe('delivered');

    await administerTeam(scene.app.world, mail.team.id, { riskState: 'normal' });
    scene.clock.advance(HOUR);
    await scene.settled();
    expect((await scene.events(id)).map(({ type }) => type)).toContain('email.sent');
    // Three days of rest have not used up the two days of retries.
    expect((await scene.events(id)).map(({ type }) => type)).not.toContain('email.bounced');
  });

  it('with more mail than one poll claims does not hold back the mail of others', async () => {
    await using scene = await startScene();
    const mail = await mailIn(scene);
    const other = await mailIn(scene);
    const scheduled_at = new Date(scene.clock.now() + 10 * MINUTE).toISOString();
    const emails = Array.from({ length: 100 }, () => ({
      from: `a@${mail.domain.name}`,
      to: 'x@one.example',
      subject: 'x',
      text: 'y',
      scheduled_at,
    }));
    for (let i = 0; i < 5; i++) await scene.api('POST', '/emails/batch', { key: mail.team.key, body: emails });
    const theirs = await other.send('x@one.example', { scheduled_at });
    await administerTeam(scene.app.world, mail.team.id, { riskState: 'suspended' });
    scene.clock.advance(10 * MINUTE + 1);
    await scene.settled();
    expect((await other.account(theirs)).state).toBe('delivered');
    expect(scene.sink.messages).toHaveLength(1);
  });
});

describe('a domain that is no longer verified', () => {
  it('has its held mail released as soon as it is verified again, and no other mail', async () => {
    await using scene = await startScene();
    const mail = await mailIn(scene);
    const { key } = mail.team;
    const at = (ms: number) => ({ scheduled_at: new Date(scene.clock.now() + ms).toISOString() });
    const held = await mail.send('x@one.example', at(2 * MINUTE));
    const scheduled = await mail.send('x@one.example', at(30 * HOUR));
    const letGo = async () => {
      await scene.app.jobs.find((job) => job.name === 'release-deferred-mail')?.run();
      scene.clock.advance(1000);
      await scene.settled();
    };
    scene.clock.advance(MINUTE);
    const path = `/domains/${mail.domain.id}`;
    const { body } = await scene.api('POST', `${path}/dkim/regenerate`, { key, body: { key_bits: 2048 } });
    scene.clock.advance(MINUTE);
    await scene.settled();
    expect((await mail.account(held)).state).toBe('delivery_delayed');
    await letGo();
    expect((await mail.account(held)).state).toBe('delivery_delayed');

    publish(scene.dns, body);
    await scene.api('POST', `${path}/verify`, { key });
    const refused = await mail.send('451-later@one.example');
    await scene.settled();
    const due = () => scene.app.world.db.get('select due_at from deliveries where email_id = ?', [refused]);
    const before = await due();
    await letGo();
    expect((await mail.account(held)).state).toBe('delivered');
    expect((await mail.account(scheduled)).state).toBe('scheduled');
    expect(await due()).toEqual(before);
  });

  it('makes its held mail fail as soon as it is removed', async () => {
    await using scene = await startScene();
    const mail = await mailIn(scene);
    const { key } = mail.team;
    const scheduled_at = new Date(scene.clock.now() + 2 * MINUTE).toISOString();
    const held = await mail.send('x@one.example', { scheduled_at });
    scene.clock.advance(MINUTE);
    const path = `/domains/${mail.domain.id}`;
    await scene.api('POST', `${path}/dkim/regenerate`, { key, body: { key_bits: 2048 } });
    scene.clock.advance(MINUTE);
    await scene.settled();
    await scene.api('DELETE', path, { key });
    await scene.app.jobs.find((job) => job.name === 'release-deferred-mail')?.run();
    scene.clock.advance(1000);
    await scene.settled();
    expect((await mail.account(held)).state).toBe('failed');
  });
});
