import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createTracking, type Tracking } from '../../src/features/tracking/index.ts';
import type { World } from '../../src/platform/world.ts';
import { driver } from '../rig/database.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { scratchFolder } from '../rig/scratch.ts';
import { engagements, follow, letReadingsSettle, sendHtml, trackingDomain } from './reader.ts';

const HTML = '<a href="https://example.com/">x</a>';
const config = { tracking: { scheme: 'http' } } as const;

const journals = (scene: Scene): string[] =>
  readdirSync(path.join(scene.dataDir, 'run')).filter((name) => name.startsWith('tracked-'));

/** Lets every transaction fail until the answered function is called. */
function breakDatabase(scene: Scene, fault: Error): () => void {
  const { db } = scene.app.world;
  const { tx } = db;
  db.tx = () => Promise.reject(fault);
  return () => (db.tx = tx);
}
const gone = (): Error => Object.assign(new Error('connection lost'), { code: 'ECONNRESET' });

/** Breaks the database as `breakDatabase` does, but from before the start. */
const withoutDatabase = (world: World): World => ({
  ...world,
  db: { ...world.db, tx: () => Promise.reject(gone()) },
});

function makeRunDir(): string {
  const runDir = scratchFolder('rasket-test-');
  onTestFinished(() => rmSync(runDir, { recursive: true, force: true }));
  return runDir;
}

const noteClick = (tracking: Tracking, emailId: string, link: string): Promise<void> =>
  new Promise((onNoted) => tracking.note({ emailId, ipAddress: '192.0.2.1', userAgent: 'Reader', link }, onNoted));

it('a click while the database is down is redirected, and recorded when it is back', async () => {
  await using scene = await startScene({ config });
  const team = await scene.team();
  const mail = await sendHtml(scene, team, await trackingDomain(scene, team), { html: HTML });
  const mend = breakDatabase(scene, gone());
  expect((await follow(scene.url, mail.links[0] ?? '')).status).toBe(302);
  expect((await follow(scene.url, mail.pixel ?? '')).status).toBe(200);
  const at = scene.clock.now();
  expect(await engagements(scene, mail.id)).toEqual([]);
  mend();
  scene.clock.advance(2000);
  expect((await engagements(scene, mail.id)).map((event) => [event.type, event.at])).toEqual([
    ['email.clicked', at],
    ['email.opened', at],
  ]);
});

it('a click that repeats a concurrent one is not redirected before that one is noted', async () => {
  await using scene = await startScene({ config });
  const tracking = createTracking(scene.app.world, makeRunDir());
  const answered: string[] = [];
  const click = {
    emailId: scene.app.world.ids.uuid(),
    ipAddress: '192.0.2.1',
    userAgent: 'Reader',
    link: 'https://a.test/',
  };
  await new Promise<void>((resolve) => {
    tracking.note(click, () => answered.push('first'));
    tracking.note(click, () => resolve(void answered.push('repeat')));
    expect(answered).toEqual([]);
  });
  expect(answered).toEqual(['first', 'repeat']);
  await tracking.close(0);
});

it('clicks that could not be recorded before the stop are recorded once after the next start', async () => {
  await using scene = await startScene({ config });
  const team = await scene.team();
  const mail = await sendHtml(scene, team, await trackingDomain(scene, team), { html: HTML });
  breakDatabase(scene, gone());
  await follow(scene.url, mail.links[0] ?? '');
  await scene.restart();
  expect((await engagements(scene, mail.id)).map((event) => event.type)).toEqual(['email.clicked']);
  expect((await scene.account(team, mail.id)).state).toBe('clicked');
  expect(journals(scene)).toEqual([]);
  await scene.restart();
  expect(await engagements(scene, mail.id)).toHaveLength(1);
});

it('clicks that two starts in a row could not record are recorded once by the third', async () => {
  await using scene = await startScene({ config });
  const team = await scene.team();
  const mail = await sendHtml(scene, team, await trackingDomain(scene, team), { html: HTML });
  const { world } = scene.app;
  const runDir = makeRunDir();
  for (const link of ['https://example.com/1', 'https://example.com/2']) {
    const tracking = createTracking(withoutDatabase(world), runDir);
    await noteClick(tracking, mail.id, link);
    await tracking.close(0);
    expect(await engagements(scene, mail.id)).toEqual([]);
  }
  for (let start = 3; start < 5; start++) {
    const tracking = createTracking(world, runDir);
    await tracking.settled();
    await tracking.close(0);
    const links = (await engagements(scene, mail.id)).map(({ data }) => (data!.click as { link: string }).link);
    expect(links.sort()).toEqual(['https://example.com/1', 'https://example.com/2']);
    expect(readdirSync(runDir)).toEqual([]);
  }
});

it('clicks that were recorded before a crash and are still in the journal are not recorded again', async () => {
  await using scene = await startScene({ config });
  const team = await scene.team();
  const mail = await sendHtml(scene, team, await trackingDomain(scene, team), { html: HTML });
  breakDatabase(scene, gone());
  await follow(scene.url, mail.links[0] ?? '');
  await scene.app.tracking?.settled();
  const [name = ''] = journals(scene);
  const run = path.join(scene.dataDir, 'run');
  const text = readFileSync(path.join(run, name), 'utf8');
  await scene.restart();
  const before = await engagements(scene, mail.id);
  expect(before).toHaveLength(1);
  writeFileSync(path.join(run, name.replace('tracked-', 'tracked-left-')), text);
  await scene.restart();
  expect(await engagements(scene, mail.id)).toEqual(before);
  expect(journals(scene)).toEqual([]);
});

