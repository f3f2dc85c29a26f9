// rasket doctor on the machine of an installation: its server looks outside, or the command where none runs
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { reverseName } from '../../src/protocol/dnsbl.ts';
import { Screen } from '../console/screen.ts';
import { startDns, type DnsRig } from '../rig/dns.ts';
import { freePort } from '../rig/free-port.ts';
import { Desk } from './desk.ts';

vi.setConfig({ testTimeout: 180_000 });

const ADDRESS = '127.7.7.7';
const HOST = 'mail.rasket.test';
const desk = new Desk();
let dns: DnsRig;
let env: Record<string, string | undefined>;
beforeAll(async () => {
  dns = await startDns({ '*': { MX: ['10 mx.sink.test'] }, 'mx.sink.test': { A: ['127.66.0.1'] } });
  dns.set(HOST, 'A', [ADDRESS]);
  dns.set(HOST, 'AAAA', ['::1']);
  for (const address of [ADDRESS, '::1']) dns.set(reverseName(address), 'PTR', [HOST]);
  dns.set('2.0.0.127.list.test', 'A', ['127.0.0.2']);
  const regions = ['us-east-1', 'eu-west-1', 'sa-east-1', 'ap-northeast-1'];
  desk.write(
    'rasket.toml',
    [
      '[http]\nport = 0\n[smtp]\nhost = "127.0.0.1"\n[submission]\nports = []\ntls_ports = []\n[receiving]\nports = []',
      `[dns]\nservers = ["${dns.server}"]\n[network]\nmail_allow_private = ["127.0.0.0/8", "::1/128"]`,
      '[doctor]\nmail_servers = ["large.example"]\ndnsbl_zones = ["list.test"]\ndisk_free_mb = 1\nseconds = 60\nresolver_ms = 60000\nevent_loop_ms = 60000',
      ...regions.map((name) => `[regions.${name}]\nsource_v4 = "${ADDRESS}"\nsource_v6 = "::1"`),
    ].join('\n'),
  );
  env = {
    ...(await desk.database()),
    RASKET_DATA: desk.at('data'),
    RASKET_CONFIG: desk.at('rasket.toml'),
    RASKET_DOCTOR_CHECKS: undefined,
    RASKET_API_KEY: undefined,
    RASKET_URL: undefined,
  };
  const made = await desk.rasket(['init', '--data', 'data', '--json'], { env });
  expect(made.code, made.stderr).toBe(0);
  env.KEY = (JSON.parse(made.stdout) as { api_key: string }).api_key;
});
// A server that a failed test left running would fail the tests after it.
afterEach(() => desk.endAll());
afterAll(async () => {
  await desk.clear();
  await dns.close();
});

interface Examined {
  checks: { name: string; state: string; summary: string }[];
  findings: { code: string }[];
  not_asked: string[];
}

async function doctor(expected: number, more = env): Promise<Examined> {
  const ended = await desk.run(['doctor', '--json'], { env: more });
  expect(ended.code, ended.stdout + ended.stderr).toBe(expected);
  return JSON.parse(ended.stdout) as Examined;
}

const findState = ({ checks }: Examined, name: string): string | undefined =>
  checks.find((check) => check.name === name)?.state;

it('rasket doctor asks the server of this machine at its own port, wherever its public name leads', async () => {
  const more = { ...env, RASKET_HTTP_PUBLIC_URL: 'https://nowhere.rasket.test', RASKET_DOCTOR_CHECKS: 'files' };
  const server = await desk.serve(['serve', '--data', 'data'], { env: more });
  const asked = await doctor(0, more);
  expect(asked.not_asked.join()).toContain('https://nowhere.rasket.test cannot be reached from this machine');
  expect(asked.not_asked.join()).not.toContain('did not run the checks');
  expect(findState(asked, 'files')).toBe('passed');
  await server.stop();
});

it('a running server examines its machine without a key, and a finding is shown everywhere until it is fixed', async () => {
  const server = await desk.serve(['serve', '--data', 'data'], { env });
  const well = await doctor(0);
  expect(well.findings).toEqual([]);
  for (const check of ['reverse_dns', 'dnsbl', 'files', 'event_loop']) expect(findState(well, check)).toBe('passed');
  expect(findState(well, 'port25'), 'nothing leads out here').toBe('unknown');

  dns.set('7.7.7.127.list.test', 'A', ['127.0.0.4']);
  expect((await doctor(1)).findings).toMatchObject([{ code: 'address_listed', severity: 'error' }]);
  const asked = await desk.run(['doctor'], { env });
  expect(asked.stdout).toMatch(/dnsbl\s+(✗ )?failed\s+127\.7\.7\.7 is on list\.test \(127\.0\.0\.4\)/);
  expect(asked.stdout).toMatch(/reverse_dns\s+(✓ )?passed\s/);
  expect(asked.stdout).toContain('address_listed');

  const key = { ...env, RASKET_URL: server.url, RASKET_API_KEY: env.KEY };
  const ready = await desk.rasket(['ready'], { env: key });
  expect(ready).toMatchObject({ code: 0, stdout: expect.stringMatching(/error\s+address_listed/) });
  await using seat = await Screen.take({ url: server.url, key: env.KEY ?? '', columns: 120, rows: 30 });
  await seat.sees(/An address that mail is sent from is on a blocklist/);

  const made = await desk.rasket(['operators', 'create', 'Ada', '--data', 'data', '--json'], { env });
  const operator = {
    ...key,
    RASKET_API_KEY: (JSON.parse(made.stdout) as { token: string }).token,
    RASKET_DATA: desk.at('none'),
  };
  expect((await doctor(1, operator)).findings, 'from another machine').toMatchObject([{ code: 'address_listed' }]);
  const all = await desk.rasket(['findings', 'examine'], { env: operator });
  expect(all.stdout + all.stderr).toMatch(/checks ran\. Unknown: port25\. There is 1 finding\./);

  dns.set('7.7.7.127.list.test', 'A', 'NXDOMAIN');
  expect((await doctor(0)).findings).toEqual([]);
  await server.stop();
});

