import { once } from 'node:events';
import path from 'node:path';
import { spawn, type ChildProcess } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { driver } from '../rig/database.ts';
import { mailIn, type Mail } from '../flow/mail.ts';
import { startScene, type Scene } from '../rig/scene.ts';

// skipped because with PostgreSQL the database is no file that another program can lock
describe.skipIf(driver === 'pg')('while another process holds the database file,', () => {
  let scene: Scene;
  let mail: Mail;
  beforeAll(async () => {
    scene = await startScene();
    mail = await mailIn(scene);
  });
  afterAll(() => scene.close());

  /** Another program in the middle of writing, until it is let go. */
  async function holdLock(): Promise<() => Promise<void>> {
    const script = `
      const db = require('better-sqlite3')(${JSON.stringify(path.join(scene.dataDir, 'rasket.db'))});
      db.exec('begin immediate');
      console.log('held');
      process.stdin.on('data', () => { db.exec('rollback'); process.exit(0); });`;
    const child: ChildProcess = spawn(process.execPath, ['-e', script], {
      cwd: path.resolve(import.meta.dirname, '../..'),
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child.stdout as NodeJS.ReadableStream, 'data');
    return async () => {
      const gone = once(child, 'exit');
      child.stdin?.write('go\n');
      await gone;
    };
  }

  const post = (n: number, key: string) =>
    scene.api('POST', '/emails', {
      key: mail.team.key,
      body: { from: `a@${mail.domain.name}`, to: [`r${n}@one.example`], subject: `Number ${n}`, text: 'Hello.' },
      headers: { 'idempotency-key': `${key}-${n}` },
    });
  const health = () => scene.api('GET', '/health');
  const arrivals = (): string[] => scene.sink.messages.flatMap(({ rcptTo }) => rcptTo).sort();

  it('other work continues, and waiting sends are accepted once when the file is free', async () => {
    const letGo = await holdLock();
    const sends = Array.from({ length: 50 }, (_, n) => post(n, 'waits'));
    // Nobody lets go of the file before these have been answered.
    for (let asked = 0; asked < 5; asked++) expect((await health()).status).toBe(200);
    const listed = await scene.api('GET', '/emails', { key: mail.team.key });
    expect([listed.status, listed.body.data]).toEqual([200, []]);
    await letGo();
    const answers = await Promise.all(sends);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    await scene.settled();
    expect(arrivals()).toEqual(answers.map((_, n) => `r${n}@one.example`).sort());
  });

  it('for longer than a caller should wait, all sends are refused together, and sent once when they are repeated', async () => {
    const letGo = await holdLock();
    const before = arrivals().length;
    const sends = Array.from({ length: 50 }, (_, n) => post(n, 'refused'));
    const answers = await Promise.all(sends);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 503));
    expect(answers[0]?.body).toMatchObject({ name: 'service_unavailable' });
    // The next in line do not wait as long once more.
    expect((await post(50, 'refused')).status).toBe(503);
    expect((await health()).status).toBe(200);
    await letGo();
    const again = await Promise.all(answers.map((_, n) => post(n, 'refused')));
    expect(again.map(({ status }) => status)).toEqual(again.map(() => 200));
    await scene.settled();
    expect(arrivals()).toHaveLength(before + again.length);
  });
});
