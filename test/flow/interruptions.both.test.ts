import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { startApp, type App, type Role } from '../../src/app.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { driver } from '../rig/database.ts';
import { findHandOffFiles } from '../rig/hand-off-files.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { HOUR, mailIn, MINUTE, SECOND } from './mail.ts';

describe('a stop of the server', () => {
  it('releases mail that had not reached its dot, and the next start delivers it', async () => {
    await using scene = await startScene();
    const mail = await mailIn(scene);
    const id = await mail.send('slow-rcpt@one.example');
    await scene.sink.waitFor((sink) => sink.commands.some((line) => line.includes('slow-rcpt@one.example')));
    // Ids tell the order of events; two processes never share a millisecond.
    scene.clock.advance(1);
    await scene.restart();
    scene.sink.openGate();
    await scene.settled();
    expect(await mail.account(id)).toEqual({
      state: 'delivered',
      // Nobody deferred it: it was ours to stop, and nobody hears of it.
      events: ['email.queued', 'email.sent', 'email.delivered slow-rcpt@one.example'],
      arrived: ['slow-rcpt@one.example'],
      suppressed: [],
      waiting: [],
    });
  });

  it('leaves mail in doubt that waits for the reply to its dot, and does not wait forever', async () => {
    await using scene = await startScene();
    const mail = await mailIn(scene);
    const id = await mail.send('slow@one.example');
    await scene.sink.waitFor((sink) => sink.counts.data === 1);
    await untilDotWritten(scene, id);
    await scene.restart();
    scene.sink.openGate();
    await scene.settled();
    expect((await mail.account(id)).waiting).toEqual(['slow@one.example']);
    scene.clock.advance(2 * HOUR);
    await scene.settled();
    expect(await mail.account(id)).toMatchObject({
      state: 'failed',
      events: ['email.queued', 'email.sent', 'email.failed slow@one.example'],
    });
    expect(scene.sink.counts.data).toBe(1);
  });
});

/** The slot of the hand-off log is written in the very tick of the dot. */
async function untilDotWritten(scene: Scene, emailId: string): Promise<void> {
  const row = await scene.app.world.db.get<{ id: string }>('select id from deliveries where email_id = ?', [emailId]);
  const slots = findHandOffFiles(scene.dataDir)[0]?.slots ?? '';
  while (!readFileSync(slots, 'latin1').includes(String(row?.id))) {
    await new Promise((next) => setImmediate(next));
  }
}

