// rasket config check --> the files that a configuration names, read as the server would
import fs from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeCertificate } from '../rig/tls.ts';
import { Desk } from './desk.ts';

let desk: Desk;
beforeEach(() => void (desk = new Desk()));
afterEach(() => desk.clear());

const HOST = '[instance]\nhost = "mail.example.com"\n';
const check = (toml: string, env: Record<string, string> = {}) => {
  desk.write('rasket.toml', HOST + toml);
  return desk.rasket(['config', 'check', 'rasket.toml'], { env });
};

describe('rasket config check', () => {
  it('reports a missing certificate with the line that names it', async () => {
    const ended = await check('\n[tls]\n# from certbot\ncertificate_file = "none.pem"\n');
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(ended.stderr).toBe(
      `rasket: rasket.toml:6: ${desk.at('installed/none.pem')} (tls.certificate_file) cannot be read (ENOENT); there is no such file; paths are relative to the data folder\n`,
    );
  });

  it('checks that certificate and key can be read and belong together', async () => {
    const one = makeCertificate();
    const other = makeCertificate();
    desk.write('cert.pem', one.cert);
    desk.write('key.pem', one.key);
    desk.write('other.pem', other.key);
    const named = (key: string): string =>
      `tls = { certificate_file = "${desk.at('cert.pem')}", key_file = "${desk.at(key)}" }\n`;
    desk.write('fits.toml', named('key.pem') + HOST);
    expect(await desk.rasket(['config', 'check', 'fits.toml'])).toMatchObject({
      code: 0,
      stdout: 'fits.toml is valid.\n',
    });
    desk.write('strange.toml', named('other.pem') + HOST);
    const ended = await desk.rasket(['config', 'check', 'strange.toml']);
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(ended.stderr).toMatch(
      /^rasket: strange\.toml:1: \S+other\.pem \(tls\.key_file\) is not the key of the first/,
    );
  });

  it('reports faulty files together with faulty settings', async () => {
    const ended = await check('[http]\nport = "3170"\n[tls]\ncertificate_file = "none.pem"\n[log]\nlevl = "info"\n');
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(ended.stderr).toMatch(/http\.port/);
    expect(ended.stderr).toMatch(/log\.levl is not a setting; did you mean log\.level\?/);
    expect(ended.stderr).toMatch(/rasket\.toml:6: \S+none\.pem \(tls\.certificate_file\) cannot be read \(ENOENT\)/);
  });

  it('warns about a certificate for another name, and about a public address with another name', async () => {
    const { cert, key } = makeCertificate({ names: ['www.example.com'] });
    desk.write('own.pem', key + cert);
    const ended = await check(
      `[http]\npublic_url = "https://old.example.com"\n[tls]\ncertificate_file = "${desk.at('own.pem')}"\n`,
    );
    expect(ended).toMatchObject({ code: 0, stdout: 'rasket.toml is valid.\n' });
    expect(ended.stderr.trim().split('\n')).toEqual([
      `rasket: warning: rasket.toml:6: ${desk.at('own.pem')} (tls.certificate_file) is for www.example.com, not for mail.rasket.test (instance.host)`,
      'rasket: warning: rasket.toml:4: http.public_url names old.example.com, and instance.host is mail.rasket.test; that is right if both names lead to this server',
    ]);
  });

  it.each([
    ['192.0.2.53', false],
    ['203.0.113.53:5353', false],
    ['9.9.9.9', true],
    ['[2620:fe::fe]:53', true],
    ['127.0.0.1:53', false],
    ['[::1]:53', false],
    ['10.0.0.53', false],
    ['fd00::53', false],
  ])('warns about a resolver of DNSSEC at %s if that is a public address', async (server, isWarned) => {
    const { code, stderr } = await check(`[dns]\ndnssec_resolver = "${server}"\n`);
    expect(code).toBe(0);
    if (isWarned) expect(stderr).toContain(`rasket.toml:4: dns.dnssec_resolver (${server}) is neither on this machine`);
    else expect(stderr).toBe('');
  });

  it('reports every faulty file at once, each where it is named', async () => {
    desk.write('installed/dns/half.key', 'key "x" {');
    desk.write('installed/dns/token', 'two words\n');
    const provider = (name: string, lines: string): string =>
      `[dns_providers.${name}]\nteams = ["*"]\nzones = ["example.com"]\n${lines}`;
    const ended = await check(
      provider('own', 'kind = "rfc2136"\nserver = "127.0.0.1"\nkey_name = "k"\nkey_secret_file = "dns/half.key"\n') +
        provider('cloud', 'kind = "cloudflare"\ntoken_file = "dns/token"\n') +
        provider('other', 'kind = "cloudflare"\ntoken_file = "dns/none"\n') +
        '[tls]\nkey_file = "none.key"\n',
      { RASKET_TLS_CERTIFICATE_FILE: 'none.pem' },
    );
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(ended.stderr.trim().split('\n')).toEqual([
      expect.stringMatching(
        /^rasket: RASKET_TLS_CERTIFICATE_FILE: \S+none\.pem \(tls\.certificate_file\) cannot be read/,
      ),
      expect.stringMatching(/^rasket: rasket\.toml:21: \S+none\.key \(tls\.key_file\) cannot be read \(ENOENT\)/),
      expect.stringMatching(
        /^rasket: rasket\.toml:9: \S+half\.key \(dns_providers\.own\.key_secret_file\) must contain only/,
      ),
      expect.stringMatching(
        /^rasket: rasket\.toml:14: \S+token \(dns_providers\.cloud\.token_file\) must contain only an API token/,
      ),
      expect.stringMatching(/^rasket: rasket\.toml:19: \S+none \(dns_providers\.other\.token_file\) cannot be read/),
    ]);
    expect(ended.stderr).not.toContain('two words');
  });

  it('reads the files of relays, and quotes no secret', async () => {
    fs.chmodSync(desk.write('installed/relay/password', 'Correct-horse\n'), 0o600);
    desk.write('installed/relay/empty', '\n');
    const relay = (name: string, lines: string): string =>
      `[relays.${name}]\nhost = "smtp.example.com"\nuser = "me"\ndomains = ["${name}.example"]\n${lines}`;
    const ended = await check(
      relay('good', 'password_file = "relay/password"\n') +
        relay('bare', 'password_file = "relay/empty"\nca_file = "relay/password"\n') +
        relay('lost', 'token_file = "relay/none"\n') +
        '[relays.unused]\npassword_file = "relay/none"\n',
    );
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(ended.stderr.trim().split('\n')).toEqual([
      expect.stringMatching(/password \(relays\.bare\.ca_file\) contains no PEM certificate$/),
      expect.stringMatching(/empty \(relays\.bare\.password_file\) has no secret on its first line$/),
      expect.stringMatching(/none \(relays\.lost\.token_file\) cannot be read \(ENOENT\)/),
    ]);
    expect(ended.stderr).not.toContain('Correct-horse');
  });

  it('warns about secrets and settings that other accounts can read or change, with the command to fix it', async () => {
    const relay = (name: string, lines: string): string =>
      `[relays.${name}]\nhost = "smtp.example.com"\nuser = "me"\ndomains = ["${name}.example"]\n${lines}`;
    for (const name of ['password', 'token', 'closed']) desk.write(`installed/relay/${name}`, 'Correct-horse\n');
    fs.chmodSync(desk.at('installed/relay/password'), 0o644);
    fs.chmodSync(desk.at('installed/relay/token'), 0o604);
    fs.chmodSync(desk.at('installed/relay/closed'), 0o640);
    const toml =
      relay('one', 'password_file = "relay/password"\n') +
      relay('two', 'token_file = "relay/token"\n') +
      relay('three', 'password_file = "relay/closed"\n');
    const ended = await check(toml);
    expect(ended).toMatchObject({ code: 0, stdout: 'rasket.toml is valid.\n' });
    const password = desk.at('installed/relay/password');
    const token = desk.at('installed/relay/token');
    expect(ended.stderr.trim().split('\n')).toEqual([
      `rasket: warning: rasket.toml:7: ${password} (relays.one.password_file) can be used by other accounts (mode 0644); run: chmod 640 ${password}`,
      `rasket: warning: rasket.toml:12: ${token} (relays.two.token_file) can be used by other accounts (mode 0604); run: chmod 600 ${token}`,
    ]);
    const inFile = relay('one', 'password = "Correct-horse"\n');
    expect((await check(inFile)).stderr).toBe(
      'rasket: warning: rasket.toml can be used by other accounts (mode 0644); run: chmod 640 rasket.toml\n',
    );
    fs.chmodSync(desk.at('rasket.toml'), 0o640);
    expect((await check(inFile)).stderr).toBe('');
    fs.chmodSync(desk.at('rasket.toml'), 0o646);
    const open = await check('');
    expect(open).toMatchObject({ code: 0, stdout: 'rasket.toml is valid.\n' });
    expect(open.stderr).toContain('(mode 0646); run: chmod 640 rasket.toml');
    fs.chmodSync(desk.at('rasket.toml'), 0o644);
    expect((await check('')).stderr).toBe('');
  });

  it('warns about a port that expects the other mode of TLS', async () => {
    const relay = (name: string, lines: string): string =>
      `[relays.${name}]\nhost = "smtp.example.com"\ndomains = ["${name}.example"]\n${lines}`;
    const ended = await check(
      relay('one', 'port = 465\n') +
        relay('two', 'port = 587\ntls = "implicit"\n') +
        relay('three', 'port = 2465\ntls = "implicit"\n') +
        relay('four', 'port = 465\ntls = "implicit"\n'),
    );
    expect(ended).toMatchObject({ code: 0, stdout: 'rasket.toml is valid.\n' });
    expect(ended.stderr.trim().split('\n')).toEqual([
      'rasket: warning: rasket.toml:6: relays.one has port 465 with tls = "starttls"; servers at this port expect tls = "implicit"',
      'rasket: warning: rasket.toml:11: relays.two has port 587 with tls = "implicit"; servers at this port expect tls = "starttls"',
    ]);
  });

  it('warns about an expired certificate, which stops no server', async () => {
    const { cert, key } = makeCertificate({
      names: ['mail.rasket.test'],
      notBefore: new Date('2001-01-01T00:00:00Z'),
      notAfter: new Date('2002-01-01T00:00:00Z'),
    });
    desk.write('both.pem', key + cert);
    const ended = await check(`[tls]\ncertificate_file = "${desk.at('both.pem')}"\n`);
    expect(ended).toMatchObject({ code: 0, stdout: 'rasket.toml is valid.\n' });
    expect(ended.stderr).toMatch(
      /^rasket: warning: rasket\.toml:4: \S+both\.pem \(tls\.certificate_file\) expired on 2002-01-01; renew it\n$/,
    );
  });
});
