import { copyFileSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRemoval } from '../../src/features/installation/upkeep/remove-expired.ts';
import { recheckDamaged } from '../../src/mail/contents/index.ts';
import { bringMail, createReceivingDomain } from '../rig/mx.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { connect, logIn, submit } from '../smtp/dialogue.ts';
import { advanceToNextAttempt, HOUR, mailIn, MINUTE, type Mail } from './mail.ts';

/**
 * Content above `storage.row_bytes` is stored in files. A message of half a megabyte is in memory while it is sent, a
 * larger one is not.
 */
const SMALL = 20_000;
const LARGE = 1_500_000;
const config = { storage: { inline_bytes: 1000, row_bytes: 1000 } };

const buildFile = (bytes: number) => ({
  filename: 'report.txt',
  content: Buffer.alloc(bytes, 'The quick brown fox, 0123456789. ').toString('base64'),
});

/** Returns the only file of an owner. */
function fileIn(scene: Scene, owner: string): string {
  const folder = path.join(scene.dataDir, 'blobs', owner.slice(-2), owner);
  const [name = ''] = readdirSync(folder);
  return path.join(folder, name);
}

function flipByte(file: string): void {
  const content = readFileSync(file);
  content[content.length - 100] = (content[content.length - 100] ?? 0) ^ 1;
  writeFileSync(file, content);
}

const DAMAGES = [
  {
    damage: 'cut short',
    spoil: (file: string) => truncateSync(file, 1000),
    says: /has 1000 bytes, and \d+ were stored/,
  },
  { damage: 'changed in one bit', spoil: flipByte, says: /has another SHA-256 than what was stored/ },
  { damage: 'gone', spoil: (file: string) => rmSync(file), says: /is missing/ },
];

