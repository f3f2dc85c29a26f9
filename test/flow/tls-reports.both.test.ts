import { Resolver } from 'node:dns/promises';
import { gunzipSync } from 'node:zlib';
import { authenticate } from 'mailauth';
import PostalMime from 'postal-mime';
import { afterEach, describe, expect, it } from 'vitest';
import { createSessionCounts, type ReportsSent } from '../../src/mail/tls-reports/index.ts';
import { setSending } from '../../src/tenancy/instance/index.ts';
import { ALLOWED, startDoorbell, startFileServer, type FileServer } from '../rig/file-server.ts';
import { startScene, type Scene, type SceneOptions, type Team } from '../rig/scene.ts';
import { startSink, type Sink, type SinkMessage } from '../rig/sink.ts';
import { policyLines, startStsHost, type StsHost } from '../rig/sts-host.ts';
import { makeCertificate } from '../rig/tls.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const MX = 'mx.sink.test';
/** A name of the same mail server that its certificate is not for. */
const MISNAMED = 'mx.misnamed.test';
const PLAIN = 'mx.plain.test';
const PLAIN_ADDRESS = '127.0.0.3';
const COLLECTOR = 'collector.example';
const POLICY_HOSTS = ['enforce.example', 'mismatch.example', 'testing.example'];

let host: StsHost;
let plain: Sink;
let https: FileServer;
let scene: Scene;
let team: Team;
let from: string;
let domainId: string;
/** What the https collector answers; undefined: nothing. */
let status: number | undefined;
let onPost: () => void;

afterEach(async () => {
  await scene.close();
  await Promise.all([host.close(), plain.close(), https.close()]);
});

/** Starts a mail server with and one without TLS, a host of policies, and a collector of reports by https. */
async function given(settings: object = {}, { hasDomain = true }: { hasDomain?: boolean } = {}): Promise<void> {
  status = 200;
  onPost = () => undefined;
  const certificate = makeCertificate({ names: [MX] });
  host = await startStsHost(
    'enforce.example',
    POLICY_HOSTS.map((domain) => `mta-sts.${domain}`),
  );
  https = await startFileServer(
    (_path, response) => {
      onPost();
      if (status !== undefined) response.writeHead(status).end();
    },
    { names: ['tls.collector.test'] },
  );
  const options: SceneOptions = {
    sink: { tls: 'starttls', certificate },
    startAt: '2030-03-05T09:00:00Z',
    trustedCa: [host.certificate.cert, certificate.cert, https.certificate.cert],
    config: {
      instance: { host: 'rasket.test', env: 'test' },
      delivery: { mta_sts_port: host.port },
      network: { mail_allow_private: ['127.0.0.0/8'], http_allow_private: [`${ALLOWED}/32`] },
      tls_reports: settings,
    } as NonNullable<SceneOptions['config']>,
  };
  scene = await startScene(options);
  plain = await startSink({ host: PLAIN_ADDRESS, port: scene.sink.port, tls: 'none' });
  scene.dns.set(MISNAMED, 'A', ['127.0.0.1']);
  scene.dns.set(PLAIN, 'A', [PLAIN_ADDRESS]);
  scene.dns.set('tls.collector.test', 'A', [ALLOWED]);
  team = await scene.team();
  if (!hasDomain) return;
  const domain = await team.domain();
  from = `a@${domain.name}`;
  domainId = domain.id;
}

const wish = (domain: string, rua = `mailto:tls@${COLLECTOR}`): void =>
  scene.dns.set(`_smtp._tls.${domain}`, 'TXT', [`v=TLSRPTv1; rua=${rua}`]);

async function send(domain: string): Promise<void> {
  const sent = await scene.api('POST', '/emails', {
    key: team.key,
    body: { from, to: `x@${domain}`, subject: 's', text: 't' },
  });
  expect(sent.status, sent.text).toBe(200);
  await scene.settled();
}

/** Sends to a domain whose mail server offers no TLS, which is a failure that every report has. */
async function sendInPlain(domain: string): Promise<void> {
  scene.dns.set(domain, 'MX', [`10 ${PLAIN}`]);
  await send(domain);
}