describe('a database that refuses statements for a while', () => {
  it('loses no outcome, which is written as soon as the database accepts it, and nothing is sent again', async () => {
    await using scene = await startScene();
    const mail = await mailIn(scene);
    const { db } = scene.app.world;
    await refuseDeletes(scene);
    const id = await mail.send('x@one.example');
    await scene.sink.waitFor(1);
    await logged(scene, 'the outcome of a delivery could not be stored');
    scene.clock.advance(SECOND);
    // A try that is still under way would set its timer after the clock has moved, and wait for ever.
    await logged(scene, 'the outcome of a delivery could not be stored', 2);
    expect(await mail.account(id)).toMatchObject({ state: 'sent', arrived: ['x@one.example'] });
    await db.run(driver === 'pg' ? 'drop trigger refuse on deliveries' : 'drop trigger refuse');
    scene.clock.advance(MINUTE);
    await scene.settled();
    expect(await mail.account(id)).toEqual({
      state: 'delivered',
      events: ['email.queued', 'email.sent', 'email.delivered x@one.example'],
      arrived: ['x@one.example'],
      suppressed: [],
      waiting: [],
    });
  });

  it('makes claimed mail that cannot be prepared be released at once', async () => {
    await using scene = await startScene();
    const mail = await mailIn(scene);
    const { db } = scene.app.world;
    await db.run('alter table dkim_keys rename to dkim_keys_away');
    const id = await mail.send('x@one.example');
    await scene.settled();
    const row = await db.get('select attempt, lease_owner from deliveries where email_id = ?', [id]);
    expect(row).toEqual({ attempt: 0, lease_owner: null });
    await db.run('alter table dkim_keys_away rename to dkim_keys');
    scene.clock.advance(SECOND);
    await scene.settled();
    expect(await mail.account(id)).toMatchObject({
      state: 'delivered',
      events: ['email.queued', 'email.sent', 'email.delivered x@one.example'],
      arrived: ['x@one.example'],
    });
  });

  it('defers mail that cannot be built, without delaying the mail of others', async () => {
    await using scene = await startScene();
    const broken = await mailIn(scene);
    const sound = await mailIn(scene);
    await scene.app.world.db.run('update dkim_keys set private_key_sealed = ? where domain_id = ?', [
      'not a key',
      broken.domain.id,
    ]);
    const [stuck, fine] = await Promise.all([broken.send('x@one.example'), sound.send('y@one.example')]);
    await scene.settled();
    expect(await sound.account(fine)).toMatchObject({ state: 'delivered', arrived: ['y@one.example'] });
    expect(await broken.account(stuck)).toMatchObject({
      state: 'delivery_delayed',
      events: ['email.queued', 'email.sent', 'email.delivery_delayed x@one.example'],
      arrived: [],
      waiting: ['x@one.example'],
    });
    scene.clock.advance(49 * HOUR);
    await scene.settled();
    scene.clock.advance(HOUR);
    await scene.settled();
    expect((await broken.account(stuck)).state).toBe('bounced');
  });
});

async function refuseDeletes(scene: Scene): Promise<void> {
  const { db } = scene.app.world;
  if (driver !== 'pg') {
    await db.run(
      "create trigger refuse before delete on deliveries begin select raise(abort, 'the disk is full'); end",
    );
    return;
  }
  await db.run(
    "create function refuse() returns trigger language plpgsql as $$ begin raise exception 'the disk is full'; end $$",
  );
  await db.run('create trigger refuse before delete on deliveries for each row execute function refuse()');
}

async function logged(scene: Scene, message: string, times = 1): Promise<void> {
  const count = (): number => scene.log.filter((line) => line.includes(message)).length;
  while (count() < times) await new Promise((next) => setImmediate(next));
}

