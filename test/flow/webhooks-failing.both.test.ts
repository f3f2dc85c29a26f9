import { describe, expect, it, vi } from 'vitest';
import { createAdminNotices } from '../../src/features/webhooks/delivery/webhook-sender.ts';
import { createDisableFailing } from '../../src/features/webhooks/delivery/endpoint-sender.ts';
import type { Db } from '../../src/platform/db/index.ts';
import { administerTeam } from '../../src/tenancy/teams/index.ts';
import { disableWebhook } from '../../src/features/webhooks/endpoints/webhooks.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { sceneFor, startWebhookReceiver, type WebhookReceiver } from '../rig/webhook-receiver.ts';
import { plantWebhook } from '../rig/webhooks.ts';
import { HOUR, mailIn, SECOND, type Mail } from './mail.ts';
import { happen, hookAt, loadOutbox } from './webhook-scene.ts';

const DAY = 24 * HOUR;

async function withFailing(
  work: (parts: { scene: Scene; receiver: WebhookReceiver; mail: Mail; hookId: string }) => Promise<void>,
): Promise<void> {
  await using receiver = await startWebhookReceiver();
  await using scene = await startScene(sceneFor(receiver));
  receiver.publishIn(scene.dns);
  const mail = await mailIn(scene);
  const { id: hookId } = await hookAt(scene, mail.team, receiver.url());
  receiver.reply(500);
  await work({ scene, receiver, mail, hookId });
}

const fetchStatus = async (scene: Scene, mail: Mail, hookId: string): Promise<string> =>
  (await scene.api('GET', `/webhooks/${hookId}`, { key: mail.team.key })).body.status as string;

/** Something happens, and its first attempt has ended. */
async function tryOnce(scene: Scene, mail: Mail): Promise<void> {
  await happen(scene, mail.team);
  await scene.settled();
}

