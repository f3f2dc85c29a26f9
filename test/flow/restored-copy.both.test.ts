// an installation --> rasket backup, or pg_dump and the data folder --> the same again elsewhere, while the original may still run
import { cpSync, rmSync } from 'node:fs';
import path from 'node:path';
import { expect, inject, it, onTestFinished } from 'vitest';
import { startApp, type App } from '../../src/app.ts';
import { sweepBlobs } from '../../src/features/installation/upkeep/remove-orphan-blobs.ts';
import { releaseEndedHolds } from '../../src/mail/queue-admin/index.ts';
import { countRestored, resumeRestored } from '../../src/features/campaigns/broadcasts/broadcasts.store.ts';
import { createSendSwitch, setSending } from '../../src/tenancy/instance/index.ts';
import { createApi } from '../rig/api.ts';
import { driver } from '../rig/database.ts';
import { createDatabase, dropDatabase } from '../rig/database-server.ts';
import { createUser } from '../../src/tenancy/users/index.ts';
import { tokenTo } from '../rig/mailbox.ts';
import { blobsIn, startObjectServer } from '../rig/object-server.ts';
import { createPeople } from '../rig/people.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { scratchFolder } from '../rig/scratch.ts';
import { Desk } from '../cli/desk.ts';
import { Browser, enrolled } from '../api/mfa/authenticator.ts';
import { line, start, step, supply, wait } from '../api/automations/graph.ts';
import { campaignIn } from './campaign.ts';
import { HOUR, mailIn } from './mail.ts';

interface Copy {
  start(): Promise<App>;
  /** `rasket sending on`, and with --broadcasts. */
  confirm(app: App, more?: { broadcasts?: boolean }): Promise<void>;
}

/** Restores elsewhere what the original holds; the original is stopped. */
async function restore(scene: Scene, env: Record<string, string> = {}): Promise<Copy> {
  const { config, clock, log } = scene.app.world;
  let dataDir = path.join(scratchFolder('rasket-copy-'), 'restored');
  let { database } = config;
  if (driver === 'pg') {
    await scene.app.close(0);
    const name = new URL(database.url).pathname.slice(1);
    const made = await createDatabase(inject('pgUrl'), name);
    onTestFinished(() => dropDatabase(inject('pgUrl'), made.name));
    database = { ...database, url: made.url };
    cpSync(scene.dataDir, dataDir, { recursive: true });
  } else {
    const desk = new Desk();
    onTestFinished(() => desk.clear());
    dataDir = desk.at('restored');
    const made = await desk.rasket(['backup', dataDir, '--data', scene.dataDir], { env });
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(made.stdout.trim().split('\n').at(-1)).toMatch(/sends nothing until you confirm.*rasket sending on$/);
    await scene.app.close(0);
  }
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const settings = { ...config, database };
  return {
    async start() {
      const roles = ['http', 'delivery'] as const;
      const app = await startApp({ config: settings, dataDir, clock, log, version: '0.0.0-test', roles });
      onTestFinished(() => app.close(0));
      return app;
    },
    async confirm(app, { broadcasts = false } = {}) {
      await setSending(app.world, { isOn: true });
      if (broadcasts) await resumeRestored(app.world.db, clock.now());
    },
  };
}

async function settle(app: App): Promise<void> {
  for (let round = 0; round < 2; round++)
    for (const part of [app.automations, app.broadcasts, app.queue]) await part?.idle();
}

const arrived = (scene: Scene): string[] => scene.sink.messages.flatMap(({ rcptTo }) => rcptTo).sort();

it('a restored copy sends no waiting or scheduled mail until it is confirmed, and broadcasts only once they are resumed', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const campaign = await campaignIn(scene);
  const mail = await mailIn(scene);
  const at = new Date(scene.clock.now() + HOUR).toISOString();
  await campaign.addContacts(['reader@one.example']);
  const id = await campaign.broadcast({ subject: 'Scheduled', scheduled_at: at });
  await mail.send('queued@one.example');
  await mail.send('later@one.example', { scheduled_at: at });
  const copy = await restore(scene);
  const app = await copy.start();
  scene.clock.advance(2 * HOUR);
  await settle(app);
  expect(arrived(scene)).toEqual([]);

  const api = createApi(app.http?.url ?? '');
  const ready = await api('GET', '/ready');
  expect(ready.body.findings).toMatchObject([
    { code: 'restored', severity: 'error', advice: { command: 'rasket sending on' } },
    { code: 'broadcast_held' },
  ]);
  const read = async () => (await api('GET', `/broadcasts/${id}`, { key: campaign.team.key })).body;
  expect(await read()).toMatchObject({ status: 'scheduled', held: { reason: 'restored' } });
  expect((await createSendSwitch(app.world)()).reason).toMatch(/^restored .*not confirmed$/);

  await copy.confirm(app);
  scene.clock.advance(HOUR);
  await settle(app);
  expect(arrived(scene)).toEqual(['later@one.example', 'queued@one.example']);
  expect((await api('GET', '/ready')).body.findings).toMatchObject([{ code: 'broadcast_held' }]);
  await copy.confirm(app, { broadcasts: true });
  scene.clock.advance(HOUR);
  await settle(app);
  expect(arrived(scene)).toContain('reader@one.example');
  expect(await read()).toMatchObject({ status: 'sent', held: null });
});

