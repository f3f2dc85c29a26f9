import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene } from '../rig/scene.ts';
import { advanceToNextAttempt, HOUR, mailIn, MINUTE } from './mail.ts';

const JITTER = 0.15;

describe('retries', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await startScene();
  });
  afterAll(() => scene.close());

  it('follow the whole schedule for two days and end in one Transient bounce', async () => {
    const mail = await mailIn(scene);
    const began = scene.clock.now();
    const id = await mail.send('tempfail@never.example');
    await scene.settled();
    const waits: number[] = [];
    while ((await mail.account(id)).waiting.length > 0) waits.push(await advanceToNextAttempt(scene, id));

    const scheduled = scene.app.world.config.delivery.retry_minutes.map((minutes) => minutes * MINUTE);
    for (const [i, waitMs] of waits.slice(0, -1).entries()) {
      const plannedMs = scheduled[Math.min(i, scheduled.length - 1)] ?? 0;
      expect(Math.abs(waitMs - plannedMs), `wait ${i + 1}`).toBeLessThanOrEqual(plannedMs * JITTER + 1);
    }
    expect(waits.reduce((sum, waitMs) => sum + waitMs, 0)).toBe(scene.clock.now() - began);
    expect(scene.clock.now() - began).toBeLessThanOrEqual(48 * HOUR);
    expect(scene.clock.now() - began).toBeGreaterThan(40 * HOUR);
    const tries = scene.sink.commands.filter((line) => line.includes('RCPT TO:<tempfail@never.example>'));
    expect(tries).toHaveLength(waits.length + 1);
    expect(await mail.account(id)).toEqual({
      state: 'bounced',
      events: [
        'email.queued',
        'email.sent',
        'email.delivery_delayed tempfail@never.example',
        'email.bounced tempfail@never.example',
      ],
      arrived: [],
      suppressed: [],
      waiting: [],
    });
    expect((await mail.detail(id, 'email.bounced')).bounce).toMatchObject({ type: 'Transient', subType: 'General' });
  });

  it('are reported as a delay at the first deferral and not again', async () => {
    const mail = await mailIn(scene);
    const id = await mail.send('tempfail@slow-learner.example');
    await scene.settled();
    const delayed = ['email.queued', 'email.sent', 'email.delivery_delayed tempfail@slow-learner.example'];
    expect((await mail.account(id)).events).toEqual(delayed);
    const { delay } = await mail.detail(id, 'email.delivery_delayed');
    expect(delay).toMatchObject({
      delayedRecipients: [
        { emailAddress: 'tempfail@slow-learner.example', diagnosticCode: 'smtp; 451 4.3.0 Try again later' },
      ],
    });
    await advanceToNextAttempt(scene, id);
    await advanceToNextAttempt(scene, id);
    expect((await mail.account(id)).events).toEqual(delayed);
  });

  it('of mail that was deferred together are spread out', async () => {
    const mail = await mailIn(scene);
    const ids = await Promise.all(Array.from({ length: 12 }, (_, n) => mail.send(`tempfail+${n}@together.example`)));
    await scene.settled();
    const now = scene.clock.now();
    const rows = await scene.app.world.db.all<{ email_id: string; due_at: number }>(
      'select email_id, due_at from deliveries',
    );
    const waits = rows.filter((row) => ids.includes(row.email_id)).map((row) => row.due_at - now);
    expect(waits).toHaveLength(12);
    expect(new Set(waits).size).toBeGreaterThan(6);
    for (const waitMs of waits) expect(Math.abs(waitMs - MINUTE)).toBeLessThanOrEqual(MINUTE * JITTER);
  });

  it('are not made to an address that was suppressed in the meantime', async () => {
    const mail = await mailIn(scene);
    const id = await mail.send(['tempfail-once+s@later.example', 'tempfail-once+t@later.example']);
    await scene.settled();
    await mail.suppress('tempfail-once+s@later.example');
    await advanceToNextAttempt(scene, id);
    const account = await mail.account(id);
    expect({ ...account, events: account.events.slice(3).sort() }).toEqual({
      state: 'suppressed',
      events: ['email.delivered tempfail-once+t@later.example', 'email.suppressed tempfail-once+s@later.example'],
      arrived: ['tempfail-once+t@later.example'],
      suppressed: ['tempfail-once+s@later.example'],
      waiting: [],
    });
    expect((await mail.detail(id, 'email.suppressed')).suppressed).toMatchObject({
      reason: 'manual',
      type: 'Suppressed',
    });
  });
});