describe('five days without success', () => {
  it('disable an endpoint at the next failure, park its waiting events, and are mailed to the admins', async () => {
    await withFailing(async ({ scene, mail, hookId, receiver }) => {
      const adminEmails = ['ann@admins.example', 'bob@admins.example'];
      await administerTeam(scene.app.world, mail.team.id, { adminEmails });
      await tryOnce(scene, mail);
      scene.clock.advance(5 * DAY - SECOND);
      await scene.settled();
      await tryOnce(scene, mail);
      expect(await fetchStatus(scene, mail, hookId)).toBe('enabled');
      scene.clock.advance(SECOND);
      await scene.settled();
      await tryOnce(scene, mail);
      expect(await fetchStatus(scene, mail, hookId)).toBe('disabled');
      const waiting = (await loadOutbox(scene, hookId)).filter((row) => row.status !== 'failed');
      expect(waiting.length).toBeGreaterThanOrEqual(2);
      expect(waiting.filter((row) => row.parked !== 1 || row.due_at !== null)).toEqual([]);
      const mails = scene.sink.messages.filter((message) => message.data.includes('Webhook disabled'));
      expect(mails.flatMap((message) => message.rcptTo).sort()).toEqual(adminEmails);
      expect(mails[0]?.data.toString()).toContain(hookId);
      expect(mails[0]?.mailFrom).toContain(mail.domain.name);

      const count = receiver.requests.length;
      await tryOnce(scene, mail);
      scene.clock.advance(DAY);
      await scene.settled();
      expect(receiver.requests).toHaveLength(count);
      expect(scene.sink.messages.filter((message) => message.data.includes('Webhook disabled'))).toHaveLength(
        mails.length,
      );
    });
  });

  it('disable an endpoint without further events', async () => {
    await withFailing(async ({ scene, mail, hookId }) => {
      await tryOnce(scene, mail);
      scene.clock.advance(5 * DAY - SECOND);
      await scene.settled();
      expect(await fetchStatus(scene, mail, hookId)).toBe('enabled');
      // Looked at three times in a lease.
      scene.clock.advance(60 * SECOND);
      await scene.settled();
      expect(await fetchStatus(scene, mail, hookId)).toBe('disabled');
    });
  });

  it('start again with any success', async () => {
    await withFailing(async ({ scene, mail, hookId, receiver }) => {
      await tryOnce(scene, mail);
      scene.clock.advance(4 * DAY);
      await scene.settled();
      receiver.reply(200);
      await tryOnce(scene, mail);
      receiver.reply(500);
      await tryOnce(scene, mail);
      scene.clock.advance(5 * DAY - SECOND);
      await scene.settled();
      await tryOnce(scene, mail);
      expect(await fetchStatus(scene, mail, hookId)).toBe('enabled');
    });
  });

  it('do not include days without events', async () => {
    await withFailing(async ({ scene, mail, hookId }) => {
      scene.clock.advance(30 * DAY);
      await scene.settled();
      await tryOnce(scene, mail);
      expect(await fetchStatus(scene, mail, hookId)).toBe('enabled');
    });
  });

  it('that nobody can be told about are logged, with what is missing', async () => {
    await withFailing(async ({ scene, mail, hookId }) => {
      await tryOnce(scene, mail);
      scene.clock.advance(5 * DAY);
      await scene.settled();
      await tryOnce(scene, mail);
      expect(await fetchStatus(scene, mail, hookId)).toBe('disabled');
      const told = scene.log.filter((line) => line.includes('a webhook was disabled and no admin could be notified'));
      expect(told).toHaveLength(1);
      expect(told[0]).toContain('rasket teams update --admin');
      expect(told[0]).toContain(hookId);
    });
  });

  it('are mailed from the team’s own domain under its own name, without other teams and the contents of the URL', async () => {
    await withFailing(async ({ scene, mail, hookId }) => {
      const operator = await scene.team();
      await operator.domain('rasket.test');
      await administerTeam(scene.app.world, mail.team.id, { adminEmails: ['ann@admins.example'] });
      const { endpoint } = (await scene.api('GET', `/webhooks/${hookId}`, { key: mail.team.key })).body;
      // The endpoint is one from before user names were refused.
      const secretUrl = `${String(endpoint).replace('https://', 'https://ann:PASS@')}T0PATH/secret?token=QUERY`;
      await scene.app.world.db.run('update webhooks set endpoint = ? where id = ?', [secretUrl, hookId]);
      await disable(scene, mail, hookId);
      const [message] = scene.sink.messages.filter(({ rcptTo }) => rcptTo.includes('ann@admins.example'));
      const text = message?.data.toString() ?? '';
      expect(text).toContain(`From: rasket <notifications@${mail.domain.name}>`);
      expect(text).toContain('hooks.test');
      expect(text).toContain(hookId);
      expect(text).toMatch(/replay --failed --parked --since 2\d{3}-/);
      expect(text).not.toMatch(/PASS|T0PATH|QUERY/);
      const fetchEmails = async (key: string): Promise<unknown[]> =>
        (await scene.api('GET', '/emails', { key })).body.data as unknown[];
      expect(await fetchEmails(operator.key)).toEqual([]);
      expect(await fetchEmails(mail.team.key)).toHaveLength(1);
    });
  });

  it('are only logged when the team has no domain, even when another team has one', async () => {
    await withFailing(async ({ scene, mail, hookId }) => {
      const operator = await scene.team();
      await operator.domain('rasket.test');
      await administerTeam(scene.app.world, mail.team.id, { adminEmails: ['ann@admins.example'] });
      await scene.app.world.db.run('update domains set verified_at = null where id = ?', [mail.domain.id]);
      await disable(scene, mail, hookId);
      expect(scene.sink.messages).toEqual([]);
      expect(scene.log.filter((line) => line.includes('the team has no verified domain to send from'))).toHaveLength(1);
      expect((await scene.api('GET', '/emails', { key: operator.key })).body.data).toEqual([]);
    });
  });
});

it('an endpoint that is disabled while other admins are being notified gets its notice as well', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const hook = await plantWebhook(scene, await scene.team());
  const { world } = scene.app;
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  const all: Db['all'] = async (...statement) => {
    const rows = await world.db.all(...statement);
    asked.resolve();
    await answer.promise;
    return rows as never;
  };
  const notices = createAdminNotices(
    { ...world, db: { ...world.db, all } },
    { acceptEmail: () => expect.unreachable() },
  );
  notices.start();
  await asked.promise;
  await disableWebhook(world, hook, 'failing');
  notices.wake();
  answer.resolve();
  await notices.idle();
  await notices.stop(0);
  const sql = 'select admins_told_at from webhooks where id = ?';
  expect(await world.db.get(sql, [hook])).toEqual({ admins_told_at: world.clock.now() });
});

