// `rasket setup` by flags and at a terminal: what it asks, what it writes, and that a second call changes nothing.
import fs from 'node:fs';
import net from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createLookUps } from '../../bin/setup/this-machine.ts';
import { reverseName } from '../../src/protocol/dnsbl.ts';
import { startDns, type DnsRig } from '../rig/dns.ts';
import { freePort } from '../rig/free-port.ts';
import { startUpdateServer } from '../rig/update-server.ts';
import { Desk, type Ended } from './desk.ts';

vi.setConfig({ testTimeout: 180_000 });

let desk: Desk;
let dns: DnsRig;
let env: Record<string, string | undefined>;
beforeEach(async () => {
  desk = new Desk();
  dns = await startDns();
  const closed = { RASKET_SUBMISSION_PORTS: '', RASKET_SUBMISSION_TLS_PORTS: '' };
  env = {
    ...(await desk.database('empty')),
    ...closed,
    RASKET_DNS_SERVERS: dns.server,
    RASKET_INSTANCE_HOST: undefined,
  };
});
afterEach(async () => {
  await desk.clear();
  await dns.close();
});

const FILE = 'etc/rasket.toml';
/** A port that nobody else has, so that nothing of the machine is in the way. */
const OPERATORS = `# Of the operator.
[http]
port = 0 # whichever is free

[delivery]
retry_minutes = [
  1,
  5, # then slower
]
`;
const settings = (): string => fs.readFileSync(desk.at(FILE), 'utf8');

const PLACES = ['--data', 'data', '--config', FILE];
const ANSWERS = {
  '--host': 'mail.example.com',
  '--public-address': '192.0.2.10',
  '--https': 'none',
  '--team': 'Office',
  '--email': 'ada@example.com',
  '--domain': 'example.com',
};
type Answers = Record<string, string>;

const toWords = (answers: Answers): string[] => Object.entries(answers).flat();
const setUp = (answers: Answers = ANSWERS, ...more: string[]): Promise<Ended> =>
  // With --receive, nothing depends on whether port 25 of the machine is free.
  desk.rasket(['setup', ...PLACES, ...toWords(answers), '--receive', ...more], { env });
const lookedAfter = { '--public-address': '192.0.2.10' };

/** Findings are on standard output, so standard error is one line. */
function expectRefused({ code, stderr }: Ended, says: RegExp, wanted = 1): void {
  expect(stderr).toMatch(says);
  expect(stderr).toMatch(/^rasket: [^\n]+\n$/);
  expect(code).toBe(wanted);
}

