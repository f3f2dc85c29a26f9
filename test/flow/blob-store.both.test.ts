import { readdirSync, rmSync, truncateSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { blobsIn, startObjectServer, type ObjectServer, type Wrong } from '../rig/object-server.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { bringMail, createReceivingDomain } from '../rig/mx.ts';
import { connect, logIn, submit } from '../smtp/dialogue.ts';
import { HOUR, mailIn, type Mail } from './mail.ts';

const START = '2026-03-02T10:00:00Z';
const MINUTE = 60_000;

let server: ObjectServer;
let scene: Scene;
let mail: Mail;
beforeAll(async () => {
  let now = (): number => Date.parse(START);
  server = await startObjectServer({ now: () => now() });
  // On a busy machine a stall of the process of a second would be a store that does not answer. No content fits into a row.
  const config = { blobs: blobsIn(server, { give_up_seconds: 3 }), storage: { inline_bytes: 0, row_bytes: 0 } };
  const roles = ['http', 'delivery', 'scheduler', 'submission', 'receiving'] as const;
  scene = await startScene({ config, startAt: START, roles });
  now = scene.clock.now;
  mail = await mailIn(scene);
});
afterEach(() => {
  server.wrong = undefined;
  expect(server.faults.splice(0)).toEqual([]);
});
afterAll(async () => {
  await scene.close();
  await server.close();
});

const FILE = Buffer.alloc(300_000, 'a page of a report ').toString('base64');
let sends = 0;

function send(): Promise<{ status: number; body: { id: string; name?: string } }> {
  const body = {
    from: `a@${mail.domain.name}`,
    to: [`reader${++sends}@one.example`],
    subject: 'Report',
    text: 'See the file.',
    attachments: [{ filename: 'report.txt', content: FILE }],
  };
  return scene.api('POST', '/emails', { key: mail.team.key, body }) as never;
}

const blobs = (): string[] => [...server.objects.keys()].filter((key) => key.startsWith('blobs/'));
const dropCache = (): void => rmSync(path.join(scene.dataDir, 'blob-cache'), { recursive: true, force: true });
const always = (wrong: Wrong, ...methods: string[]): void => {
  server.wrong = ({ method }) => (methods.includes(method) ? wrong : undefined);
};

it('an email is accepted once its content is in the object store, and sent from there', async () => {
  const { body } = await send();
  expect(blobs().filter((key) => key.includes(body.id)).length).toBeGreaterThan(0);
  dropCache();
  await scene.settled();
  expect((await scene.account(mail.team, body.id)).state).toBe('delivered');
  expect(scene.sink.messages.at(-1)?.data.toString().replaceAll('\r\n', '')).toContain(FILE.slice(0, 10_000));
});

it.each<Wrong>(['lose', 'keep less', 'forbid', 'slow down', 'hang up', 'wrong etag'])(
  'an email is not acknowledged when its content is not stored: “%s”',
  async (wrong) => {
    const before = scene.sink.messages.length;
    always(wrong, 'PUT');
    expect(await send()).toMatchObject({ status: 503, body: { name: 'service_unavailable' } });
    server.wrong = undefined;
    await scene.settled();
    expect(scene.sink.messages.length).toBe(before);
    expect((await send()).status).toBe(200);
    await scene.settled();
    expect(scene.sink.messages.length).toBe(before + 1);
  },
);

it('a damaged local copy is dropped, and the email is sent from the object store', async () => {
  scene.dns.set('later.example', 'MX', 'SERVFAIL');
  const body = { from: `a@${mail.domain.name}`, to: ['x@later.example'], subject: 'Report', text: 'See the file.' };
  const attachments = [{ filename: 'report.txt', content: FILE }];
  const sent = await scene.api('POST', '/emails', { key: mail.team.key, body: { ...body, attachments } });
  await scene.settled();
  const cache = path.join(scene.dataDir, 'blob-cache');
  const copies = readdirSync(cache, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && entry.parentPath.endsWith(sent.body.id),
  );
  expect(copies.length).toBeGreaterThan(0);
  for (const { parentPath, name } of copies) truncateSync(path.join(parentPath, name), 1);
  scene.dns.set('later.example', 'MX', ['10 mx.sink.test']);
  const before = scene.sink.messages.length;
  for (let tries = 0; tries < 6; tries++) {
    scene.clock.advance(3 * HOUR);
    await scene.settled();
  }
  expect((await scene.account(mail.team, sent.body.id)).state).toBe('delivered');
  const arrived = scene.sink.messages.slice(before).map(({ data }) => data.toString().replaceAll('\r\n', ''));
  expect(arrived).toHaveLength(1);
  expect(arrived[0]).toContain(FILE);
});

it('a send that is refused because of the object store says so, and when to retry', async () => {
  always('forbid', 'PUT');
  const body = { from: `a@${mail.domain.name}`, to: ['x@one.example'], subject: 'Hello', text: 'x' };
  const refused = await scene.api('POST', '/emails', { key: mail.team.key, body });
  expect([refused.status, refused.headers.get('retry-after'), refused.body]).toEqual([
    503,
    '10',
    {
      statusCode: 503,
      name: 'service_unavailable',
      message: 'The service cannot store data at present, so nothing was accepted; try again later.',
    },
  ]);
});

it.each<Wrong>(['forbid', 'slow down', 'hang up', 'stall'])(
  'SMTP submission and receiving ask clients to retry while the object store fails, and accept mail afterwards: “%s”',
  async (wrong) => {
    const { name } = await createReceivingDomain(scene, mail.team);
    const number = ++sends;
    const content = (from: string): string =>
      `From: <${from}>\r\nTo: <reader${number}@one.example>\r\nSubject: Number ${number}\r\n\r\nHello\r\n`;
    const submitting = async (): Promise<string> => {
      const client = await connect(scene, 'tls');
      try {
        expect(await logIn(client, mail.team.key)).toMatch(/^235 /);
        const from = `a@${mail.domain.name}`;
        return await submit(client, { from, to: [`reader${number}@one.example`], content: content(from) });
      } finally {
        client.end();
      }
    };
    const bringing = (): Promise<string> =>
      bringMail(scene, { to: [`support@${name}`], raw: content('someone@example.org') });
    const received = async (): Promise<string[]> =>
      (await scene.api('GET', '/emails/receiving', { key: mail.team.key })).body.data
        .map(({ subject }: { subject: string }) => subject)
        .filter((subject: string) => subject === `Number ${number}`);
    always(wrong, 'PUT');
    for (const reply of await Promise.all([submitting(), bringing()])) expect(reply).toMatch(/^451 4\.3\.\d /);
    await scene.settled();
    expect(await received()).toEqual([]);
    server.wrong = undefined;
    expect(await submitting()).toMatch(/^250 2\.6\.0 Accepted as /);
    expect(await bringing()).toMatch(/^250 /);
    await scene.settled();
    const arrived = scene.sink.messages.filter(({ rcptTo }) => rcptTo.includes(`reader${number}@one.example`));
    expect([arrived.length, await received()]).toEqual([1, [`Number ${number}`]]);
  },
);

it('a delivery whose content cannot be read waits, and is made when it can', async () => {
  always('forbid', 'GET');
  const { status, body } = await send();
  expect([status, body]).toEqual([200, { id: body.id }]);
  dropCache();
  await scene.settled();
  for (let tries = 0; tries < 3; tries++) {
    scene.clock.advance(HOUR);
    await scene.settled();
  }
  // Its body is in the store too.
  expect((await scene.api('GET', `/emails/${body.id}`, { key: mail.team.key })).status).toBe(503);
  server.wrong = undefined;
  const waiting = await scene.account(mail.team, body.id);
  expect([waiting.state, waiting.events.includes('email.bounced')]).toEqual(['delivery_delayed', false]);
  scene.clock.advance(6 * HOUR);
  await scene.settled();
  expect((await scene.account(mail.team, body.id)).state).toBe('delivered');
});

it('a failure of the object store is a finding for the operator, and makes the node unready', async () => {
  const key = await scene.operator();
  const findings = async (): Promise<{ code: string; summary: string }[]> =>
    (await scene.api('GET', '/operator/findings', { key })).body.findings as never;
  const ofStore = async () => (await findings()).filter(({ code }) => code === 'storage_unwritable');
  expect(await ofStore()).toEqual([]);
  always('forbid', 'PUT');
  // A recent write to the store stands for a check.
  expect((await send()).status).toBe(503);
  expect(await ofStore()).toMatchObject([
    {
      summary: `Nothing can be written to the blob store: s3://mail at ${server.endpoint} refuses PUT: 403 AccessDenied: Access Denied.`,
    },
  ]);
  server.wrong = undefined;
  server.skewMs = 20 * MINUTE;
  expect((await ofStore())[0]?.summary).toMatch(/RequestTimeTooSkewed.*1200 s behind that of the store/);
  server.skewMs = 0;
  expect(await ofStore()).toEqual([]);
});

it('the sweep removes unused content page by page, and nothing younger than a day', async () => {
  const { blobs: own, ids } = scene.app.world;
  await scene.settled();
  const old = ids.uuid();
  await own.put(`${old}/html`, Buffer.from('x'));
  scene.clock.advance(25 * HOUR);
  const young = ids.uuid();
  await own.put(`${young}/html`, Buffer.from('x'));
  const { status, body } = await send();
  expect(status).toBe(200);
  await scene.app.jobs.find(({ name }) => name === 'remove-orphan-blobs')?.run();
  expect(blobs().some((key) => key.includes(old))).toBe(false);
  expect(blobs().some((key) => key.includes(young))).toBe(true);
  expect(blobs().some((key) => key.includes(body.id))).toBe(true);
});

it('an installation starts while the object store is away, and never with the bucket of another one', async () => {
  server.wrong = () => 'forbid';
  await scene.restart();
  server.wrong = undefined;
  const mark = server.objects.get('installation.id');
  server.objects.delete('installation.id');
  await expect(scene.restart()).rejects.toThrow(
    /s3:\/\/mail at .* is not the store of installation .*bucket and the prefix/,
  );
  if (mark) server.objects.set('installation.id', mark);
  await scene.restart();
});

it('requests to the object store and their bytes are counted', async () => {
  await send();
  await scene.settled();
  const counted = await scene.app.world.meter.text();
  expect(counted).toMatch(/^rasket_blob_requests_total\{operation="put",result="ok"\} [1-9]\d*$/m);
  expect(counted).toMatch(/^rasket_blob_bytes_total\{direction="sent"\} [1-9]\d{5,}$/m);
});
