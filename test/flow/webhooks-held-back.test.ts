import { describe, expect, it } from 'vitest';
import { withoutCommitNotice } from '../../src/platform/db/index.ts';
import { secretsFrom } from '../../src/platform/secrets/index.ts';
import { parkWhatIsDue } from '../../src/features/webhooks/endpoints/webhooks.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { sceneFor, startWebhookReceiver, type WebhookReceiver } from '../rig/webhook-receiver.ts';
import { plantWebhook } from '../rig/webhooks.ts';
import { happen, loadOutbox } from './webhook-scene.ts';

async function withReceiver(
  work: (parts: { scene: Scene; receiver: WebhookReceiver; team: Team }) => Promise<void>,
): Promise<void> {
  await using receiver = await startWebhookReceiver();
  await using scene = await startScene(sceneFor(receiver));
  receiver.publishIn(scene.dns);
  await work({ scene, receiver, team: await scene.team() });
}

const to = (receiver: WebhookReceiver, path: string) => receiver.requests.filter((request) => request.path === path);

describe('a signing secret that cannot be opened', () => {
  /** Sealed with the key of another installation. */
  const spoil = (scene: Scene, id: string): Promise<number> =>
    scene.app.world.db.run('update webhooks set secret_sealed = ? where id = ?', [
      secretsFrom(Buffer.alloc(32, 8)).seal('whsec_AAAA', 'webhook signing secret', id),
      id,
    ]);
  const listLogLines = (scene: Scene, id: string): string[] =>
    scene.log.filter((line) => line.includes(id) && line.includes('cannot be sent to and is paused'));

  it.each([
    ['from the beginning', false],
    ['while it is sent to', true],
  ])('%s affects only its own endpoint, and is logged once', async (_, isBusyBefore) => {
    await withReceiver(async ({ scene, receiver, team }) => {
      const broken = await plantWebhook(scene, team, { endpoint: receiver.url('/broken') });
      await plantWebhook(scene, team, { endpoint: receiver.url('/whole') });
      if (isBusyBefore) {
        await happen(scene, team);
        await scene.settled();
      }
      const before = receiver.requests.length;
      await spoil(scene, broken);
      await happen(scene, team, 3);
      await scene.settled();
      expect(to(receiver, '/whole')).toHaveLength(before / 2 + 3);
      expect(to(receiver, '/broken')).toHaveLength(before / 2);
      for (let minute = 0; minute < 3; minute++) {
        scene.clock.advance(60_000);
        await happen(scene, team);
        await scene.settled();
      }
      expect(to(receiver, '/whole')).toHaveLength(before / 2 + 6);
      expect(listLogLines(scene, broken)).toHaveLength(1);
      expect((await loadOutbox(scene, broken)).filter((row) => row.due_at !== null)).toHaveLength(6);

      // A new one mends it, at once.
      const rotated = await scene.api('POST', `/webhooks/${broken}/rotate-secret`, { key: team.key });
      expect(rotated.status).toBe(200);
      await receiver.until(before / 2 + 6, '/broken');
      await scene.settled();
      expect((await loadOutbox(scene, broken)).filter((row) => row.status !== 'success')).toEqual([]);
    });
  });

  it('is shown as unknown, and the list of endpoints is returned', async () => {
    await withReceiver(async ({ scene, team }) => {
      const broken = await plantWebhook(scene, team);
      const whole = await plantWebhook(scene, team);
      await spoil(scene, broken);
      const { status, body } = await scene.api('GET', '/webhooks', { key: team.key });
      expect(status).toBe(200);
      const shown = (body.data as { id: string; signing_secret: string }[]).map((item) => [
        item.id,
        item.signing_secret,
      ]);
      expect(Object.fromEntries(shown)).toEqual({
        [broken]: 'whsec_****',
        [whole]: expect.stringMatching(/^whsec_\*{4}.{4}$/) as string,
      });
    });
  });
});

describe('changes by another process:', () => {
  /** Forty events wait for an endpoint that takes its time over the first one; answers how to let it go on. */
  async function busy(scene: Scene, receiver: WebhookReceiver, team: Team) {
    const id = await plantWebhook(scene, team, { endpoint: receiver.url() });
    let answer = (): void => undefined;
    receiver.reply((response) => void (answer = () => void response.writeHead(200).end()));
    await happen(scene, team, 40);
    await receiver.until(1);
    const goOn = async (): Promise<void> => {
      receiver.reply(200);
      scene.clock.advance(1000);
      answer();
      await scene.settled();
    };
    return { id, goOn };
  }

  it('a disabled endpoint gets nothing more after a second, and its waiting events are parked', async () => {
    await withReceiver(async ({ scene, receiver, team }) => {
      const { id, goOn } = await busy(scene, receiver, team);
      await scene.app.world.db.run(withoutCommitNotice(`update webhooks set status = 'disabled' where id = ?`), [id]);
      await goOn();
      expect(receiver.requests).toHaveLength(1);
      const rows = await loadOutbox(scene, id);
      expect(rows.filter((row) => row.parked === 1 && row.due_at === null)).toHaveLength(39);
    });
  });

  it('a suspended team gets nothing more, and everything after it is resumed', async () => {
    await withReceiver(async ({ scene, receiver, team }) => {
      const { goOn } = await busy(scene, receiver, team);
      const suspend = (state: string): Promise<number> =>
        scene.app.world.db.run(withoutCommitNotice(`update teams set risk_state = ? where id = ?`), [state, team.id]);
      await suspend('suspended');
      await goOn();
      expect(receiver.requests).toHaveLength(1);
      await suspend('normal');
      scene.clock.advance(1000);
      await receiver.until(40);
    });
  });

  it('events that were parked although their endpoint is enabled again are not sent from the read-ahead', async () => {
    await withReceiver(async ({ scene, receiver, team }) => {
      const { id, goOn } = await busy(scene, receiver, team);
      await scene.app.world.db.run(
        `update webhook_events set parked = 1, due_at = null where webhook_id = ? and event_id <>
          (select min(event_id${scene.app.world.db.dialect === 'pg' ? '::text' : ''}) from webhook_events
            where webhook_id = ?)${scene.app.world.db.dialect === 'pg' ? '::uuid' : ''}`,
        [id, id],
      );
      await goOn();
      expect(receiver.requests).toHaveLength(1);
    });
  });
});

describe('parking', () => {
  it('ends when the endpoint is enabled again, and later events are due', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const team = await scene.team();
    const id = await plantWebhook(scene, team);
    await happen(scene, team, 20);
    await scene.api('PATCH', `/webhooks/${id}`, { key: team.key, body: { status: 'disabled' } });
    await scene.api('PATCH', `/webhooks/${id}`, { key: team.key, body: { status: 'enabled' } });
    const fresh = await happen(scene, team, 5);
    // These are the last batches of the process that disabled it, here or elsewhere.
    await parkWhatIsDue(scene.app.world, id);
    const due = (await loadOutbox(scene, id)).filter((row) => row.due_at !== null && row.parked === 0);
    expect(due.map((row) => row.event_id).sort()).toEqual(fresh.sort());
  });
});