/** Runs the job of the present minute, and delivers what it has mailed. */
async function run(stopping?: AbortSignal): Promise<ReportsSent | undefined> {
  const job = scene.app.jobs.find(({ name }) => name === 'send-tls-reports');
  const sent = (await job?.run(stopping)) as ReportsSent | undefined;
  // The job may run on a node that delivers nothing, so the queue notices the mail at its next poll.
  scene.clock.advance(1000);
  await scene.settled();
  return sent;
}

/** Lets the day end and the times of all its reports come. A stop writes what was counted. */
async function nextMorning(): Promise<void> {
  await scene.restart();
  const { clock } = scene;
  clock.advance(DAY - (clock.now() % DAY) + 5 * HOUR);
  await scene.settled();
}

interface Report {
  message: SinkMessage;
  head: string;
  fileName: string;
  text: string;
  json: ReportJson;
}

interface ReportJson {
  'report-id': string;
  policies: {
    policy: { 'policy-type': string };
    summary: object;
    'failure-details'?: { 'failed-session-count': number }[];
  }[];
}

const isReport = ({ data }: SinkMessage): boolean => data.includes('\r\nTLS-Report-Domain: ');

/** Reads the reports that the mail server got, by the domain that they are about. */
async function reports(): Promise<Map<string, Report[]>> {
  const all: [string, Report][] = [];
  for (const message of scene.sink.messages.filter(isReport)) {
    const mail = await PostalMime.parse(message.data, { attachmentEncoding: 'arraybuffer' });
    const [attachment] = mail.attachments;
    expect(attachment?.mimeType).toBe('application/tlsrpt+gzip');
    const json = JSON.parse(gunzipSync(Buffer.from(attachment?.content as ArrayBuffer)).toString()) as ReportJson;
    const head = (message.data.toString().split('\r\n\r\n', 1)[0] ?? '').replaceAll(/\r\n[ \t]+/g, ' ');
    const domain = /^TLS-Report-Domain: (.*)$/m.exec(head)?.[1]?.trim() ?? '';
    all.push([domain, { message, head, json, fileName: attachment?.filename ?? '', text: mail.text ?? '' }]);
  }
  const grouped = Map.groupBy(all, ([domain]) => domain);
  return new Map([...grouped].map(([domain, found]) => [domain, found.map(([, report]) => report)]));
}

async function theReport(domain: string): Promise<Report> {
  const found = (await reports()).get(domain) ?? [];
  expect(found, domain).toHaveLength(1);
  return found[0] as Report;
}

const recipients = (): string[] =>
  scene.sink.messages
    .filter(isReport)
    .flatMap(({ rcptTo }) => rcptTo)
    .toSorted();