it('waiting mail of a canceled broadcast stays in a restored copy until broadcasts are resumed', async () => {
  let isShut = true;
  const script = (command: string): string | undefined =>
    isShut && command.startsWith('RCPT') ? '450 4.2.1 Later' : undefined;
  await using scene = await startScene({ sink: { script }, config: { delivery: { retry_minutes: [5] } } });
  const campaign = await campaignIn(scene);
  await campaign.addContacts(['second@one.example', 'first@one.example']);
  const id = await campaign.broadcast({ subject: 'Canceled', rate_per_minute: 1 });
  await scene.settled();
  expect((await campaign.call('POST', `/broadcasts/${id}/cancel`)).status).toBe(200);
  expect(await campaign.get(id)).toMatchObject({ status: 'canceled', recipients: 1, held: null });
  const copy = await restore(scene);
  isShut = false;
  const app = await copy.start();
  await copy.confirm(app);
  scene.clock.advance(HOUR);
  await settle(app);
  expect(arrived(scene)).toEqual([]);
  expect(await countRestored(app.world.db)).toBe(1);
  await copy.confirm(app, { broadcasts: true });
  expect(await countRestored(app.world.db)).toBe(0);
  // The job of every minute does this.
  expect(await releaseEndedHolds(app.world)).toBe(1);
  scene.clock.advance(HOUR);
  await settle(app);
  expect(arrived(scene)).toEqual(['first@one.example']);
});

it('a confirmed copy starts like any other, and so does the original', async () => {
  await using scene = await startScene({ roles: ['http'] });
  await scene.restart();
  expect(await createSendSwitch(scene.app.world)()).toMatchObject({ isOn: true });
  const mail = await mailIn(scene);
  await mail.send('queued@one.example');
  const copy = await restore(scene);
  const first = await copy.start();
  expect(await createSendSwitch(first.world)()).toMatchObject({ isOn: false, isRestored: true });
  await first.close(0);
  const again = await copy.start();
  expect(await createSendSwitch(again.world)(), 'nobody has confirmed it').toMatchObject({ isOn: false });
  await copy.confirm(again);
  await again.close(0);
  const confirmed = await copy.start();
  await settle(confirmed);
  expect(arrived(scene)).toEqual(['queued@one.example']);
});

it('automation runs pause in a restored copy, even those without mail, until sending is on', async () => {
  await using scene = await startScene();
  const has = await supply(scene);
  const { key } = has.team;
  const thanks = step('m', 'send_email', { template: { id: has.template, variables: { PRODUCT: 'Tea' } } });
  const graph = line(start, wait('w'), step('name', 'contact_update', { first_name: 'Ada' }), thanks);
  const body = { name: 'A', status: 'enabled', ...graph };
  const { id } = (await scene.api('POST', '/automations', { key, body })).body;
  await scene.api('POST', '/events/send', { key, body: { event: 'order', contact_id: has.contact } });
  await scene.settled();
  const copy = await restore(scene);
  const app = await copy.start();
  const api = createApi(app.http?.url ?? '');
  const read = async () => [
    (await api('GET', `/automations/${id}/runs`, { key })).body.data[0].status,
    (await api('GET', `/contacts/${has.contact}`, { key })).body.first_name,
  ];
  scene.clock.advance(48 * HOUR);
  await settle(app);
  expect(await read()).toEqual(['running', null]);
  await setSending(app.world, { isOn: false, reason: 'not yet' });
  scene.clock.advance(HOUR);
  await settle(app);
  expect(await read(), 'to switch it off confirms nothing').toEqual(['running', null]);
  await copy.confirm(app);
  scene.clock.advance(HOUR);
  await settle(app);
  expect(await read()).toEqual(['completed', 'Ada']);
  expect(arrived(scene)).toEqual(['ada@example.org']);
});

it('nobody is signed in in a restored copy, because sessions that ended since would be valid again', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const team = await scene.team();
  const owner = await createPeople(scene).person({ team, role: 'owner' });
  expect((await owner.call('GET', '/auth/session')).status).toBe(200);
  const person = await enrolled(scene, team);
  expect((await new Browser(scene).logIn(person.email)).body.object).toBe('mfa_challenge');
  const copy = await restore(scene);
  const app = await copy.start();
  const read = createApi(app.http?.url ?? '');
  expect((await read('GET', '/auth/session', { headers: owner.headers })).status).toBe(401);
  expect(await app.world.db.all('select id from mfa_challenges')).toEqual([]);
  await app.close(0);
});

