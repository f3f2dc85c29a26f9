// mail leaves by a source --> receivers accept, defer, refuse and complain --> each is counted once, by source and provider
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sumSourceDay } from '../../src/mail/reputation/index.ts';
import { freePort } from '../rig/free-port.ts';
import { bringMail } from '../rig/mx.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { makeCertificate } from '../rig/tls.ts';
import { mailIn, type Mail } from './mail.ts';

const DAY = 86_400_000;
const REPLIES: Record<string, string> = {
  gone: '550 5.1.1 No such user',
  blocked: '550 5.7.1 Service unavailable; Client host [127.0.8.1] blocked using zen.spamhaus.org',
  grey: '451 4.7.1 Greylisted, try again later',
};

let scene: Scene;
let mail: Mail;
beforeAll(async () => {
  scene = await startScene({
    startAt: '2026-11-30T00:00:00Z',
    roles: ['http', 'delivery', 'receiving'],
    sink: {
      script: (line) => (line.startsWith('RCPT') ? REPLIES[/<([a-z]+)\d*@/.exec(line)?.[1] ?? ''] : undefined),
    },
    config: {
      sources: { first: { source_v4: '127.0.8.1' } },
      pools: { main: { sources: ['first'] } },
      providers: { acme: { title: 'Acme', domains: ['acme.example'] } },
    },
  });
  mail = await mailIn(scene);
  for (const to of ['a@acme.example', 'b@acme.example', 'gone1@acme.example', 'grey1@acme.example', 'c@other.example'])
    await mail.send(to);
  await mail.send(['blocked1@acme.example', 'blocked2@acme.example']);
  await scene.settled();
});
afterAll(() => scene.close());

const readCounts = () =>
  scene.app.world.db.all<Record<string, unknown>>(
    `select source, provider, is_marketing, outcome, cause, sum(count) as count from reputation_counts
      group by source, provider, is_marketing, outcome, cause order by provider, outcome, cause`,
    [],
  );

it('every recipient is counted by source, provider, outcome and cause', async () => {
  const counts = (await readCounts()).map((row) => ({ ...row, count: Number(row.count) }));
  const common = { source: 'first', is_marketing: 0 };
  expect(counts).toEqual([
    { ...common, provider: '', outcome: 'accepted', cause: '', count: 1 },
    { ...common, provider: 'acme', outcome: 'accepted', cause: '', count: 2 },
    { ...common, provider: 'acme', outcome: 'bounced', cause: 'ip_reputation', count: 2 },
    { ...common, provider: 'acme', outcome: 'bounced', cause: 'recipient_unknown', count: 1 },
    { ...common, provider: 'acme', outcome: 'deferred', cause: 'greylist', count: 1 },
  ]);
});

it('a complaint counts for the source and the provider that the email went through, once', async () => {
  const message = scene.sink.messages.find(({ rcptTo }) => rcptTo[0] === 'a@acme.example');
  const report = [
    'From: fbl@acme.example',
    'Content-Type: multipart/report; report-type=feedback-report; boundary=b',
    '',
    '--b',
    'Content-Type: message/feedback-report',
    '',
    'Feedback-Type: abuse',
    `Original-Mail-From: <${message?.mailFrom}>`,
    'Original-Rcpt-To: <a@acme.example>',
    '--b--',
    '',
  ].join('\r\n');
  for (let time = 0; time < 2; time++)
    expect(await bringMail(scene, { from: '', to: [message?.mailFrom ?? ''], raw: report })).toMatch(/^250/);
  const day = Math.floor(scene.clock.now() / DAY);
  expect(await sumSourceDay(scene.app.world.db, { source: 'first', provider: 'acme', day })).toEqual({
    accepted: 2,
    bounced: 1,
    complained: 1,
    mistrusted: 2,
  });
  const other = { source: 'first', provider: 'acme', day: day - 1 };
  expect(await sumSourceDay(scene.app.world.db, other)).toMatchObject({ accepted: 0, mistrusted: 0 });
});

it('the metrics have each refusal by provider, outcome and cause, and each complaint by provider', async () => {
  const text = await scene.app.world.meter.text();
  const lines = text.split('\n').filter((line) => /^rasket_provider_(?:refusals|complaints)_total\{/.test(line));
  expect(lines.toSorted()).toEqual([
    'rasket_provider_complaints_total{provider="acme"} 1',
    'rasket_provider_refusals_total{provider="acme",outcome="bounced",cause="ip_reputation"} 2',
    'rasket_provider_refusals_total{provider="acme",outcome="bounced",cause="recipient_unknown"} 1',
    'rasket_provider_refusals_total{provider="acme",outcome="deferred",cause="greylist"} 1',
  ]);
});

it('mail through a relay of a pool counts for the source that the settings name', async () => {
  const certificate = makeCertificate({ names: ['hub.test'] });
  const port = await freePort();
  await using other = await startScene({
    sink: { port, tls: 'starttls', certificate },
    config: {
      delivery: { smtp_port: await freePort() },
      relays: { hub: { host: 'hub.test', port, ca_file: 'relay/ca.pem' } },
      sources: { big: { relay: 'hub' } },
      pools: { main: { sources: ['big'] } },
    },
    prepare(dataDir) {
      mkdirSync(path.join(dataDir, 'relay'));
      writeFileSync(path.join(dataDir, 'relay/ca.pem'), certificate.cert);
    },
  });
  other.dns.set('hub.test', 'A', ['127.0.0.1']);
  await (await mailIn(other)).send('a@acme.example');
  await other.settled();
  const counts = await other.app.world.db.all('select source, provider, outcome from reputation_counts', []);
  expect(counts).toEqual([{ source: 'big', provider: '', outcome: 'accepted' }]);
});