describe('the reports of a day', () => {
  it('say for each policy how many sessions succeeded and what went wrong, and are not about reports', async () => {
    await given({ without_failures: true, contact: 'tls@contact.example' });
    host.publish(scene.dns, { id: 'a', lines: policyLines('enforce', ['*.sink.test']) }, 'enforce.example');
    await send('enforce.example');
    scene.dns.set('mismatch.example', 'MX', [`10 ${MISNAMED}`]);
    host.publish(scene.dns, { id: 'b', lines: policyLines('enforce', [MISNAMED]) }, 'mismatch.example');
    await send('mismatch.example');
    scene.dns.set('testing.example', 'MX', [`10 ${MISNAMED}`]);
    host.publish(scene.dns, { id: 'c', lines: policyLines('testing', [MISNAMED]) }, 'testing.example');
    await send('testing.example');
    await send('nopolicy.example');
    await sendInPlain('plain.example');
    const domains = [...POLICY_HOSTS, 'nopolicy.example', 'plain.example'];
    for (const domain of [...domains, COLLECTOR]) wish(domain);
    await nextMorning();
    const { body: before } = await scene.api('GET', '/usage', { key: team.key });
    expect(await run()).toEqual({ looked_up: 5, mailed: 5, posted: 0 });

    const submitter = from.slice(2);
    const common = {
      'organization-name': 'rasket.test',
      'date-range': { 'start-datetime': '2030-03-05T00:00:00Z', 'end-datetime': '2030-03-05T23:59:59Z' },
      'contact-info': 'tls@contact.example',
    };
    const sts = (domain: string, mode: string, mx: string) => ({
      'policy-type': 'sts',
      'policy-string': ['version: STSv1', `mode: ${mode}`, 'max_age: 604800', `mx: ${mx}`],
      'policy-domain': domain,
      'mx-host': [mx],
    });
    const sessions = (successful: number, failed: number) => ({
      'total-successful-session-count': successful,
      'total-failure-session-count': failed,
    });
    const mismatch = {
      'result-type': 'certificate-host-mismatch',
      'sending-mta-ip': '127.0.0.1',
      'receiving-mx-hostname': MISNAMED,
      'receiving-ip': '127.0.0.1',
      'failed-session-count': 1,
      'failure-reason-code': 'it is for another name',
    };
    const expected: Record<string, object> = {
      'enforce.example': {
        policy: sts('enforce.example', 'enforce', '*.sink.test'),
        summary: sessions(1, 0),
      },
      'mismatch.example': {
        policy: sts('mismatch.example', 'enforce', MISNAMED),
        summary: sessions(0, 1),
        'failure-details': [mismatch],
      },
      'testing.example': {
        policy: sts('testing.example', 'testing', MISNAMED),
        summary: sessions(0, 1),
        'failure-details': [mismatch],
      },
      'nopolicy.example': {
        policy: { 'policy-type': 'no-policy-found', 'policy-domain': 'nopolicy.example' },
        summary: sessions(1, 0),
      },
      'plain.example': {
        policy: { 'policy-type': 'no-policy-found', 'policy-domain': 'plain.example' },
        summary: sessions(0, 1),
        'failure-details': [
          {
            'result-type': 'starttls-not-supported',
            'sending-mta-ip': '127.0.0.1',
            'receiving-mx-hostname': PLAIN,
            'receiving-ip': PLAIN_ADDRESS,
            'failed-session-count': 1,
          },
        ],
      },
    };
    expect([...(await reports()).keys()].toSorted()).toEqual(domains.toSorted());
    for (const domain of domains) {
      const { json } = await theReport(domain);
      const reportId = `20300305.${domain}@${submitter}`;
      expect(json, domain).toEqual({ ...common, 'report-id': reportId, policies: [expected[domain]] });
    }
    const { body: after } = await scene.api('GET', '/usage', { key: team.key });
    expect(after).toEqual(before);

    // The second day has the retries of the mail that waits, and the deliveries of the reports, which are not counted.
    scene.sink.messages.length = 0;
    await nextMorning();
    await run();
    expect([...(await reports()).keys()]).toEqual(['mismatch.example']);
    const { json } = await theReport('mismatch.example');
    expect(json['report-id']).toBe(`20300306.mismatch.example@${submitter}`);
    const details = json.policies[0]?.['failure-details'] ?? [];
    expect(details).toMatchObject([{ 'result-type': 'certificate-host-mismatch', 'receiving-mx-hostname': MISNAMED }]);
    expect(json.policies[0]?.summary).toEqual(sessions(0, details[0]?.['failed-session-count'] ?? 0));
  });

  it('are signed mails in the form of RFC 8460 that are delivered without TLS too', async () => {
    await given();
    await sendInPlain('plain.example');
    wish('plain.example');
    await nextMorning();
    await run();
    const { message, head, fileName, text } = await theReport('plain.example');
    const submitter = from.slice(2);
    const begin = Date.parse('2030-03-05T00:00:00Z') / 1000;
    const end = Date.parse('2030-03-05T23:59:59Z') / 1000;
    expect(fileName).toBe(`${submitter}!plain.example!${begin}!${end}.json.gz`);
    expect(head.split('\r\n')).toEqual(
      expect.arrayContaining([
        `From: TLS reports <tls-reports@${submitter}>`,
        `To: tls@${COLLECTOR}`,
        `Subject: Report Domain: plain.example Submitter: ${submitter} Report-ID: <20300305.plain.example@${submitter}>`,
        'TLS-Report-Domain: plain.example',
        `TLS-Report-Submitter: ${submitter}`,
        'TLS-Required: No',
        'Auto-Submitted: auto-generated',
        expect.stringMatching(/^Content-Type: multipart\/report; report-type="tlsrpt"; boundary=/),
      ]),
    );
    expect(text).toContain('Sessions that failed: 1');
    const dns = new Resolver();
    dns.setServers([scene.dns.server]);
    const found = await authenticate(message.data, {
      ip: '192.0.2.25',
      helo: 'rasket.test',
      sender: message.mailFrom,
      mta: 'mx.example.net',
      disableBimi: true,
      resolver: (name: string, type: string) => dns.resolve(name, type) as Promise<string[]>,
    });
    const results = found.dkim.results as {
      status: { result: string };
      signingDomain: string;
      signingHeaders: object;
    }[];
    expect(results.length).toBeGreaterThan(0);
    for (const { status: result, signingDomain } of results)
      expect([result.result, signingDomain]).toEqual(['pass', submitter]);
    for (const [, signed] of head.matchAll(/^DKIM-Signature:.*\bh=([^;]*);/gm))
      expect(signed?.replaceAll(' ', '').split(':')).toEqual(
        expect.arrayContaining(['tls-report-domain', 'tls-report-submitter']),
      );

    // A report to a server without TLS arrives.
    scene.dns.set(COLLECTOR, 'MX', [`10 ${PLAIN}`]);
    await sendInPlain('plain.example');
    await nextMorning();
    await run();
    expect(plain.messages.filter(isReport)).toHaveLength(1);
  });

  it('are not counted either if their sending domain enforces TLS', async () => {
    await given();
    await sendInPlain('plain.example');
    wish('plain.example');
    const patched = await scene.api('PATCH', `/domains/${domainId}`, { key: team.key, body: { tls: 'enforced' } });
    expect(patched.status, patched.text).toBe(200);
    await nextMorning();
    await run();
    expect((await theReport('plain.example')).message.tls).toBe(true);
    await scene.restart();
    const { db } = scene.app.world;
    expect(await db.all('select domain from tls_session_counts where domain <> ?', ['plain.example'])).toEqual([]);
  });

  it('are sent only if something failed, unless the operator wants all', async () => {
    await given();
    wish('fine.example');
    await send('fine.example');
    await nextMorning();
    expect(await run()).toEqual({ looked_up: 0, mailed: 0, posted: 0 });
  });

  it('are sent at times that differ by domain, within four hours and not before all nodes have written their counts', async () => {
    await given();
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) {
      wish(`${name}.example`, `mailto:tls@${name}.example`);
      await sendInPlain(`${name}.example`);
      // Another connection for each.
      plain.dropConnections();
    }
    await scene.restart();
    scene.clock.advance(DAY - (scene.clock.now() % DAY) + MINUTE);
    expect((await run())?.looked_up).toBe(0);
    const times: number[] = [];
    for (let quarter = 0; quarter < 17; quarter++) {
      scene.clock.advance(15 * MINUTE);
      times.push((await run())?.mailed ?? 0);
    }
    expect(times.reduce((sum, count) => sum + count)).toBe(6);
    expect(times.filter((count) => count > 0).length).toBeGreaterThan(2);
  });
});