it('no link of an account email works in a restored copy, and none of these emails is sent there', async () => {
  await using scene = await startScene({ config: { accounts: { sign_up: 'open' } } });
  await (await scene.team()).domain();
  const known = 'known@people.example';
  const unknown = 'new@people.example';
  await createUser(scene.app.world, { email: known, password: 'correct horse', isVerified: true });
  const ask = (api: Scene['api'], origin: string, path: string, body: object) =>
    api('POST', path, { body, headers: { origin } });
  await ask(scene.api, scene.url, '/auth/password-reset', { email: known });
  await ask(scene.api, scene.url, '/auth/signup', { email: unknown, password: 'correct horse' });
  await scene.settled();
  const reset = tokenTo(scene, known);
  const verification = tokenTo(scene, unknown);
  const sent = arrived(scene).length;
  await scene.app.people?.stop(0);
  await ask(scene.api, scene.url, '/auth/password-reset', { email: known });
  const copy = await restore(scene);
  const app = await copy.start();
  const api = createApi(app.http?.url ?? '');
  const origin = app.http?.url ?? '';
  const again = { token: reset, password: 'another horse' };
  expect((await ask(api, origin, '/auth/password-reset/confirm', again)).status).toBe(404);
  expect((await ask(api, origin, '/auth/verify-email', { token: verification })).status).toBe(404);
  await copy.confirm(app);
  scene.clock.advance(60_000);
  await app.people?.idle();
  await settle(app);
  expect(arrived(scene)).toHaveLength(sent);
});

it('no invitation is open in a restored copy, because a removed member could return with it', async () => {
  await using scene = await startScene();
  const team = await scene.team();
  await team.domain();
  const owner = await createPeople(scene).person({ team, role: 'owner' });
  const path = `/teams/${team.id}/invitations`;
  const email = 'guest@people.example';
  expect((await owner.call('POST', path, { email, role: 'admin' })).status).toBe(201);
  await scene.settled();
  const token = tokenTo(scene, email);
  const guest = await createPeople(scene).person({ email });
  // One more is not mailed yet.
  await scene.app.people?.stop(0);
  expect((await owner.call('POST', path, { email: 'later@people.example', role: 'viewer' })).status).toBe(201);
  const sent = arrived(scene).length;
  const copy = await restore(scene);
  const app = await copy.start();
  const api = createApi(app.http?.url ?? '');
  const origin = app.http?.url ?? '';
  await copy.confirm(app);
  const headers = { cookie: (await createPeople({ ...scene, app }).session(guest)).headers.cookie ?? '', origin };
  expect((await api('POST', '/invitations/accept', { body: { token }, headers })).status).toBe(404);
  expect(await app.world.db.all('select id from team_invitations where accepted_at is null')).toEqual([]);
  scene.clock.advance(60_000);
  await app.people?.idle();
  await settle(app);
  expect(arrived(scene)).toHaveLength(sent);
});

it('a copy that shares the bucket of its original removes nothing from it until it is confirmed, and then only expired content', async () => {
  let now = (): number => Date.now();
  await using server = await startObjectServer({ now: () => now() });
  const config = { blobs: blobsIn(server, {}), storage: { inline_bytes: 0, row_bytes: 0 } };
  await using scene = await startScene({ config });
  now = scene.clock.now;
  const mail = await mailIn(scene);
  const attachments = [{ filename: 'a.bin', content: Buffer.alloc(50_000, 7).toString('base64') }];
  const id = await mail.send('reader@one.example', { attachments });
  await scene.settled();
  const blobs = (): string[] => [...server.objects.keys()].filter((key) => key.startsWith('blobs/')).sort();
  const before = blobs();
  expect(before.some((key) => key.includes(id))).toBe(true);
  const copy = await restore(scene, {
    RASKET_BLOBS_STORE: 's3',
    RASKET_BLOBS_ENDPOINT: server.endpoint,
    RASKET_BLOBS_BUCKET: server.bucket,
    RASKET_BLOBS_REGION: server.region,
    RASKET_BLOBS_ACCESS_KEY: server.accessKey,
    RASKET_BLOBS_SECRET_KEY: server.secretKey,
  });
  const app = await copy.start();
  const { db } = app.world;
  const upkeep = async (): Promise<void> => {
    for (const name of ['remove-expired', 'remove-import-files', 'keep-inboxes', 'remove-orphan-blobs'])
      await app.jobs.find((job) => job.name === name)?.run();
  };
  scene.clock.advance(400 * 24 * HOUR);
  await upkeep();
  // Somebody deletes the content there.
  await app.world.blobs.remove(id);
  await app.world.blobs.removeKeys(before.map((key) => key.split('/').slice(-2).join('/')));
  expect([blobs(), await db.all('select id from emails')]).toEqual([before, [{ id }]]);
  await expect(sweepBlobs(app.world, { remove: true })).rejects.toThrow(/restored copy.*rasket sending on/);
  expect(blobs()).toEqual(before);

  await copy.confirm(app);
  await upkeep();
  expect([blobs(), await db.all('select id from emails')]).toEqual([[], []]);
  expect(server.faults).toEqual([]);
});