it('a journal line that a crash cut short does not prevent the others from being recorded', async () => {
  await using scene = await startScene({ config });
  const team = await scene.team();
  const mail = await sendHtml(scene, team, await trackingDomain(scene, team), { html: HTML });
  breakDatabase(scene, gone());
  await follow(scene.url, mail.links[0] ?? '');
  const [name = ''] = journals(scene);
  appendFileSync(path.join(scene.dataDir, 'run', name), '{"id":"019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01","at":17');
  await scene.restart();
  expect(await engagements(scene, mail.id)).toHaveLength(1);
  expect(journals(scene)).toEqual([]);
});

// runs only on PostgreSQL: a data folder with SQLite has one process.
it.runIf(driver === 'pg')('the journal of a process that may still run is not touched', async () => {
  await using scene = await startScene({ config });
  const team = await scene.team();
  const mail = await sendHtml(scene, team, await trackingDomain(scene, team), { html: HTML });
  breakDatabase(scene, gone());
  await follow(scene.url, mail.links[0] ?? '');
  const [name = ''] = journals(scene);
  const run = path.join(scene.dataDir, 'run');
  const [header = '', line = ''] = readFileSync(path.join(run, name), 'utf8').split('\n');
  const other = line.replace(/"id":"[^"]*"/, `"id":"${scene.app.world.ids.uuid()}"`);
  const isDead = header.replace(/"process":"\d+ /, '"process":"4194304 ');
  const living = 'tracked-019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01-1.log';
  writeFileSync(path.join(run, living), `${header}\n${other}\n`);
  await scene.restart();
  expect(await engagements(scene, mail.id)).toHaveLength(1);
  expect(journals(scene)).toEqual([living]);
  writeFileSync(path.join(run, living), `${isDead}\n${other}\n`);
  await scene.restart();
  expect(await engagements(scene, mail.id)).toHaveLength(2);
  expect(journals(scene)).toEqual([]);
});

it('only the open or click that no database accepts is given up', async () => {
  await using scene = await startScene({ config });
  const team = await scene.team();
  const domain = await trackingDomain(scene, team);
  const mails = [];
  for (let n = 0; n < 5; n++) mails.push(await sendHtml(scene, team, domain, { html: HTML }));
  const mend = breakDatabase(scene, gone());
  for (const mail of mails) await follow(scene.url, mail.links[0] ?? '');
  await scene.app.tracking?.settled();
  mend();
  const { db } = scene.app.world;
  const { tx } = db;
  const poisoned = mails[2]?.id ?? '';
  // A fault of ours would do this: every transaction that touches this one email's history fails.
  db.tx = (work) =>
    tx((on) =>
      work({
        ...on,
        insertMany: (table, columns, rows, conflict) => {
          if (table === 'events' && rows.flat().includes(poisoned)) throw new Error('malformed');
          return on.insertMany(table, columns, rows, conflict);
        },
      }),
    );
  scene.clock.advance(2000);
  await letReadingsSettle(scene);
  db.tx = tx;
  const counts = [];
  for (const mail of mails) counts.push((await engagements(scene, mail.id)).length);
  expect(counts).toEqual([1, 1, 0, 1, 1]);
  expect(scene.log.filter((line) => line.includes('an open or click could not be recorded'))).toHaveLength(1);
});

it('a full journal does not stop redirects, and is logged once', async () => {
  await using scene = await startScene({ config: { tracking: { scheme: 'http', journal_bytes: 65_536 } } });
  const team = await scene.team();
  const mail = await sendHtml(scene, team, await trackingDomain(scene, team), { html: HTML });
  const mend = breakDatabase(scene, gone());
  const tries = 400;
  for (let n = 0; n < tries; n++) {
    const { status } = await follow(scene.url, mail.links[0] ?? '', {
      headers: { 'user-agent': `Reader ${n} ${'x'.repeat(100)}` },
    });
    expect(status).toBe(302);
  }
  mend();
  scene.clock.advance(2000);
  const recorded = (await engagements(scene, mail.id)).length;
  expect(recorded).toBeGreaterThan(100);
  expect(recorded).toBeLessThan(tries);
  expect(scene.log.filter((line) => line.includes('the journal is full'))).toHaveLength(1);
  // There is room again.
  await follow(scene.url, mail.links[0] ?? '');
  expect(await engagements(scene, mail.id)).toHaveLength(recorded + 1);
});

it('a journal that cannot be written does not stop redirects, and is not reported as full', async () => {
  await using scene = await startScene({ config });
  const team = await scene.team();
  const mail = await sendHtml(scene, team, await trackingDomain(scene, team), { html: HTML });
  const runDir = makeRunDir();
  const tracking = createTracking(scene.app.world, runDir);
  rmSync(runDir, { recursive: true });
  await noteClick(tracking, mail.id, 'https://example.com/1');
  await noteClick(tracking, mail.id, 'https://example.com/2');
  const told = (text: string) => scene.log.filter((line) => line.includes(text)).length;
  expect([told('the journal cannot be written'), told('the journal is full')]).toEqual([1, 0]);
  mkdirSync(runDir);
  await noteClick(tracking, mail.id, 'https://example.com/3');
  await tracking.close(1000);
  expect(await engagements(scene, mail.id)).toMatchObject([{ data: { click: { link: 'https://example.com/3' } } }]);
});