// runs only on PostgreSQL, because SQLite bears one process: leases and roles in several processes are PostgreSQL's.
describe.runIf(driver === 'pg')('several nodes on one database', () => {
  async function anotherNode(scene: Scene, roles: Role[]): Promise<App> {
    const log = createLog({ level: 'error', format: 'json', write: (line) => void scene.log.push(line) });
    const { config, clock } = scene.app.world;
    return startApp({ config, dataDir: scene.dataDir, clock, log, roles, version: '0.0.0-test' });
  }

  it('deliver mail that another node accepted, within one poll', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const mail = await mailIn(scene);
    const node = await anotherNode(scene, ['delivery']);
    try {
      await node.queue?.idle();
      const id = await mail.send('x@one.example');
      expect((await mail.account(id)).state).toBe('queued');
      scene.clock.advance(scene.app.world.config.delivery.poll_ms);
      await node.queue?.idle();
      expect(await mail.account(id)).toMatchObject({ state: 'delivered', arrived: ['x@one.example'] });
    } finally {
      await node.close(0);
    }
  });

  it('never deliver the same message twice', async () => {
    await using scene = await startScene();
    const node = await anotherNode(scene, ['delivery']);
    try {
      const mail = await mailIn(scene);
      const ids = await Promise.all(
        Array.from({ length: 60 }, (_, n) => {
          node.queue?.wake();
          return mail.send(`x${n}@d${n % 5}.example`);
        }),
      );
      await Promise.all([scene.settled(), node.queue?.idle()]);
      const arrived = scene.sink.messages.map((message) => message.rcptTo.join()).sort();
      expect(arrived).toEqual(ids.map((_, n) => `x${n}@d${n % 5}.example`).sort());
    } finally {
      await node.close(0);
    }
  });

  it('do not touch the claims of a running node when they start, even in the same folder', async () => {
    await using scene = await startScene();
    const mail = await mailIn(scene);
    const id = await mail.send('slow-rcpt@one.example');
    await scene.sink.waitFor((sink) => sink.commands.some((line) => line.includes('slow-rcpt')));
    const node = await anotherNode(scene, ['delivery']);
    try {
      await node.queue?.idle();
      scene.sink.openGate();
      await scene.settled();
      expect(await mail.account(id)).toMatchObject({ state: 'delivered', arrived: ['slow-rcpt@one.example'] });
      expect(scene.sink.counts.rcpt).toBe(1);
    } finally {
      await node.close(0);
    }
  });

  it('claim mail of a node that is gone when its lease has expired, and not before', async () => {
    await using scene = await startScene();
    const mail = await mailIn(scene);
    const id = await mail.send('x@one.example', { scheduled_at: new Date(scene.clock.now() + MINUTE).toISOString() });
    const leaseMs = scene.app.world.config.delivery.lease_seconds * SECOND;
    await claimAsGoneNode(scene, id, leaseMs);
    scene.clock.advance(leaseMs - SECOND);
    await scene.settled();
    expect((await mail.account(id)).arrived).toEqual([]);
    scene.clock.advance(SECOND);
    await scene.settled();
    expect(await mail.account(id)).toMatchObject({ state: 'delivered', arrived: ['x@one.example'] });
  });

  it('fail mail that a node that is gone handed off, after two hours, without sending it again', async () => {
    await using scene = await startScene();
    const mail = await mailIn(scene);
    const id = await mail.send('x@one.example', { scheduled_at: new Date(scene.clock.now() + MINUTE).toISOString() });
    await claimAsGoneNode(scene, id, 2 * HOUR, scene.clock.now());
    scene.clock.advance(2 * HOUR - 1);
    await scene.settled();
    expect((await mail.account(id)).waiting).toEqual(['x@one.example']);
    scene.clock.advance(1);
    await scene.settled();
    expect(await mail.account(id)).toMatchObject({ state: 'failed', arrived: [], waiting: [] });
  });

  it('keep their claims however long they take', async () => {
    await using scene = await startScene();
    const node = await anotherNode(scene, ['delivery']);
    try {
      const mail = await mailIn(scene);
      const id = await mail.send('slow-rcpt@one.example');
      await scene.sink.waitFor((sink) => sink.commands.some((line) => line.includes('slow-rcpt')));
      const leaseMs = scene.app.world.config.delivery.lease_seconds * SECOND;
      for (let thirds = 0; thirds < 6; thirds++) {
        const before = await dueAt(scene, id);
        scene.clock.advance(leaseMs / 3);
        while ((await dueAt(scene, id)) === before) await new Promise((next) => setImmediate(next));
      }
      scene.sink.openGate();
      await Promise.all([scene.settled(), node.queue?.idle()]);
      expect(await mail.account(id)).toMatchObject({ state: 'delivered', arrived: ['slow-rcpt@one.example'] });
      expect(scene.sink.counts.rcpt).toBe(1);
    } finally {
      await node.close(0);
    }
  });

  async function dueAt(scene: Scene, emailId: string): Promise<number | undefined> {
    const row = await scene.app.world.db.get<{ due_at: number }>('select due_at from deliveries where email_id = ?', [
      emailId,
    ]);
    return row?.due_at;
  }

  async function claimAsGoneNode(
    scene: Scene,
    id: string,
    heldMs: number,
    handedOffAt: number | null = null,
  ): Promise<void> {
    await scene.app.world.db.run(
      'update deliveries set lease_owner = ?, attempt = 1, due_at = ?, handed_off_at = ? where email_id = ?',
      ['a node that is gone', scene.clock.now() + heldMs, handedOffAt, id],
    );
  }
});