describe('who gets a report', () => {
  it('each address and each https URL of the record gets it once', async () => {
    await given();
    const url = `https://tls.collector.test:${https.port}/v1/tls`;
    wish('plain.example', `mailto:one@${COLLECTOR},${url},mailto:two@${COLLECTOR}`);
    await sendInPlain('plain.example');
    await nextMorning();
    expect(await run()).toEqual({ looked_up: 1, mailed: 2, posted: 1 });
    expect(recipients()).toEqual([`one@${COLLECTOR}`, `two@${COLLECTOR}`]);
    const [visit, ...more] = https.visits;
    expect(more).toEqual([]);
    expect(visit).toMatchObject({ method: 'POST', path: '/v1/tls' });
    expect(visit?.headers['content-type']).toBe('application/tlsrpt+gzip');
    const [mailed] = (await reports()).get('plain.example') ?? [];
    expect(JSON.parse(gunzipSync(visit?.body ?? Buffer.alloc(0)).toString())).toEqual(mailed?.json);
  });

  it('a domain without a record, with two, or with one of another version gets none, and its counts are removed', async () => {
    await given();
    scene.dns.set('_smtp._tls.two.example', 'TXT', [
      `v=TLSRPTv1; rua=mailto:a@${COLLECTOR}`,
      `v=TLSRPTv1; rua=mailto:b@${COLLECTOR}`,
    ]);
    scene.dns.set('_smtp._tls.other.example', 'TXT', [`v=TLSRPTv2; rua=mailto:a@${COLLECTOR}`]);
    for (const domain of ['none.example', 'two.example', 'other.example']) {
      await sendInPlain(domain);
      plain.dropConnections();
    }
    await nextMorning();
    expect(await run()).toEqual({ looked_up: 3, mailed: 0, posted: 0 });
    expect(await countRows()).toEqual({ counts: 0, reports: 3 });
    scene.clock.advance(4 * DAY);
    await run();
    expect(await countRows()).toEqual({ counts: 0, reports: 0 });
  });

  it('a record that DNS does not answer for is looked up again', async () => {
    await given();
    scene.dns.set('_smtp._tls.plain.example', 'TXT', 'SERVFAIL');
    await sendInPlain('plain.example');
    await nextMorning();
    expect(await run()).toEqual({ looked_up: 1, mailed: 0, posted: 0 });
    wish('plain.example');
    expect((await run())?.looked_up).toBe(0);
    scene.clock.advance(15 * MINUTE);
    expect(await run()).toEqual({ looked_up: 1, mailed: 1, posted: 0 });
  });

  it('addresses, hosts and domains that the operator excludes get none', async () => {
    await given({ suppress: [`one@${COLLECTOR}`, 'elsewhere.example', 'tls.collector.test', 'unreported.example'] });
    const url = `https://tls.collector.test:${https.port}/v1/tls`;
    wish('plain.example', `mailto:one@${COLLECTOR},mailto:two@${COLLECTOR},${url}`);
    wish('other.example', 'mailto:a@elsewhere.example');
    wish('unreported.example');
    for (const domain of ['plain.example', 'other.example', 'unreported.example']) {
      await sendInPlain(domain);
      plain.dropConnections();
    }
    await nextMorning();
    expect(await run()).toEqual({ looked_up: 2, mailed: 1, posted: 0 });
    expect(recipients()).toEqual([`two@${COLLECTOR}`]);
    expect(https.visits).toEqual([]);
  });

  it('an https host at a private address is never connected to', async () => {
    await given();
    await using doorbell = await startDoorbell('127.0.0.1');
    scene.dns.set('inside.example', 'A', ['127.0.0.1']);
    wish('plain.example', `https://inside.example:${doorbell.port}/,https://127.0.0.1:${doorbell.port}/`);
    await sendInPlain('plain.example');
    await nextMorning();
    expect((await run())?.posted).toBe(0);
    expect(doorbell.rings()).toBe(0);
  });

  it('nobody, and the log says so once, if no domain can send; nor if reports or all sending are off', async () => {
    await given({}, { hasDomain: false });
    const counts = createSessionCounts(scene.app.world);
    const note = (): void =>
      counts.noteSession({
        domain: 'plain.example',
        host: PLAIN,
        results: [
          {
            policy: { type: 'no-policy-found', strings: [], mxHosts: [] },
            fault: { kind: 'starttls-not-supported' },
          },
        ],
      });
    note();
    await counts.flush();
    wish('plain.example');
    await nextMorning();
    await run();
    await run();
    expect(scene.log.filter((line) => line.includes('no TLS reports are sent'))).toHaveLength(1);
    await team.domain();
    note();
    await counts.flush();
    await nextMorning();
    await setSending(scene.app.world, { isOn: false });
    expect(await run()).toBeUndefined();
    expect(recipients()).toEqual([]);
    await scene.close();
    await Promise.all([host.close(), plain.close(), https.close()]);
    await given({ send: false });
    await sendInPlain('plain.example');
    await scene.restart();
    expect(await countRows()).toEqual({ counts: 0, reports: 0 });
  });
});

