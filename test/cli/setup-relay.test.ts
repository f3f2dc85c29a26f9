// `rasket setup` and relays: what it finds out about port 25, what it asks and writes, and what it says about SPF.
import fs from 'node:fs';
import net from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startDns, type DnsRig } from '../rig/dns.ts';
import { freePort } from '../rig/free-port.ts';
import { startSink, type Sink } from '../rig/sink.ts';
import { makeCertificate } from '../rig/tls.ts';
import { Desk, type Ended } from './desk.ts';

vi.setConfig({ testTimeout: 180_000 });

const RELAY = 'smtp.relay.test';
const SECRET = 'Correct-horse-battery-staple';
const certificate = makeCertificate({ names: [RELAY] });
const FILE = 'etc/rasket.toml';
const PLACES = ['--data', 'data', '--config', FILE];
const ANSWERS = ['--host', 'mail.example.com', '--public-address', '192.0.2.10', '--https', 'none', '--no-email'];

let desk: Desk;
let dns: DnsRig;
let sink: Sink;
let web: net.Server;
let env: Record<string, string | undefined>;
beforeEach(async () => {
  desk = new Desk();
  dns = await startDns({
    [RELAY]: { A: ['127.0.0.1'] },
    'large.example': { MX: ['10 mx.large.example'] },
    'mx.large.example': { A: ['127.0.0.1'] },
  });
  sink = await startSink({ tls: 'starttls', certificate, auth: { user: 'me', secret: SECRET } });
  web = net.createServer((socket) => socket.destroy());
  await new Promise<void>((done) => web.listen(0, '127.0.0.1', done));
  env = {
    ...(await desk.database('empty')),
    RASKET_SUBMISSION_PORTS: '',
    RASKET_SUBMISSION_TLS_PORTS: '',
    RASKET_DNS_SERVERS: dns.server,
    RASKET_INSTANCE_HOST: undefined,
  };
  desk.write('ca.pem', certificate.cert);
  fs.chmodSync(desk.write('password', `${SECRET}\n`), 0o644);
});
afterEach(async () => {
  await desk.clear();
  await dns.close();
  await sink.close();
  web.close();
});

/** A network where nobody answers at port 25, and others do. */
async function writeBlocked(): Promise<void> {
  const { port } = web.address() as net.AddressInfo;
  desk.write(
    FILE,
    `[http]
port = 0
[delivery]
smtp_port = ${await freePort()}
[network]
mail_allow_private = ["127.0.0.0/8"]
[doctor]
mail_servers = ["large.example"]
clock_source = "http://127.0.0.1:${port}/"
[relays.main]
ca_file = "${desk.at('ca.pem')}"
`,
  );
}
const settings = (): string => fs.readFileSync(desk.at(FILE), 'utf8');
const setUp = (...more: string[]): Promise<Ended> =>
  desk.rasket(['setup', ...PLACES, ...ANSWERS, '--team', 'Office', '--domain', 'example.com', ...more], { env });

