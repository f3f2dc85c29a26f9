import fs from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startDns, type DnsRig } from '../rig/dns.ts';
import { startSink, type Sink, type SinkOptions } from '../rig/sink.ts';
import { makeCertificate } from '../rig/tls.ts';
import { Desk, type Ended } from './desk.ts';

const RELAY = 'smtp.relay.test';
const SECRET = 'Correct-horse-battery-staple';
const certificate = makeCertificate({ names: [RELAY] });

let desk: Desk;
let dns: DnsRig;
let sink: Sink;
beforeEach(async () => {
  desk = new Desk();
  dns = await startDns({ [RELAY]: { A: ['127.0.0.1'] } });
});
afterEach(async () => {
  await desk.clear();
  await dns.close();
  await sink.close();
});

async function given(options: SinkOptions = {}, lines = ''): Promise<void> {
  sink = await startSink({ tls: 'starttls', certificate, auth: { user: 'me@x.example', secret: SECRET }, ...options });
  desk.write('ca.pem', certificate.cert);
  desk.write('password', `${SECRET}\n`);
  desk.write(
    'rasket.toml',
    `[instance]
host = "mail.example.com"
[dns]
servers = ["${dns.server}"]
[delivery]
relay = "ses"
[regions.eu-west-1]
relay = "direct"
[relays.ses]
host = "${RELAY}"
port = ${sink.port}
ca_file = "${desk.at('ca.pem')}"
user = "me@x.example"
password_file = "${desk.at('password')}"
domains = ["shop.example"]
${lines}
[relays.spare]
host = "spare.relay.test"
tls = "implicit"
port = 465
`,
  );
}

const rasket = (...words: string[]): Promise<Ended> =>
  desk.rasket(['relays', ...words, '--data', desk.at('installed'), '--config', desk.at('rasket.toml')]);

describe('rasket relays list', () => {
  it('shows the relays and the mail that uses them, and no secret', async () => {
    await given();
    const { code, stdout } = await rasket('list', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject([
      {
        name: 'ses',
        host: RELAY,
        tls: 'starttls',
        authentication: 'auto',
        user: 'me@x.example',
        used_for: ['all mail', 'shop.example'],
      },
      { name: 'spare', port: 465, authentication: 'none', user: null, used_for: [] },
    ]);
    expect(stdout).not.toContain(SECRET);
    const table = await rasket('list');
    expect(table.stdout).toContain('auto as me@x.example');
    expect(table.stdout).toContain('nothing');
  });
});

describe('rasket relays test', () => {
  it('logs in, prints the dialogue without secrets, and sends nothing', async () => {
    await given();
    const { code, stdout } = await rasket('test', 'ses');
    expect(code).toBe(0);
    expect(stdout).toContain('C: EHLO mail.rasket.test');
    expect(stdout).toContain('C: AUTH PLAIN ***');
    expect(stdout).toContain('S: 235 2.7.0 Authentication successful');
    expect(stdout).toContain('The relay ses allows this server to send, logged in as me@x.example.');
    expect(stdout).not.toContain(SECRET);
    expect(stdout).not.toContain(Buffer.from(`\0me@x.example\0${SECRET}`).toString('base64'));
    expect(sink.counts).toMatchObject({ auth: 1, quit: 1, mail: 0 });
  });

  it('reports in the words of the relay that the login is refused', async () => {
    await given({ auth: { user: 'me@x.example', secret: 'Another' } });
    const { code, stdout, stderr } = await rasket('test', 'ses');
    expect(code).toBe(1);
    expect(stdout).toContain('S: 535 5.7.8 Authentication failed');
    expect(stderr).toMatch(
      /^rasket: the relay ses cannot be used: .*login by PLAIN: 535 5\.7\.8 Authentication failed\n$/,
    );
    expect(stdout + stderr).not.toContain(SECRET);
  });

  it('prints the dialogue with each address it tried', async () => {
    await given({ alsoAt: ['127.0.0.2'], greeting: '421 4.3.2 Busy' });
    dns.set(RELAY, 'A', ['127.0.0.1', '127.0.0.2']);
    const { code, stdout } = await rasket('test', 'ses');
    expect(code).toBe(1);
    for (const address of ['127.0.0.1', '127.0.0.2'])
      expect(stdout).toContain(`Connection to ${address}:\nS: 421 4.3.2 Busy\n`);
    const { stdout: json } = await rasket('test', 'ses', '--json');
    expect(
      (JSON.parse(json) as { dialogues: { address: string }[] }).dialogues.map(({ address }) => address).sort(),
    ).toEqual(['127.0.0.1', '127.0.0.2']);
  });

  it('suggests the other mode of TLS when the server is silent before TLS or speaks before it', async () => {
    await given({ greeting: 'drop' });
    const silent = await rasket('test', 'ses');
    expect(silent.code).toBe(1);
    expect(silent.stderr).toContain('no greeting came; if the server speaks TLS from the first byte');
    expect(silent.stderr).toContain('set relays.ses.tls = "implicit"');
    await sink.close();
    await given();
    desk.write(
      'rasket.toml',
      fs.readFileSync(desk.at('rasket.toml'), 'utf8').replace(/^user = /m, 'tls = "implicit"\nuser = '),
    );
    const plain = await rasket('test', 'ses');
    expect(plain.code).toBe(1);
    expect(plain.stderr).toContain('if the server begins TLS by STARTTLS');
    expect(plain.stderr).toContain('set relays.ses.tls = "starttls"');
  });

  it('reports a certificate for another name, and does not log in', async () => {
    const other = makeCertificate({ names: ['other.example'] });
    await given({ certificate: other });
    desk.write('ca.pem', other.cert);
    const { code, stderr } = await rasket('test', 'ses');
    expect(code).toBe(1);
    expect(stderr).toMatch(/certificate that is not valid for it \(it is for another name\)/);
    expect(sink.counts.auth).toBe(0);
  });

  it('names the setting for the authority of a private relay', async () => {
    await given();
    desk.write('rasket.toml', fs.readFileSync(desk.at('rasket.toml'), 'utf8').replace(/^ca_file = .*$/m, ''));
    const { code, stderr } = await rasket('test', 'ses');
    expect(code).toBe(1);
    expect(stderr).toMatch(/\(it is self-signed\); for a private relay, its ca_file names the certificate/);
    expect(sink.counts.auth).toBe(0);
  });

  it('lists the known relays for an unknown one', async () => {
    await given();
    const { code, stderr } = await rasket('test', 'sess');
    expect(code).toBe(66);
    expect(stderr).toContain('the settings have no relay sess with a host; the relays are ses, spare');
  });

  it('prints JSON for a program', async () => {
    await given();
    const { stdout } = await rasket('test', 'ses', '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      name: 'ses',
      is_good: true,
      address: '127.0.0.1',
      tls: { version: 'TLSv1.3' },
      faults: [],
    });
  });
});