it('a server is examined before its public address leads to it, and no credential is sent to that address', async () => {
  const seen: (string | undefined)[] = [];
  const elsewhere = createServer((request, response) => {
    seen.push(request.headers.authorization);
    response.writeHead(404).end();
  });
  await once(elsewhere.listen(0, '127.0.0.1'), 'listening');
  const { port } = elsewhere.address() as AddressInfo;
  const parked = { ...env, RASKET_HTTP_PUBLIC_URL: `http://127.0.0.1:${port}` };
  const server = await desk.serve(['serve', '--data', 'data'], { env: parked });
  dns.set('7.7.7.127.list.test', 'A', ['127.0.0.4']);
  const ended = await desk.run(['doctor', '--json'], { env: parked });
  const { findings, not_asked: notAsked } = JSON.parse(ended.stdout) as Examined;
  expect(findings).toMatchObject([{ code: 'address_listed' }]);
  expect(notAsked.join()).not.toContain('did not run the checks again');
  expect(seen.length).toBeGreaterThan(0);
  expect(seen.filter((credential) => credential !== undefined)).toEqual([]);
  dns.set('7.7.7.127.list.test', 'A', 'NXDOMAIN');
  await server.stop();
  elsewhere.close();
});

it('a self-signed certificate that the settings ask for is a warning, not a server that does not answer', async () => {
  const port = await freePort();
  const https = { ...env, RASKET_HTTPS_PORTS: `${port}`, RASKET_HTTP_PUBLIC_URL: `https://127.0.0.1:${port}` };
  const server = await desk.serve(['serve', '--data', 'data'], { env: https });
  const ended = await desk.run(['doctor', '--json'], {
    env: { ...https, RASKET_URL: https.RASKET_HTTP_PUBLIC_URL, RASKET_API_KEY: env.KEY },
  });
  expect(ended.code, ended.stdout).toBe(0);
  const { not_asked: notAsked, findings, ...told } = JSON.parse(ended.stdout) as Examined & { key_state: string };
  expect(told.key_state).toBe('accepted');
  expect(notAsked.join()).toContain('has the self-signed certificate that the settings ask for');
  expect(findings).toMatchObject([{ code: 'certificate_self_signed', severity: 'warning' }]);
  await server.stop();
});

it('rasket doctor says when no server runs, and then examines by itself', async () => {
  dns.set(reverseName(ADDRESS), 'PTR', 'NXDOMAIN');
  const stopped = await doctor(1);
  expect(stopped.findings.map(({ code }) => code)).toEqual([
    'delivery_not_running',
    'reverse_dns_wrong',
    'certificate_self_signed',
  ]);
  expect(stopped.not_asked.join('\n')).toMatch(/^No server is running, so this command has run the checks itself/m);
  expect([findState(stopped, 'files'), findState(stopped, 'certificates')]).toEqual(['unknown', 'skipped']);
  dns.set(reverseName(ADDRESS), 'PTR', [HOST]);
  expect((await doctor(1)).findings.map(({ code }) => code)).toEqual([
    'delivery_not_running',
    'certificate_self_signed',
  ]);
});

it('rasket doctor knows a backup once it is complete', async () => {
  const made = await desk.rasket(['backup', desk.at('copy'), '--data', 'data'], { env });
  const isPostgres = env.RASKET_DATABASE_DRIVER === 'pg';
  expect(made.code, made.stderr).toBe(isPostgres ? 1 : 0);
  const { checks } = await doctor(1);
  const says = isPostgres ? /^There is no backup yet/ : /^The last backup was made at 20/;
  const known = { state: 'passed', summary: expect.stringMatching(says) };
  expect(checks.find(({ name }) => name === 'backups')).toMatchObject(known);
});

it('the help of rasket doctor lists its exit codes', async () => {
  const help = (await desk.rasket(['doctor', '--help'])).stdout.replaceAll(/\s+/g, ' ');
  expect(help).toContain('Exit codes: 0 nothing is wrong, or there are only warnings 1 something does not work');
});