describe('the reports of a day are limited', () => {
  /** Counts failures of domains, as if mail had been sent to them. */
  async function countFailures(sessions: Record<string, number>): Promise<void> {
    const counts = createSessionCounts(scene.app.world);
    const policy = { type: 'no-policy-found' as const, strings: [], mxHosts: [] };
    for (const [domain, number] of Object.entries(sessions)) {
      for (let n = 0; n < number; n++)
        counts.noteSession({ domain, host: PLAIN, results: [{ policy, fault: { kind: 'starttls-not-supported' } }] });
    }
    await counts.flush();
  }

  const warnings = (): string[] => scene.log.filter((line) => line.includes('TLS reports beyond the limits of a day'));

  it('to twenty about one organization for targets of others, those with the most failures first', async () => {
    await given();
    for (const victim of ['victim.example', 'another.example']) scene.dns.set(`*.${victim}`, 'MX', [`10 ${MX}`]);
    const names = Array.from({ length: 22 }, (_, n) => `n${n}`);
    await countFailures(Object.fromEntries(names.map((name, n) => [`${name}.attacker.example`, n + 1])));
    const address = (name: string, n: number): string => `tls@${name}.${n % 2 ? 'victim' : 'another'}.example`;
    for (const [n, name] of names.entries()) wish(`${name}.attacker.example`, `mailto:${address(name, n)}`);
    await nextMorning();
    expect(await run()).toEqual({ looked_up: 22, mailed: 20, posted: 0 });
    expect(recipients()).toEqual(names.map(address).slice(2).toSorted());
    expect(warnings()).toHaveLength(1);
  });

  it('to a hundred for a collector of the reports of many organizations', async () => {
    await given();
    const names = Array.from({ length: 102 }, (_, n) => `customer${n}.example`);
    scene.dns.set(COLLECTOR, 'MX', [`10 ${MX}`]);
    for (const name of names) wish(name);
    await countFailures(Object.fromEntries(names.map((name) => [name, 1])));
    await nextMorning();
    expect(await run()).toEqual({ looked_up: 102, mailed: 100, posted: 0 });
    expect(warnings()).toHaveLength(1);
  });

  it('to a hundred for the organization itself', async () => {
    await given();
    const names = Array.from({ length: 101 }, (_, n) => `n${n}.own.example`);
    scene.dns.set('own.example', 'MX', [`10 ${MX}`]);
    for (const name of names) wish(name, 'mailto:tls@own.example');
    await countFailures(Object.fromEntries(names.map((name) => [name, 1])));
    await nextMorning();
    expect(await run()).toEqual({ looked_up: 101, mailed: 100, posted: 0 });
    expect(warnings()).toHaveLength(1);
  });

  it('to a thousand in all, and no more records are looked up then', async () => {
    await given();
    const names = Array.from({ length: 560 }, (_, n) => `n${n}.example`);
    // The hosts have no address, so nothing is posted.
    for (const name of [...names, 'a.example']) wish(name, `https://x.${name}/1,https://x.${name}/2`);
    await countFailures({ ...Object.fromEntries(names.map((name) => [name, 2])), 'a.example': 1 });
    await nextMorning();
    const { looked_up: lookedUp } = (await run()) ?? {};
    expect(lookedUp).toBeGreaterThan(490);
    expect(lookedUp).toBeLessThan(560);
    const { db } = scene.app.world;
    expect(await db.all("select domain from outgoing_tls_reports where target <> ''", [])).toHaveLength(1000);
    expect(await db.all('select outcome from outgoing_tls_reports where domain = ?', ['a.example'])).toEqual([
      { outcome: 'too many reports' },
    ]);
  });
});