/** Returns the text without the sequences that move the cursor. */
const plain = (text: string): string => text.replaceAll(/\u001B\[\d*[A-Z]/g, '');

describe('rasket setup with flags', () => {
  it('keeps the operator’s settings, makes team, key, person and domain, and prints the remaining steps', async () => {
    desk.write(FILE, OPERATORS);
    fs.chmodSync(desk.at(FILE), 0o604);
    const { code, stdout, stderr } = await setUp();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(settings()).toBe(`${OPERATORS}\n[instance]\nhost = "mail.example.com"\n\n[https]\nports = []\n`);
    expect(fs.statSync(desk.at(FILE)).mode & 0o777).toBe(0o604);
    expect(fs.readdirSync(desk.at('etc'))).toEqual(['rasket.toml']);
    expect(stdout).toMatch(/^Team {5}office \(/m);
    const key = /^API key {2}(rk_\S+)$/m.exec(stdout)?.[1] ?? '';
    expect(stdout).toMatch(/^Owner {4}ada@example\.com\nPassword \S+$/m);
    expect(stdout).toMatch(/^mail\.example\.com\.\tIN\tA\t192\.0\.2\.10$/m);
    expect(stdout).toContain('mail.example.com has no A record with 192.0.2.10. Publish it.');
    expect(stdout).toMatch(/^send\.example\.com\.\tIN\tMX\t10 mail\.example\.com\.$/m);
    expect(stdout).toContain('rasket serve --data');
    expect(stdout).toMatch(/^error\tdelivery_not_running\t/m);
    expect(stdout.trim().split('\n').slice(-4).join('\n')).toContain(`'Authorization: Bearer ${key}'`);
    expect(stdout).toContain('"to":"ada@example.com"');
  });

  it('saves the key for its own port, because another program may listen at the usual one', async () => {
    desk.write(FILE, OPERATORS);
    const port = await freePort();
    const { stdout } = await setUp({ ...ANSWERS, '--api-port': String(port) });
    expect(stdout).toMatch(new RegExp(`: rasket login --api-key --url http://127\\.0\\.0\\.1:${port}$`, 'm'));
  });

  it('prints a curl command for the first email that is quoted for a shell', async () => {
    desk.write(FILE, OPERATORS);
    const { stdout } = await setUp({ ...ANSWERS, '--email': "o'hara@example.com" });
    const line = stdout.slice(stdout.lastIndexOf('\ncurl ') + 1);
    const words = await desk.sh(`curl() { for word; do last=$word; done; printf '%s' "$last"; }\n${line}`);
    expect(words).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(words.stdout)).toMatchObject({ to: "o'hara@example.com", text: 'It works.' });
  });

  it('changes nothing the second time, and does not show the key again', async () => {
    desk.write(FILE, OPERATORS);
    await setUp();
    const before = settings();
    const domains = await desk.rasket(['teams', 'list', '--data', 'data'], { env });
    for (const answers of [ANSWERS, lookedAfter]) {
      const again = await setUp(answers, '--yes');
      expect(again, again.stderr).toMatchObject({ code: 0 });
      expect(again.stdout).toContain('already has all of this; it is not changed.');
      expect(again.stdout).toContain('Everything was set up already; nothing was changed.');
      expect(again.stdout).not.toMatch(/rk_/);
    }
    expect(settings()).toBe(before);
    expect(await desk.rasket(['teams', 'list', '--data', 'data'], { env })).toEqual(domains);
  });

  it('reads reverse names from DNS, whatever /etc/hosts contains', async () => {
    // Every machine has the loopback addresses in its file of hosts.
    const { lookUpNames } = createLookUps({ servers: [dns.server] });
    for (const address of ['127.0.0.1', '::1']) {
      expect(await lookUpNames(address)).toEqual([]);
      dns.set(reverseName(address), 'PTR', ['Mail.example.com']);
      expect(await lookUpNames(address)).toEqual(['mail.example.com']);
    }
    desk.write(FILE, OPERATORS);
    dns.set(reverseName('192.0.2.10'), 'PTR', ['mail.example.com']);
    expect((await setUp()).stdout).not.toContain('Reverse DNS of');
  });

  it('shows the source of each detected value, and uses it with --yes alone', async () => {
    dns.set('mail.example.com', 'A', ['192.0.2.10']);
    desk.write(FILE, `${OPERATORS}[instance]\nhost = "mail.example.com"\n[https]\nports = []\n`);
    const asked = { '--domain': 'example.com', '--public-address': '192.0.2.10', '--team': 'Office' };
    expectRefused(
      await setUp(asked, '--no-email'),
      /Public host name of this machine: there is no terminal to ask at; .* --host \(found: mail\.example\.com, .*rasket\.toml; --yes accepts/,
      64,
    );
    const { stdout, code } = await setUp(asked, '--no-email', '--yes');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Public host name of this machine: mail\.example\.com {2}\(.*rasket\.toml\)$/m);
    expect(stdout).toMatch(/^HTTPS: .*: none {2}\(.*rasket\.toml\)$/m);
    expect(stdout).not.toContain('has no A record');
    expect(stdout).toContain('Reverse DNS of 192.0.2.10 is absent');
  });

  it('continues after an interruption: settings without a team, a key without a database', async () => {
    desk.write(FILE, `${OPERATORS}\n[instance]\nhost = "mail.example.com"\n\n[https]\nports = []\n`);
    desk.write('data/instance.key', '');
    const { code, stdout, stderr } = await setUp();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('already has all of this; it is not changed.');
    expect(stdout).toMatch(/^API key {2}rk_/m);
    const another = await setUp(lookedAfter, '--yes', '--new-key');
    expect(another.stdout).toMatch(/^API key {2}rk_\S+$/m);
  });

  it.each(['--dry-run', '--print'])('changes nothing with %s', async (flag) => {
    desk.write(FILE, OPERATORS);
    const { code, stdout } = await setUp(ANSWERS, flag);
    expect(code).toBe(0);
    expect(settings()).toBe(OPERATORS);
    expect(fs.existsSync(desk.at('data'))).toBe(false);
    if (flag === '--print')
      expect(stdout).toBe(`${OPERATORS}\n[instance]\nhost = "mail.example.com"\n\n[https]\nports = []\n`);
    else expect(stdout).toMatch(/To be created: the team Office, owned by ada@example\.com; the domain example\.com/);
  });

  it('sets up a reverse proxy with its configuration, and certificates through it', async () => {
    dns.set('mail.example.com', 'A', ['192.0.2.10']);
    desk.write(FILE, OPERATORS.replace('port = 0', 'port = 3999'));
    const acme = { '--https': 'proxy', '--acme-directory': 'https://ca.example.com/directory' };
    const { code, stdout, stderr } = await setUp(
      { ...ANSWERS, ...acme },
      '--agree-to-terms',
      '--acme-contact',
      'ada@example.com',
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(settings()).toContain(
      '[acme]\ndirectory = "https://ca.example.com/directory"\nagree_to_terms = true\ncontact = "ada@example.com"\n',
    );
    expect(settings()).toContain(
      'public_url = "https://mail.example.com"\ntrusted_proxies = [ "127.0.0.1/32", "::1/128" ]\n',
    );
    expect(stdout).toContain('proxy_pass http://127.0.0.1:3999;');
    expect(stdout).toContain('try_files $uri @rasket;');
    expect(stdout).toContain('reverse_proxy 127.0.0.1:3999');
    const again = await setUp(lookedAfter, '--yes');
    expect(again.stdout).toContain('Everything was set up already; nothing was changed.');
  });

  it('orders no certificate for a name that does not lead here, and accepts no terms by itself', async () => {
    desk.write(FILE, OPERATORS);
    const behind = { ...ANSWERS, '--https': 'proxy' };
    expect((await setUp(behind, '--dry-run')).stdout).toContain(
      'none is requested yet, because the host name does not resolve to this machine',
    );
    dns.set('mail.example.com', 'A', ['192.0.2.10']);
    expectRefused(await setUp(behind, '--dry-run'), /--acme-directory \(found: https:\/\/acme-v02/, 64);
    const yes = await setUp(behind, '--yes', '--dry-run');
    expect(yes.stderr).toMatch(
      /^rasket: Whether you agree to the terms of acme-v02\.api\.letsencrypt\.org .*--agree-to-terms or --no-acme\n$/,
    );
    expect(yes.code).toBe(64);
  });

  it('leaves a port to the program that uses it', async () => {
    const other = net.createServer().listen(0, '127.0.0.1');
    await new Promise((done) => other.once('listening', done));
    const { port } = other.address() as net.AddressInfo;
    try {
      desk.write(FILE, OPERATORS.replace('port = 0', `port = ${port}`));
      expectRefused(
        await setUp(),
        new RegExp(`--api-port \\(found: \\d+, the next free one, as ${port} is taken by `),
        64,
      );
      expectRefused(
        await setUp({ ...ANSWERS, '--api-port': String(port) }),
        new RegExp(`^rasket: --api-port: port ${port} is taken by .*process ${process.pid}`),
        64,
      );
    } finally {
      other.close();
    }
  });
});

describe('rasket setup refuses', () => {
  it.each<[flag: string, value: string, says: RegExp]>([
    ['--host', 'mail', /--host: instance\.host is "mail", which other mail servers cannot look up/],
    ['--host', 'a b.example.com', /--host: must be a host name such as mail\.example\.com; got "a b\.example\.com"/],
    ['--host', '192.0.2.1', /--host: must be a host name such as mail\.example\.com; got "192\.0\.2\.1"/],
    ['--public-address', 'mail.example.com', /--public-address: must be an IPv4 or IPv6 address/],
    ['--public-address', '127.0.0.1', /--public-address: .*127\.0\.0\.1 is not/],
    ['--https', 'maybe', /--https: must be own, proxy, none or a port such as 8443/],
    ['--https', '70000', /--https: must be a TCP port from 1 to 65535/],
    ['--api-port', '0', /--api-port: must be a TCP port from 1 to 65535/],
    ['--team', ' ', /--team: A team's name must have 1 to \d+ characters/],
    ['--email', 'ada', /--email or --no-email: .*must be an address/],
    ['--domain', 'nodot', /--domain or --no-domain: /],
  ])('the value of %s %j', async (flag, value, says) => {
    desk.write(FILE, OPERATORS);
    const refused = await setUp({ ...ANSWERS, [flag]: value });
    expect(refused.stderr).toMatch(says);
    expect(refused.stderr).toMatch(/^rasket: [^\n]+\n$/);
    expect(refused.code).toBe(64);
    expect(settings()).toBe(OPERATORS);
    expect(fs.existsSync(desk.at('data'))).toBe(false);
  });

  it.each<[flag: string, value: string, says: RegExp]>([
    ['--acme-directory', 'ftp://ca.example.com', /--acme-directory: must be/],
    ['--acme-contact', 'nobody', /--acme-contact: must be/],
  ])('the value of %s %j', async (flag, value, says) => {
    desk.write(FILE, OPERATORS);
    const acme = { '--https': 'proxy', '--acme-directory': 'https://ca.example.com/directory', '--acme-contact': '' };
    expectRefused(await setUp({ ...ANSWERS, ...acme, [flag]: value }, '--agree-to-terms'), says, 64);
  });

  it('settings in a form it cannot edit, and leaves them unchanged', async () => {
    const inline = 'instance = { host = "old.example.com" }\n[http]\nport = 0\n';
    desk.write(FILE, inline);
    expectRefused(await setUp(), /does not write instance as a \[instance\] section/);
    expect(settings()).toBe(inline);
  });

  it('a run with a variable that overrides the settings file', async () => {
    desk.write(FILE, OPERATORS);
    env = { ...env, RASKET_INSTANCE_HOST: 'other.example.com' };
    expectRefused(await setUp(), /RASKET_INSTANCE_HOST in the environment takes precedence over the settings file/);
  });
});

describe('rasket setup at a terminal', () => {
  it('asks one question after the other, again after an invalid answer, and shows what it will write', async () => {
    desk.write(FILE, OPERATORS);
    const line = `rasket setup ${PLACES.join(' ')} --no-start --receive`;
    const seat = desk.start('script', ['-qec', line, '/dev/null'], { env, isOpen: true });
    const answer = async (question: RegExp, text: string): Promise<void> => {
      await vi.waitFor(() => expect(plain(seat.stdout.slice(seen))).toMatch(question), {
        timeout: 60_000,
        interval: 20,
      });
      seen = seat.stdout.length;
      seat.write(`${text}\n`);
    };
    let seen = 0;
    await answer(/host name of this machine.*: $/, 'mail');
    await answer(/Invalid answer: .*other mail servers[\s\S]*host name of this machine.*: $/, 'mail.example.com');
    await answer(/Public addresses.*: $/, '192.0.2.10');
    await answer(/HTTPS: .*: $/, 'none');
    await answer(/Name of the first team \[My team\]: $/, '');
    await answer(/Your email address \(or none\): $/, 'none');
    await answer(/First domain to send from \(or none\): $/, 'example.com');
    await answer(/Write .*rasket\.toml\? \[Y\/n\] $/, 'y');
    const { code, stdout } = await seat.ended;
    expect(code, stdout).toBe(0);
    expect(stdout).toMatch(/API key {2}rk_/);
    expect(settings()).toContain('[instance]\nhost = "mail.example.com"\n');
  });

  it('changes nothing when the settings are declined or it is interrupted', async () => {
    desk.write(FILE, OPERATORS);
    const line = `rasket setup ${PLACES.join(' ')} ${toWords(ANSWERS).join(' ')} --receive`;
    for (const typed of ['n\n', '\u0003']) {
      const seat = desk.start('script', ['-qec', line, '/dev/null'], { env, isOpen: true });
      await vi.waitFor(() => expect(plain(seat.stdout)).toMatch(/Write .*\? \[Y\/n\] $/), {
        timeout: 60_000,
        interval: 20,
      });
      seat.write(typed);
      const { code, stdout } = await seat.ended;
      expect(code, stdout).toBe(1);
      expect(stdout).toContain('canceled');
      expect(settings()).toBe(OPERATORS);
      expect(fs.existsSync(desk.at('data'))).toBe(false);
    }
  });
});

describe('rasket setup --publish-with', () => {
  const provider = (port: number, secret = Buffer.alloc(32, 9)): string =>
    `${OPERATORS}
[dns_providers.office]
kind = "rfc2136"
zones = ["example.com"]
teams = ["*"]
server = "127.0.0.1"
port = ${port}
key_name = "rasket-key"
key_secret = "${secret.toString('base64')}"
`;

  it('shows the change and makes it in the zone, once', async () => {
    await using server = await startUpdateServer('example.com');
    desk.write(FILE, provider(server.port));
    const before = server.lines();
    const { code, stdout, stderr } = await setUp({ ...ANSWERS, '--publish-with': 'office' });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const shown = [...stdout.matchAll(/^ {2}create (\S+) (\S+) /gm)].map(([, name, type]) => `${name} ${type}`);
    expect(shown).toContain('send.example.com MX');
    expect(shown).toContain('_dmarc.example.com TXT');
    expect(stdout).toContain(`${shown.length} changes were made in example.com.`);
    const made = server.lines().filter((line) => !before.includes(line));
    expect(made).toHaveLength(shown.length);
    expect(stdout).not.toContain('Publish these records');

    const again = await setUp({ ...ANSWERS, '--publish-with': 'office' }, '--yes');
    expect(again, again.stderr).toMatchObject({ code: 0 });
    expect(again.stdout).toContain('0 changes were made in example.com.');
    expect(server.lines().filter((line) => !before.includes(line))).toEqual(made);
  });

  it('reports why a provider refuses the key, and leaves the zone unchanged', async () => {
    await using server = await startUpdateServer('example.com');
    desk.write(FILE, provider(server.port, Buffer.alloc(32, 8)));
    const before = server.lines();
    const ended = await setUp({ ...ANSWERS, '--publish-with': 'office' });
    expect(`${ended.stdout}${ended.stderr}`).toContain('The response of the DNS provider office cannot be trusted.');
    expect(ended.code).not.toBe(0);
    expect(server.lines()).toEqual(before);
  });

  it('refuses a provider that the settings do not have', async () => {
    desk.write(FILE, OPERATORS);
    const ended = await setUp({ ...ANSWERS, '--publish-with': 'nobody' });
    expect(`${ended.stdout}${ended.stderr}`).toMatch(/no DNS provider "nobody"/i);
    expect(ended.code).not.toBe(0);
  });
});