describe('rasket setup with port 25 blocked', () => {
  it('says so without a terminal, and sets everything else up', async () => {
    await writeBlocked();
    const { code, stdout, stderr } = await setUp();
    expect(code, stderr).toBe(0);
    expect(stdout).toContain('Outgoing port 25 is blocked');
    expect(stdout).toContain('--relay HOST:PORT');
    expect(stdout).toContain('--relay-password-file FILE (docs/relays.md)');
    expect(settings()).not.toContain('relay = ');
  });

  it('sets up a relay in one step, logs in to it, and adds it to the SPF record', async () => {
    await writeBlocked();
    const relay = ['--relay', `${RELAY}:${sink.port}`, '--relay-user', 'me', '--relay-spf', 'spf.relay.test'];
    const { code, stdout, stderr } = await setUp(...relay, '--relay-password-file', desk.at('password'));
    expect(code, stderr).toBe(0);
    const file = desk.at('password');
    expect(stderr).toContain(
      `rasket: warning: --relay-password-file: ${file} can be used by other accounts (mode 0644)`,
    );
    expect(stderr).toContain(`run: chmod 640 ${file}\n`);
    expect(settings()).toContain('relay = "main"');
    expect(settings()).toContain(`ca_file = "${desk.at('ca.pem')}"\n`);
    expect(settings()).toContain(`password_file = "${desk.at('password')}"`);
    expect(settings()).toContain('spf = "v=spf1 include:spf.relay.test a:{host} ~all"');
    expect(stdout).toMatch(/TXT\t"v=spf1 include:spf\.relay\.test a:mail\.example\.com ~all"/);
    expect(stdout).toContain(`The relay main (${RELAY}) allows this server to send.`);
    expect(stdout).toContain('the record of each sending domain now includes spf.relay.test');
    expect(sink.logins).toEqual(['PLAIN']);
    expect(settings() + stdout).not.toContain(SECRET);

    const again = await setUp('--yes');
    expect(again, again.stderr).toMatchObject({ code: 0 });
    expect(again.stdout).toContain('Relay: all mail is sent through main');
    expect(again.stdout).toContain('already has all of this; it is not changed.');
  });

  it('prints the SPF record again for a domain that existed before the relay', async () => {
    await writeBlocked();
    const before = await setUp();
    expect(before.stdout).toMatch(/TXT\t"v=spf1 a:mail\.example\.com ~all"/);
    const relay = ['--relay', `${RELAY}:${sink.port}`, '--relay-user', 'me', '--relay-spf', 'spf.relay.test'];
    const { code, stdout, stderr } = await setUp(...relay, '--relay-password-file', desk.at('password'));
    expect(code, stderr).toBe(0);
    expect(stdout).toMatch(/TXT\t"v=spf1 include:spf\.relay\.test a:mail\.example\.com ~all"/);
    expect(stdout).not.toMatch(/TXT\t"v=spf1 a:mail\.example\.com ~all"/);
  });

  it('asks for the relay at a terminal, shows no password, and keeps it in a file of its own', async () => {
    await writeBlocked();
    const line = `rasket setup ${[...PLACES, ...ANSWERS].join(' ')} --team Office --no-domain --no-start`;
    const seat = desk.start('script', ['-qec', line, '/dev/null'], { env, isOpen: true });
    let seen = 0;
    const answer = async (question: RegExp, text: string): Promise<void> => {
      const plain = (): string => seat.stdout.slice(seen).replaceAll(/\u001B\[\d*[A-Z]/g, '');
      await vi.waitFor(() => expect(plain()).toMatch(question), { timeout: 60_000, interval: 20 });
      seen = seat.stdout.length;
      seat.write(`${text}\n`);
    };
    await answer(/Outgoing port 25 is blocked[\s\S]*Relay, as host:port \(or none\): $/, `${RELAY}:${sink.port}`);
    await answer(/User name at the relay \(or none\): $/, 'me');
    await answer(/Password at the relay \(not shown\): $/, SECRET);
    await answer(/SPF records for the relay[\s\S]*: $/, 'none');
    await answer(/Write .*rasket\.toml\? \[Y\/n\] $/, 'y');
    const { code, stdout } = await seat.ended;
    expect(code, stdout).toBe(0);
    expect(stdout).not.toContain(SECRET);
    const file = desk.at('etc/relay-main.password');
    expect(fs.readFileSync(file, 'utf8')).toBe(`${SECRET}\n`);
    expect(fs.statSync(file).mode & 0o007).toBe(0);
    expect(settings()).toContain(`password_file = "${file}"`);
    expect(stdout).toContain('allows this server to send');
    expect(stdout).toContain('recipients receive your mail from the addresses of the relay');
  });

  it('takes the certificate of a private authority, and refuses unreadable files before it writes', async () => {
    await writeBlocked();
    desk.write(FILE, settings().replace(/^ca_file = .*$/m, ''));
    const before = settings();
    const relay = ['--relay', `${RELAY}:${sink.port}`, '--relay-user', 'me', '--relay-ca-file', desk.at('ca.pem')];
    const missing = await setUp(...relay, '--relay-password-file', desk.at('none'));
    expect(missing.code).toBe(64);
    expect(missing.stderr).toContain(`--relay-password-file: ${desk.at('none')} cannot be read (ENOENT)`);
    expect(settings()).toBe(before);
    const { code, stdout, stderr } = await setUp(...relay, '--relay-password-file', desk.at('password'));
    expect(code, stderr).toBe(0);
    expect(settings()).toContain(`ca_file = "${desk.at('ca.pem')}"`);
    expect(stdout).toContain('allows this server to send');
  });

  it('refuses relay options without a relay', async () => {
    await writeBlocked();
    const { code, stderr } = await setUp('--relay-user', 'me');
    expect(code).toBe(64);
    expect(stderr).toContain('--relay-user needs --relay HOST:PORT');
  });
});