describe('endpoints to disable while the database is unavailable', () => {
  /**
   * Makes this many endpoints that have failed for six days, and a function that disables them on a database that can
   * be unavailable.
   */
  async function plantFailing(scene: Scene, count: number) {
    const { world } = scene.app;
    const team = await scene.team();
    const ids: string[] = [];
    for (let n = 0; n < count; n++) ids.push(await plantWebhook(scene, team));
    await world.db.run('update webhooks set failing_since = ?', [scene.clock.now() - 6 * DAY]);
    const away: { all: boolean; failingRuns: number } = { all: false, failingRuns: 0 };
    const gone = (): never => {
      throw Object.assign(new Error('planted fault'), { code: 'ECONNREFUSED' });
    };
    const db: Db = {
      ...world.db,
      all: async (...statement) => (away.all ? gone() : world.db.all(...statement)),
      run: async (...statement) => (away.failingRuns-- > 0 ? gone() : world.db.run(...statement)),
    };
    const disabled: string[] = [];
    const disable = createDisableFailing({ ...world, db }, () => void disabled.push('one'));
    const logged = () => scene.log.filter((line) => line.includes('could not disable a webhook')).length;
    return { ids, away, disable, disabled, logged };
  }

  it('webhooks that cannot be disabled are logged once a minute, however many attempts fail', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const { ids, away, disable, disabled, logged } = await plantFailing(scene, 3);
    away.all = true;
    for (let second = 0; second < 120; second++) {
      for (const id of ids) await disable(id);
      scene.clock.advance(SECOND);
    }
    expect(logged()).toBe(2);
    away.all = false;
    await disable();
    expect(disabled).toHaveLength(3);
  });

  it('a webhook that cannot be disabled does not prevent the others from being disabled', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const { away, disable, disabled, logged } = await plantFailing(scene, 3);
    away.failingRuns = 1;
    await disable();
    expect([disabled.length, logged()]).toEqual([2, 1]);
    await disable();
    expect(disabled).toHaveLength(3);
  });
});

/** So many disabled endpoints of a team whose admins can be told; answers their ids, in the order in which they are read. */
async function plantDisabled(scene: Scene, count: number): Promise<string[]> {
  const team = await scene.team();
  await team.domain();
  await administerTeam(scene.app.world, team.id, { adminEmails: ['ann@admins.example'] });
  const ids: string[] = [];
  for (let n = 0; n < count; n++) ids.push(await plantWebhook(scene, team));
  for (const id of ids) await disableWebhook(scene.app.world, id, 'failing');
  return ids.sort();
}

const toldIn = async (scene: Scene): Promise<string[]> => {
  const rows = await scene.app.world.db.all<{ id: string }>('select id from webhooks where admins_told_at is not null');
  return rows.map(({ id }) => id).sort();
};

it('the admins of many disabled endpoints are notified ten at a time, however often that is checked', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const ids = await plantDisabled(scene, 25);
  const begun: PromiseWithResolvers<void>[] = [];
  const counts: number[] = [];
  const notices = createAdminNotices(scene.app.world, {
    async acceptEmail() {
      const mail = Promise.withResolvers<void>();
      begun.push(mail);
      counts.push(notices.inFlight());
      await mail.promise;
      return { id: 'x' };
    },
  });
  notices.start();
  for (let ended = 0; ended < ids.length; ended++) {
    notices.wake();
    await vi.waitFor(() => expect(begun.length).toBe(Math.min(ids.length, ended + 10)));
    begun[ended]?.resolve();
  }
  await notices.idle();
  await notices.stop(0);
  expect([begun.length, Math.max(...counts)]).toEqual([25, 10]);
  expect(await toldIn(scene)).toEqual(ids);
});

it('ten endpoints whose notices fail do not prevent the notices of others', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const ids = await plantDisabled(scene, 13);
  const notices = createAdminNotices(scene.app.world, {
    async acceptEmail(_, input) {
      if (ids.slice(0, 10).some((id) => (input as { text: string }).text.includes(id))) throw new Error('planted');
      return { id: 'x' };
    },
  });
  notices.start();
  await notices.idle();
  notices.wake();
  await notices.idle();
  await notices.stop(0);
  expect(await toldIn(scene)).toEqual(ids.slice(10));
});

/** Five days of failures. */
async function disable(scene: Scene, mail: Mail, hookId: string): Promise<void> {
  await tryOnce(scene, mail);
  scene.clock.advance(5 * DAY);
  await scene.settled();
  await tryOnce(scene, mail);
  expect(await fetchStatus(scene, mail, hookId)).toBe('disabled');
}
