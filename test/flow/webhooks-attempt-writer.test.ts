import { describe, expect, it } from 'vitest';
import { driver } from '../rig/database.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { sceneFor, startWebhookReceiver, type WebhookReceiver } from '../rig/webhook-receiver.ts';
import { plantWebhook } from '../rig/webhooks.ts';
import { happen, loadOutbox } from './webhook-scene.ts';

interface Stage {
  scene: Scene;
  receiver: WebhookReceiver;
  hook: string;
  happen(count: number): Promise<string[]>;
  /** Returns the number of its attempts in the database. */
  written(): Promise<number>;
}

async function onStage(work: (stage: Stage) => Promise<void>): Promise<void> {
  await using receiver = await startWebhookReceiver();
  await using scene = await startScene(sceneFor(receiver));
  receiver.publishIn(scene.dns);
  const team = await scene.team();
  const hook = await plantWebhook(scene, team, { endpoint: receiver.url() });
  const written = async (): Promise<number> => {
    const rows = await scene.app.world.db.all('select id from webhook_attempts where webhook_id = ?', [hook]);
    return rows.length;
  };
  await work({ scene, receiver, hook, written, happen: (count) => happen(scene, team, count) });
}

/** Refuses from now on an attempt of this event, or of any, after everything that belongs to it. */
async function refuseAttempts({ app: { world } }: Scene, eventId?: string): Promise<void> {
  const { db } = world;
  const when = eventId === undefined ? '' : `when (new.event_id = '${eventId}')`;
  if (db.dialect === 'sqlite') {
    await db.run(`create trigger refuse after insert on webhook_attempts ${when}
      begin select raise(abort, 'planted'); end`);
    return;
  }
  await db.run(
    "create function refuse() returns trigger language plpgsql as $$ begin raise exception 'planted'; end $$",
  );
  await db.run(`create trigger refuse after insert on webhook_attempts for each row ${when} execute function refuse()`);
}

const acceptAttempts = ({ app: { world } }: Scene): Promise<number> =>
  world.db.run(world.db.dialect === 'sqlite' ? 'drop trigger refuse' : 'drop function refuse() cascade');

const listLogLines = (scene: Scene): string[] =>
  scene.log.filter((line) => line.includes('could not store attempts to send webhooks'));

describe('an attempt that the database refuses', () => {
  it('is written once the database accepts it, with one log line a minute, and is not repeated', async () => {
    await onStage(async ({ scene, receiver, hook, written, happen }) => {
      await refuseAttempts(scene);
      await happen(1);
      await expect.poll(() => listLogLines(scene).length).toBe(1);
      scene.clock.advance(60_000);
      await expect.poll(() => listLogLines(scene).length).toBe(2);
      expect(await written()).toBe(0);
      expect(await loadOutbox(scene, hook)).toMatchObject([{ status: 'pending', attempt_count: 0 }]);

      await acceptAttempts(scene);
      scene.clock.advance(1000);
      await scene.settled();
      expect(await loadOutbox(scene, hook)).toMatchObject([{ status: 'success', attempt_count: 1, due_at: null }]);
      expect(await written()).toBe(1);
      expect(receiver.requests).toHaveLength(1);
    });
  });

  it('does not prevent others from being written', async () => {
    await onStage(async ({ scene, receiver, hook, written, happen }) => {
      // An endpoint is sent one event at first, and then several, so that they are written together.
      let answer = (): void => undefined;
      receiver.reply((response) => void (answer = () => void response.writeHead(200).end()));
      const ids = await happen(41);
      await receiver.until(1);
      await refuseAttempts(scene, ids[30]);
      receiver.reply(200);
      answer();
      await receiver.until(41);
      await expect.poll(written).toBe(40);
      const left = (await loadOutbox(scene, hook)).filter((row) => row.status !== 'success');
      expect(left.map((row) => row.event_id)).toEqual([ids[30]]);

      await acceptAttempts(scene);
      scene.clock.advance(1000);
      await scene.settled();
      expect(await written()).toBe(41);
      expect(receiver.requests).toHaveLength(41);
    });
  });

  it('is no news when it failed and a later one succeeded before it was written', async () => {
    await onStage(async ({ scene, receiver, hook, happen }) => {
      let answer = (): void => undefined;
      receiver.reply((response) => void (answer = () => void response.writeHead(500).end()));
      const [failing = ''] = await happen(1);
      await receiver.until(1);
      await refuseAttempts(scene, failing);
      answer();
      await expect.poll(() => listLogLines(scene).length).toBe(1);
      scene.clock.advance(10);
      receiver.reply(200);
      await happen(1);
      await expect
        .poll(async () => (await loadOutbox(scene, hook)).filter((row) => row.status === 'success').length)
        .toBe(1);

      await acceptAttempts(scene);
      scene.clock.advance(1000);
      await scene.settled();
      expect(await loadOutbox(scene, hook)).toContainEqual(
        expect.objectContaining({ event_id: failing, status: 'attempting', last_http_status: 500 }),
      );
      const sql = 'select failing_since from webhooks where id = ?';
      expect(await scene.app.world.db.get(sql, [hook])).toEqual({ failing_since: null });
    });
  });

  it('is made again after a stop, under the same id', async () => {
    await onStage(async ({ scene, receiver, hook, happen }) => {
      await refuseAttempts(scene);
      await happen(3);
      await expect.poll(() => listLogLines(scene).length).toBeGreaterThan(0);
      await scene.app.webhooks?.stop(0);
      await acceptAttempts(scene);
      await scene.restart();
      await scene.settled();
      expect((await loadOutbox(scene, hook)).map((row) => row.status)).toEqual(['success', 'success', 'success']);
      const ids = receiver.requests.map((request) => request.headers['svix-id']);
      expect(new Set(ids).size).toBe(3);
      expect(ids.length).toBeGreaterThan(3);
    });
  });

  // runs only on SQLite, because there a full disk can be had by a setting of the connection.
  it.runIf(driver !== 'pg')(
    'because of a full disk is kept with others, logged in a few lines, and written when there is room',
    async () => {
      await onStage(async ({ scene, receiver, hook, written, happen }) => {
        const { db } = scene.app.world;
        let answer = (): void => undefined;
        receiver.reply((response) => void (answer = () => void response.writeHead(200).end()));
        await happen(30);
        await receiver.until(1);
        await db.all('pragma max_page_count = 1');
        receiver.reply((response) => response.writeHead(200).end('x'.repeat(4000)));
        answer();
        await receiver.until(30);
        await expect.poll(() => listLogLines(scene).length).toBeGreaterThan(0);
        expect(await written()).toBeLessThan(30);

        await db.all('pragma max_page_count = 1000000');
        scene.clock.advance(1000);
        await scene.settled();
        expect(await written()).toBe(30);
        expect((await loadOutbox(scene, hook)).filter((row) => row.status !== 'success')).toEqual([]);
        expect(receiver.requests).toHaveLength(30);
        expect(listLogLines(scene).length).toBeLessThan(10);
      });
    },
  );
});