/** Damages a file, and returns a function that restores it. */
function spoiled(file: string, spoil: (file: string) => void): () => void {
  const kept = `${file}.kept`.replace(/\/blobs\/.*\//, '/');
  copyFileSync(file, kept);
  spoil(file);
  return () => copyFileSync(kept, file);
}

const findings = async (scene: Scene): Promise<Record<string, unknown>[]> =>
  (await scene.api('GET', '/operator/findings', { key: await scene.operator() })).body.findings;

/** Waits for the record of damaged content, which is written in the background. */
async function damageFound(scene: Scene): Promise<Record<string, unknown>> {
  let found: Record<string, unknown> | undefined;
  await expect
    .poll(async () => (found = (await findings(scene)).find(({ code }) => code === 'content_damaged')))
    .toBeTruthy();
  return found ?? {};
}

const noDamage = (scene: Scene): Promise<void> =>
  expect.poll(async () => (await findings(scene)).map(({ code }) => code)).not.toContain('content_damaged');

async function submitLarge(scene: Scene, mail: Mail, to: string, lines: number): Promise<string> {
  const client = await connect(scene, 'tls');
  try {
    await logIn(client, mail.team.key);
    const from = `a@${mail.domain.name}`;
    const content = `From: <${from}>\r\nTo: <${to}>\r\nSubject: Hello\r\n\r\n${'The quick brown fox.\r\n'.repeat(lines)}`;
    const reply = await submit(client, { from, to: [to], content });
    return /Accepted as ([0-9a-f-]{36})/.exec(reply)?.[1] ?? reply;
  } finally {
    client.end();
  }
}

describe('damaged content on disk:', () => {
  let scene: Scene;
  let mail: Mail;
  let sends = 0;
  beforeAll(async () => {
    scene = await startScene({ config, roles: ['http', 'delivery', 'submission'] });
    mail = await mailIn(scene);
  });
  afterAll(() => scene.close());

  /** Damages the file of an email before it is due, and restores it once the email waits for it. */
  async function sendsOnceWhole(
    id: string,
    to: string,
    spoil: (file: string) => void,
  ): Promise<Record<string, unknown>> {
    const accepted = scene.sink.counts.accepted;
    const file = fileIn(scene, id);
    const restore = spoiled(file, spoil);
    await advanceToNextAttempt(scene, id);
    expect((await scene.events(id)).map(({ type }) => type)).toContain('email.delivery_delayed');
    const found = await damageFound(scene);
    expect(found).toMatchObject({ severity: 'error', subjects: [file], advice: { command: 'rasket backups' } });
    restore();
    // No final dot was sent.
    expect(scene.sink.counts.accepted).toBe(accepted);
    await advanceToNextAttempt(scene, id);
    expect(await mail.account(id)).toMatchObject({ state: 'delivered', arrived: [to], suppressed: [], waiting: [] });
    await noDamage(scene);
    return found;
  }

  const scheduled = () => ({ scheduled_at: new Date(scene.clock.now() + HOUR).toISOString() });

  for (const { damage, spoil, says } of DAMAGES) {
    for (const bytes of [SMALL, LARGE])
      it(`an email whose attachment of ${bytes} bytes is ${damage} waits, is a finding, and is sent once the file is whole`, async () => {
        const to = `reader${++sends}@one.example`;
        const id = await mail.send(to, { ...scheduled(), attachments: [buildFile(bytes)] });
        const { summary } = await sendsOnceWhole(id, to, spoil);
        expect(summary).toMatch(says);
        expect(summary).toContain(fileIn(scene, id));
      });

    it(`an email whose text is ${damage} waits, and is sent once the file is whole`, async () => {
      const to = `reader${++sends}@one.example`;
      const id = await mail.send(to, { ...scheduled(), text: 'The quick brown fox. '.repeat(1000) });
      await sendsOnceWhole(id, to, spoil);
    });

    for (const lines of [3000, 60_000])
      it(`a submitted message of ${lines} lines whose file is ${damage} waits, and is sent once the file is whole`, async () => {
        const domain = `submitted${++sends}.example`;
        const to = `reader@${domain}`;
        scene.dns.set(domain, 'MX', 'SERVFAIL');
        const id = await submitLarge(scene, mail, to, lines);
        await scene.settled();
        scene.dns.set(domain, 'MX', ['10 mx.sink.test']);
        await sendsOnceWhole(id, to, spoil);
      });
  }
});

describe('when content is damaged during delivery or permanently,', () => {
  it('the peer gets no final dot when content changes after it was signed', async () => {
    await using scene = await startScene({ config });
    const mail = await mailIn(scene);
    const id = await mail.send('slow-rcpt@one.example', { attachments: [buildFile(LARGE)] });
    await scene.sink.waitFor((sink) => sink.counts.rcpt === 1);
    const restore = spoiled(fileIn(scene, id), flipByte);
    scene.sink.openGate();
    await scene.settled();
    expect(await mail.account(id)).toMatchObject({ state: 'delivery_delayed', waiting: ['slow-rcpt@one.example'] });
    expect(scene.sink.counts).toMatchObject({ data: 1, accepted: 0 });
    await damageFound(scene);
    restore();
    await advanceToNextAttempt(scene, id);
    expect(await mail.account(id)).toMatchObject({ state: 'delivered', arrived: ['slow-rcpt@one.example'] });
  });

  it('the peer gets no final dot when content without a stored hash changes after it was signed', async () => {
    await using scene = await startScene({ config });
    const mail = await mailIn(scene);
    const id = await mail.send('slow-rcpt@one.example', { attachments: [buildFile(LARGE)] });
    await scene.app.world.db.run('delete from content_files');
    await scene.sink.waitFor((sink) => sink.counts.rcpt === 1);
    const restore = spoiled(fileIn(scene, id), flipByte);
    scene.sink.openGate();
    await scene.settled();
    expect(scene.sink.counts).toMatchObject({ data: 1, accepted: 0 });
    restore();
    await advanceToNextAttempt(scene, id);
    expect(await mail.account(id)).toMatchObject({ state: 'delivered' });
  });

  it('a truncated attachment without a stored hash is not sent, and is a finding until it is whole', async () => {
    await using scene = await startScene({ config });
    const mail = await mailIn(scene);
    const scheduled_at = new Date(scene.clock.now() + HOUR).toISOString();
    const id = await mail.send('x@one.example', { scheduled_at, attachments: [buildFile(LARGE)] });
    await scene.app.world.db.run('delete from content_files');
    const restore = spoiled(fileIn(scene, id), (file) => truncateSync(file, 1000));
    scene.clock.advance(HOUR + MINUTE);
    await scene.settled();
    expect(await mail.account(id)).toMatchObject({ state: 'delivery_delayed', arrived: [] });
    await damageFound(scene);
    expect(await recheckDamaged(scene.app.world)).toBe(0);
    restore();
    expect(await recheckDamaged(scene.app.world)).toBe(1);
    await noDamage(scene);
    await advanceToNextAttempt(scene, id);
    expect((await mail.account(id)).state).toBe('delivered');
  });

  it('an email whose content stays damaged finally fails, and neither bounces nor suppresses its recipient', async () => {
    await using scene = await startScene({ config });
    const mail = await mailIn(scene);
    const scheduled_at = new Date(scene.clock.now() + HOUR).toISOString();
    const id = await mail.send('x@one.example', { scheduled_at, attachments: [buildFile(LARGE)] });
    spoiled(fileIn(scene, id), flipByte);
    scene.clock.advance(HOUR + MINUTE);
    await scene.settled();
    for (let tries = 0; tries < 30 && (await mail.account(id)).waiting.length > 0; tries++)
      await advanceToNextAttempt(scene, id);
    expect(await mail.account(id)).toMatchObject({ state: 'failed', arrived: [], suppressed: [], waiting: [] });
    expect(await mail.detail(id, 'email.failed')).toMatchObject({ failed: { reason: 'content_damaged' } });
  });

  it('damaged content is no longer a finding once its email is removed', async () => {
    await using scene = await startScene({ config });
    const mail = await mailIn(scene);
    const id = await mail.send('x@one.example', { attachments: [buildFile(LARGE)] });
    await scene.settled();
    const { db } = scene.app.world;
    expect(await db.all('select name, size, damage from content_files where owner_id = ?', [id])).toMatchObject([
      { damage: null },
    ]);
    spoiled(fileIn(scene, id), flipByte);
    expect((await download(scene, mail, id)).isWhole).toBe(false);
    await damageFound(scene);
    scene.clock.advance(400 * 24 * HOUR);
    await createRemoval(scene.app.world)();
    expect(await db.all('select name from content_files', [])).toEqual([]);
    await noDamage(scene);
  });
});

interface Downloaded {
  status: number;
  isWhole: boolean;
}

/** Reads to the end, which never comes if the response stays open. */
async function read(scene: Scene, url: string, bytes: number): Promise<Downloaded> {
  const { pathname, search } = new URL(url);
  const response = await fetch(scene.url + pathname + search);
  const body = await response.arrayBuffer().catch(() => undefined);
  return { status: response.status, isWhole: response.status === 200 && body?.byteLength === bytes };
}

async function download(scene: Scene, mail: Mail, id: string): Promise<Downloaded> {
  const { data } = (await scene.api('GET', `/emails/${id}/attachments`, { key: mail.team.key })).body;
  return read(scene, data[0].download_url, LARGE);
}

describe('the download of', () => {
  it('a truncated attachment is refused with a documented error', async () => {
    await using scene = await startScene({ config });
    const mail = await mailIn(scene);
    const id = await mail.send('x@one.example', { attachments: [buildFile(LARGE)] });
    await scene.settled();
    const { data } = (await scene.api('GET', `/emails/${id}/attachments`, { key: mail.team.key })).body;
    const { pathname, search } = new URL(data[0].download_url);
    truncateSync(fileIn(scene, id), 1000);
    const refused = await scene.api('GET', pathname + search);
    expect(refused).toMatchObject({ status: 503, body: { name: 'service_unavailable' } });
    expect(refused.body.message).toContain('content_damaged');
    await damageFound(scene);
  });

  it.each(DAMAGES)('an attachment that is $damage ends with an error', async ({ spoil }) => {
    await using scene = await startScene({ config });
    const mail = await mailIn(scene);
    const id = await mail.send('x@one.example', { attachments: [buildFile(LARGE)] });
    await scene.settled();
    expect(await download(scene, mail, id)).toEqual({ status: 200, isWhole: true });
    const restore = spoiled(fileIn(scene, id), spoil);
    expect((await download(scene, mail, id)).isWhole).toBe(false);
    await damageFound(scene);
    restore();
    expect(await download(scene, mail, id)).toEqual({ status: 200, isWhole: true });
    await noDamage(scene);
  });

  it.each(DAMAGES)('the source of a received message that is $damage ends with an error', async ({ spoil }) => {
    await using scene = await startScene({ config, roles: ['http', 'delivery', 'receiving'] });
    const mail = await mailIn(scene);
    const { name } = await createReceivingDomain(scene, mail.team);
    const text = 'The quick brown fox.\r\n'.repeat(20_000);
    const raw = `From: <someone@example.org>\r\nTo: <support@${name}>\r\nSubject: Hello\r\n\r\n${text}`;
    expect(await bringMail(scene, { to: [`support@${name}`], raw })).toMatch(/^250/);
    const key = mail.team.key;
    const id = (await scene.api('GET', '/emails/receiving', { key })).body.data[0].id as string;
    const { body } = await scene.api('GET', `/emails/receiving/${id}`, { key });
    const folder = path.join(scene.dataDir, 'blobs', id.slice(-2), id);
    const file = path.join(folder, 'raw.eml');
    const { size } = await read(scene, body.raw.download_url, 0).then(() => ({ size: readFileSync(file).length }));
    expect(await read(scene, body.raw.download_url, size)).toEqual({ status: 200, isWhole: true });
    const restore = spoiled(file, spoil);
    expect((await read(scene, body.raw.download_url, size)).isWhole).toBe(false);
    await damageFound(scene);
    restore();
    expect(await read(scene, body.raw.download_url, size)).toEqual({ status: 200, isWhole: true });
    await noDamage(scene);
  });
});