describe('a report is sent once', () => {
  it('although the job runs twice at once, and the server restarts', async () => {
    await given();
    const url = `https://tls.collector.test:${https.port}/`;
    wish('plain.example', `mailto:one@${COLLECTOR},mailto:two@${COLLECTOR},${url}`);
    await sendInPlain('plain.example');
    await nextMorning();
    await Promise.all([run(), run(), run()]);
    await scene.restart();
    await run();
    expect(recipients()).toEqual([`one@${COLLECTOR}`, `two@${COLLECTOR}`]);
    expect(https.visits).toHaveLength(1);
    expect(scene.log.filter((line) => line.includes('a TLS report could not be sent'))).toEqual([]);
  });

  it('although the server stops while it is posted', async () => {
    await given();
    status = undefined;
    wish('plain.example', `https://tls.collector.test:${https.port}/`);
    await sendInPlain('plain.example');
    await nextMorning();
    const stopping = new AbortController();
    const posted = new Promise<void>((resolve) => (onPost = resolve));
    const running = run(stopping.signal);
    await posted;
    stopping.abort();
    await running;
    await scene.restart();
    status = 200;
    const inDoubt = (): string[] => scene.log.filter((line) => line.includes('while it posted a TLS report'));
    await run();
    expect(inDoubt()).toEqual([]);
    scene.clock.advance(12 * HOUR);
    await run();
    await run();
    expect(https.visits).toHaveLength(1);
    expect(inDoubt()).toEqual([expect.stringContaining('"domain":"plain.example"')]);
  });

  it('if a host refuses it, five times within a day', async () => {
    await given();
    status = 503;
    wish('plain.example', `https://tls.collector.test:${https.port}/`);
    await sendInPlain('plain.example');
    await nextMorning();
    for (let half = 0; half < 40; half++) {
      expect((await run())?.posted).toBe(0);
      scene.clock.advance(30 * MINUTE);
    }
    expect(https.visits).toHaveLength(5);
  });
});

