// a page of a broadcast --> a database that is locked, or cuts the connection, in the middle of it
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { campaignIn } from '../flow/campaign.ts';
import { HOUR, SECOND } from '../flow/mail.ts';
import { driver } from '../rig/database.ts';
import { startScene, type Scene } from '../rig/scene.ts';

/** Makes the next write fail for as long as it holds; answers how to end that. */
type Fault = (scene: Scene) => Promise<() => Promise<void>>;

/** Another program in the middle of writing. */
const lockFile: Fault = async (scene) => {
  const script = `
    const db = require('better-sqlite3')(${JSON.stringify(path.join(scene.dataDir, 'rasket.db'))});
    db.exec('begin immediate');
    console.log('held');
    process.stdin.on('data', () => { db.exec('rollback'); process.exit(0); });`;
  const child = spawn(process.execPath, ['-e', script], {
    cwd: path.resolve(import.meta.dirname, '../..'),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return async () => {
    const gone = once(child, 'exit');
    child.stdin.write('go\n');
    await gone;
  };
};

/** Locks the report, and makes the server cut off the connection that waits for it. */
const cutOff: Fault = async (scene) => {
  const client = new pg.Client({ connectionString: scene.app.world.config.database.url });
  await client.connect();
  await client.query('begin');
  await client.query('lock table broadcast_recipients in access exclusive mode');
  const cut = async (): Promise<void> => {
    for (let isCut = false; !isCut;) {
      const { rows } = await client.query<{ pid: number }>(
        `select pid, pg_terminate_backend(pid) from pg_locks
          where relation = 'broadcast_recipients'::regclass and not granted`,
      );
      isCut = rows.length > 0;
    }
  };
  const cutting = cut();
  return async () => {
    await cutting;
    await client.query('rollback');
    await client.end();
  };
};

it('a page of a broadcast that the database refuses is sent later, once, without a hold of the broadcast', async () => {
  await using scene = await startScene();
  const campaign = await campaignIn(scene);
  await campaign.addContacts(['ada@one.example', 'bob@one.example']);
  const at = new Date(scene.clock.now() + HOUR).toISOString();
  const id = await campaign.broadcast({ subject: 'Busy', scheduled_at: at });
  const { db } = scene.app.world;
  const { all } = db;
  const failed = Promise.withResolvers<void>();
  let letGo: Promise<() => Promise<void>> | undefined;
  // The members are read, and the page is about to be written.
  db.all = (async (...args: Parameters<typeof all>) => {
    const rows = await all.apply(db, args);
    if (!letGo && /from contacts/.test(args[0]) && rows.length === 2) {
      letGo = (driver === 'pg' ? cutOff : lockFile)(scene);
      await letGo;
    }
    return rows;
  }) as typeof all;
  const { push } = scene.log;
  scene.log.push = (...lines) => {
    if (lines.some((line) => line.includes(id) && line.includes('"level":"error"'))) failed.resolve();
    return push.apply(scene.log, lines);
  };
  scene.clock.advance(HOUR);
  await failed.promise;
  Object.assign(db, { all });
  await (
    await letGo
  )?.();
  for (let i = 0; i < 40; i++) {
    scene.clock.advance(SECOND);
    await scene.settled();
  }
  expect(await campaign.get(id)).toMatchObject({ status: 'sent', recipients: 2, held: null, failed_reason: null });
  expect(scene.sink.messages.flatMap(({ rcptTo }) => rcptTo).sort()).toEqual(['ada@one.example', 'bob@one.example']);
});
