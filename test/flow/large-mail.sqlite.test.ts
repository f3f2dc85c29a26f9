import { truncateSync, copyFileSync, readdirSync } from 'node:fs';
import { Resolver } from 'node:dns/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import PostalMime from 'postal-mime';
import { expect, it } from 'vitest';
import { startScene, type Scene } from '../rig/scene.ts';
import { startSink, type Sink, type SinkOptions } from '../rig/sink.ts';
import { advanceToNextAttempt, mailIn, MINUTE, SECOND, type Mail } from './mail.ts';

// The verifier has no types for this module.
const { dkimVerify } = createRequire(import.meta.url)('mailauth/lib/dkim/verify') as {
  dkimVerify: (
    message: Buffer,
    options: { resolver: (name: string, type: string) => Promise<string[][]> },
  ) => Promise<{ results: { status: { result: string } }[] }>;
};

/** Another mail server, which takes the mail of one domain. */
async function startServer(scene: Scene, domain: string, host: string, options: SinkOptions): Promise<Sink> {
  const sink = await startSink({ ...options, host, port: scene.sink.port });
  scene.dns.set(domain, 'MX', [`10 mx.${domain}`]);
  scene.dns.set(`mx.${domain}`, 'A', [host]);
  return sink;
}

const buildFile = (bytes: number, filename = 'large.bin'): { filename: string; content: string } => ({
  filename,
  content: Buffer.alloc(bytes, 'The quick brown fox, 0123456789').toString('base64'),
});
const MB = 1_000_000;

const whyDelayed = async (mail: Mail, id: string): Promise<string> =>
  JSON.stringify(await mail.detail(id, 'email.delivery_delayed'));

it('large mail to a receiver that never replies to MAIL delays nobody else’s mail', async () => {
  await using scene = await startScene();
  const silent = await startServer(scene, 'silent.example', '127.0.0.2', {
    script: (command) => (command.startsWith('MAIL') ? 'hang' : undefined),
  });
  const theirs = await mailIn(scene);
  const ours = await mailIn(scene);
  for (let n = 0; n < 3; n++) await theirs.send(`x${n}@silent.example`, { attachments: [buildFile(29 * 1024 * 1024)] });
  await silent.waitFor((sink) => sink.counts.connections > 0 && sink.commands.some((line) => line.startsWith('MAIL')));
  // No clock is moved: what leaves, leaves while the receiver is silent.
  const small = [await ours.send('a@one.example'), await theirs.send('b@one.example')];
  const large = await ours.send('c@one.example', { attachments: [buildFile(10 * MB)] });
  await scene.sink.waitFor(3);
  scene.clock.advance(5 * MINUTE);
  await silent.close();
  scene.dns.set('silent.example', 'MX', ['10 mx.sink.test']);
  // The sink has a message before its outcome is written.
  await scene.settled();
  for (const id of [small[0] ?? '', large]) expect(await ours.account(id)).toMatchObject({ state: 'delivered' });
});

it('a receiver that reads content slower than the lowest rate is disconnected before the dot, and the mail is sent later', async () => {
  await using scene = await startScene({ networkWaits: 'by hand' });
  const slow = await startServer(scene, 'slow.example', '127.0.0.2', { contentAllowance: 600_000, keep: false });
  const mail = await mailIn(scene);
  const id = await mail.send('x@slow.example', { attachments: [buildFile(16 * MB)] });
  await slow.waitFor((sink) => sink.contentBytes >= 600_000);
  // Without a pause this would take too long: 15 kB a second.
  for (let seconds = 0; slow.open > 0; seconds += 50) {
    expect(seconds).toBeLessThan(800);
    scene.clock.advance(50 * SECOND);
    const wanted = slow.contentBytes + 600_000;
    slow.readOn(600_000);
    await slow.waitFor((sink) => sink.contentBytes >= wanted || sink.open === 0);
  }
  await scene.settled();
  expect(await whyDelayed(mail, id)).toMatch(/accepted less than 32768 bytes of content a second/);
  expect(slow.counts.accepted).toBe(0);
  slow.readOn(Infinity);
  await advanceToNextAttempt(scene, id);
  expect(await mail.account(id)).toMatchObject({ state: 'delivered', waiting: [] });
  expect(slow.counts).toMatchObject({ data: 2, accepted: 1 });
  await slow.close();
});