describe('the counts of a domain', () => {
  it('are bounded for each day, and keep the number of failures', async () => {
    await given({}, { hasDomain: false });
    const counts = createSessionCounts(scene.app.world);
    const policy = { type: 'no-policy-found' as const, strings: [], mxHosts: [] };
    for (let round = 0; round < 3; round++) {
      for (let n = 0; n < 200; n++) {
        const fault = { kind: 'validation-failure' as const, words: `failure ${round * 200 + n}` };
        counts.noteSession({ domain: 'many.example', host: PLAIN, results: [{ policy, fault }] });
      }
      await counts.flush();
    }
    const [row] = await scene.app.world.db.all<{ rows: number; sessions: number }>(
      'select count(*) as rows, sum(sessions) as sessions from tls_session_counts',
    );
    expect([Number(row?.rows), Number(row?.sessions)]).toEqual([101, 600]);
    for (let n = 0; n < 200; n++) {
      const changing = { type: 'sts' as const, strings: [`version ${n}`], mxHosts: [] };
      counts.noteSession({ domain: 'many.example', host: PLAIN, results: [{ policy: changing, fault: undefined }] });
    }
    await counts.flush();
    expect((await countRows()).counts).toBe(130);
  });

  it('are added up by several nodes', async () => {
    await given({}, { hasDomain: false });
    const nodes = [createSessionCounts(scene.app.world), createSessionCounts(scene.app.world)];
    const policy = { type: 'no-policy-found' as const, strings: [], mxHosts: [] };
    for (const node of nodes) {
      for (const domain of ['b.example', 'a.example', 'c.example'])
        node.noteSession({ domain, host: PLAIN, results: [{ policy, fault: undefined }] });
    }
    await Promise.all(nodes.map((node) => node.flush()));
    const rows = await scene.app.world.db.all<{ sessions: number }>('select sessions from tls_session_counts');
    expect(rows.map(({ sessions }) => Number(sessions))).toEqual([2, 2, 2]);
  });
});

async function countRows(): Promise<{ counts: number; reports: number }> {
  const { db } = scene.app.world;
  const count = async (table: string): Promise<number> =>
    Number((await db.get<{ n: number }>(`select count(*) as n from ${table}`))?.n);
  return { counts: await count('tls_session_counts'), reports: await count('outgoing_tls_reports') };
}

it('no report names recipients to a team that the operator has not chosen', async () => {
  await given();
  await scene.team();
  wish('plain.example');
  await sendInPlain('plain.example');
  await nextMorning();
  expect(await run()).toEqual({ looked_up: 0, mailed: 0, posted: 0 });
});