it.each([true, false])(
  'a dialogue with late replies is ended after ten minutes; pipelining: %s',
  async (pipelining) => {
    await using scene = await startScene({ sink: { pipelining }, networkWaits: 'by hand' });
    const mail = await mailIn(scene);
    const to = Array.from({ length: 40 }, (_, n) => `slow-rcpt+${n}@one.example`);
    const id = await mail.send(to);
    for (let n = 1; n <= 20; n++) {
      await scene.sink.waitFor((sink) => sink.counts.rcpt >= n);
      expect((await mail.account(id)).state).toBe('sent');
      scene.clock.advance(29 * SECOND);
      scene.sink.answerOne();
    }
    await scene.sink.waitFor((sink) => sink.counts.rcpt >= 21);
    scene.clock.advance(21 * SECOND);
    await scene.sink.waitFor((sink) => sink.open === 0);
    await scene.settled();
    expect(await whyDelayed(mail, id)).toMatch(/the dialogue before the content took longer than 600 s/);
    scene.sink.openGate();
    await advanceToNextAttempt(scene, id);
    expect(await mail.account(id)).toMatchObject({ state: 'delivered', arrived: [to.join(' ')] });
  },
);

it('a large message arrives as it was sent, signed, and with the same bytes at each destination', async () => {
  await using scene = await startScene();
  const mail = await mailIn(scene);
  const forwarded = `From: a@b.example\r\nSubject: .\r\n\r\n${'.Dots and text\r\n'.repeat(30_000)}`;
  const html = `<p>Grüße <img src="cid:logo"></p>${'<p>The quick brown fox.</p>\n'.repeat(40_000)}`;
  const attachments = [
    buildFile(3 * MB + 1),
    { filename: 'forwarded.eml', content_type: 'message/rfc822', content: Buffer.from(forwarded).toString('base64') },
    { ...buildFile(200_001, 'logo.png'), content_id: 'logo' },
    { filename: 'empty.txt', content: '' },
  ];
  const id = await mail.send(['x@one.example', 'y@two.example'], { html, text: '.dot', attachments });
  await scene.sink.waitFor(2);
  await scene.settled();
  expect((await mail.account(id)).state).toBe('delivered');
  const [first, second] = scene.sink.messages.map(({ data }) => data);
  expect(second?.equals(first ?? Buffer.alloc(0))).toBe(true);
  const dns = new Resolver();
  dns.setServers([scene.dns.server]);
  const { results } = await dkimVerify(first ?? Buffer.alloc(0), { resolver: (name) => dns.resolveTxt(name) });
  expect(results.map(({ status }) => status.result)).toEqual(['pass', 'pass']);
  const parsed = await PostalMime.parse(first ?? '');
  expect(parsed.html?.replaceAll('\r\n', '\n').trimEnd()).toBe(html.trimEnd());
  const contents = new Map(parsed.attachments.map((each) => [each.filename, Buffer.from(each.content as ArrayBuffer)]));
  for (const { filename, content } of attachments) {
    if (filename === 'forwarded.eml') continue;
    expect(contents.get(filename)?.equals(Buffer.from(content, 'base64')), filename).toBe(true);
  }
  // A message may not be encoded: it stands there as it was given.
  expect(first?.includes(`\r\n\r\n${forwarded}\r\n--`)).toBe(true);
});

it('an attachment that cannot be read to its end gives the receiver no dot, and is sent when it can be read', async () => {
  await using scene = await startScene();
  const mail = await mailIn(scene);
  const id = await mail.send('slow-rcpt@one.example', { attachments: [buildFile(2 * MB)] });
  await scene.sink.waitFor((sink) => sink.counts.rcpt === 1);
  const folder = path.join(scene.dataDir, 'blobs', id.slice(-2), id);
  const file = path.join(folder, readdirSync(folder)[0] ?? '');
  const away = path.join(scene.dataDir, 'away');
  copyFileSync(file, away);
  truncateSync(file, MB);
  scene.sink.openGate();
  await scene.settled();
  expect(await mail.account(id)).toMatchObject({ state: 'delivery_delayed', waiting: ['slow-rcpt@one.example'] });
  expect(scene.sink.counts).toMatchObject({ data: 1, accepted: 0 });
  copyFileSync(away, file);
  await advanceToNextAttempt(scene, id);
  expect(await mail.account(id)).toMatchObject({ state: 'delivered', arrived: ['slow-rcpt@one.example'] });
});
