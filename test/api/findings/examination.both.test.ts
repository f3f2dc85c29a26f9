// POST /operator/findings/examination: what others see of a machine; each check with its fault planted, silent without
// it, and when it is unknown
import net from 'node:net';
import os from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  newInstanceKey,
  openSecrets,
  readInstanceKeys,
  secretsFrom,
  writeInstanceKeys,
} from '../../../src/platform/secrets/index.ts';
import { reverseName } from '../../../src/protocol/dnsbl.ts';
import { writeMachinePass } from '../../../src/tenancy/operators/index.ts';
import { driver } from '../../rig/database.ts';
import { ADDRESS, DAY_MS, HOST, startMachine, type Machine } from './examined.ts';

let machine: Machine;
/** An examination takes its full time limit if something never answers; this machine has a shorter one. */
let hasty: Machine;
beforeAll(async () => {
  machine = await startMachine();
  hasty = await startMachine({ doctor: { seconds: 8 } });
});
afterAll(async () => {
  await machine[Symbol.asyncDispose]();
  await hasty[Symbol.asyncDispose]();
});

const BACK = reverseName(ADDRESS);

/** Returns one check, and its findings. */
async function look(name: string, of = machine) {
  const { checks, findings } = await of.examine();
  return { state: checks[name]?.state, summary: checks[name]?.summary, findings };
}

describe('an examination of a healthy machine', () => {
  it('passes or skips every check, finds nothing, and is also returned by GET', async () => {
    const { checks, findings } = await machine.examine();
    expect(findings).toEqual([]);
    expect(Object.fromEntries(Object.values(checks).map(({ name, state }) => [name, state]))).toEqual({
      port25: 'passed',
      relays: 'skipped',
      secrets: 'passed',
      reverse_dns: 'passed',
      helo: 'passed',
      dnsbl: 'passed',
      resolver: 'passed',
      clock: 'passed',
      disk: 'passed',
      files: 'passed',
      event_loop: 'skipped',
      certificates: 'passed',
      caa: 'skipped',
      policy_hosts: 'skipped',
      backups: 'passed',
      database: driver === 'pg' ? 'passed' : 'skipped',
    });
    if (driver === 'pg')
      expect(checks['database']?.summary).toMatch(
        /^PostgreSQL \d\S*.* at 127\.0\.0\.1:\d+ is the primary\. No standby is connected to it\. An acknowledged message is on the disk of the primary only \(synchronous_standby_names is empty\)\.$/,
      );
    expect(checks['reverse_dns']).toEqual({
      name: 'reverse_dns',
      machine: os.hostname(),
      state: 'passed',
      summary: `${ADDRESS} is ${HOST}, which resolves back to it. ::1 is ${HOST}, which resolves back to it.`,
      checked_at: new Date(machine.scene.clock.now()).toISOString(),
    });
    expect(checks['certificates']?.summary).toMatch(/^The certificate is for rasket\.test, for 8\d more days\.$/);
    const { body } = await machine.scene.api('GET', '/operator/findings', { key: machine.token });
    expect(body.checks).toEqual(Object.values(checks));
    expect((await machine.scene.api('GET', '/ready')).body).toMatchObject({ status: 'ok', findings: [] });
  });
});

describe('a command on the same machine', () => {
  it('authenticates with a pass from the instance key, valid for a minute, and nothing else', async () => {
    const { clock, app } = machine.scene;
    const ask = async (key: string) =>
      (await machine.scene.api('POST', '/operator/findings/examination', { key })).status;
    const pass = writeMachinePass(app.world);
    expect(await ask(pass)).toBe(200);
    const [, mac = ''] = pass.slice('rkmp_'.length).split(/_(.*)/);
    const later = `rkmp_${clock.now() + 30_000}_${mac}`;
    for (const forged of [later, `${pass}x`, 'rkmp_', `rkmp_${clock.now()}`, `rkmp_${clock.now()}_`, 'rkmp_1e3_x'])
      expect(await ask(forged), forged).toBe(401);
    clock.advance(61_000);
    expect(await ask(pass)).toBe(401);
    expect((await machine.scene.api('GET', '/emails', { key: writeMachinePass(app.world) })).status, 'of a team').toBe(
      403,
    );
  });
});

describe('a pass of the same machine', () => {
  it('is refused as soon as its instance key is replaced, while one of the new key is accepted', async () => {
    const { clock, dataDir } = machine.scene;
    const ask = async (key: string) =>
      (await machine.scene.api('POST', '/operator/findings/examination', { key })).status;
    const { current, former } = readInstanceKeys(dataDir);
    const leaked = secretsFrom(current);
    expect(await ask(writeMachinePass({ clock, secrets: leaked }))).toBe(200);
    writeInstanceKeys(dataDir, { current: newInstanceKey(), former: [current, ...former] });
    expect(await ask(writeMachinePass({ clock, secrets: openSecrets(dataDir) }))).toBe(200);
    expect(await ask(writeMachinePass({ clock, secrets: leaked }))).toBe(401);
  });
});

describe('the check of port 25', () => {
  const lead = (address: string, { scene: { dns } } = machine): void => {
    dns.set('large.example', 'MX', ['10 mx.large.example']);
    dns.set('mx.large.example', 'A', [address]);
  };

  it('finds a block if no server is reached but other connections work, until one answers', async () => {
    lead('127.66.0.1');
    const { findings } = await look('port25');
    expect(findings).toMatchObject([
      { code: 'port25_blocked', severity: 'error', subjects: ['large.example'], advice: { command: 'rasket doctor' } },
    ]);
    expect(findings[0]?.summary).toMatch(/large\.example: ECONNREFUSED\), although other outgoing connections work/);
    expect((await machine.scene.api('GET', '/ready')).body.findings).toMatchObject([{ code: 'port25_blocked' }]);
    machine.scene.dns.forget('large.example');
    expect(await look('port25')).toMatchObject({ state: 'passed', findings: [] });
  });

  it('is unknown if no connection works at all', async () => {
    await using alone = await startMachine({ doctor: { clock_source: '' } });
    alone.scene.dns.set('large.example', 'MX', ['10 mx.large.example']);
    alone.scene.dns.set('mx.large.example', 'A', ['127.66.0.1']);
    expect(await look('port25', alone)).toMatchObject({
      state: 'unknown',
      findings: [],
      summary: expect.stringMatching(
        /^Unknown: whether outgoing port \d+ is open \(large\.example: ECONNREFUSED; no other/,
      ),
    });
  });

  it('does not take a tarpit or a server that refuses us for a block', async () => {
    const silent = net.createServer((socket) => void socket.resume().on('error', () => undefined));
    await new Promise<void>((done) =>
      silent.listen(hasty.scene.app.world.config.delivery.smtp_port, '127.66.0.2', done),
    );
    lead('127.66.0.2', hasty);
    expect(await look('port25', hasty)).toMatchObject({
      state: 'unknown',
      findings: [],
      summary: expect.stringContaining('large.example: connected, but no greeting'),
    });
    silent.removeAllListeners('connection').on('connection', (socket: net.Socket) => {
      socket.resume().on('error', () => undefined);
      socket.end('554 5.7.1 no\r\n');
    });
    expect(await look('port25', hasty)).toMatchObject({
      state: 'unknown',
      findings: [],
      summary: expect.stringContaining('large.example: it greets with "554 5.7.1 no"'),
    });
    silent.close();
    hasty.scene.dns.forget('large.example');
  });

  it('is unknown if DNS fails', async () => {
    machine.scene.dns.set('large.example', 'MX', 'SERVFAIL');
    expect(await look('port25')).toMatchObject({ state: 'unknown', findings: [] });
    machine.scene.dns.forget('large.example');
  });
});

describe('the check of reverse DNS', () => {
  it('finds a missing or wrong name; of two names, one right one is enough', async () => {
    const { dns } = machine.scene;
    dns.set(BACK, 'PTR', 'NXDOMAIN');
    const none = await look('reverse_dns');
    expect(none).toMatchObject({
      state: 'failed',
      findings: [{ code: 'reverse_dns_wrong', severity: 'error', subjects: [ADDRESS] }],
    });
    expect(none.findings[0]?.summary).toBe(`${ADDRESS} has no name in reverse DNS.`);
    const since = none.findings[0]?.since;
    machine.scene.clock.advance(60_000);
    dns.set('elsewhere.test', 'A', ['127.8.8.8']);
    dns.set(BACK, 'PTR', ['elsewhere.test']);
    expect((await look('reverse_dns')).findings).toMatchObject([
      {
        code: 'reverse_dns_wrong',
        summary: expect.stringContaining('elsewhere.test in reverse DNS, which does not'),
        since,
      },
    ]);
    dns.set(BACK, 'PTR', ['elsewhere.test', HOST]);
    expect(await look('reverse_dns')).toMatchObject({ state: 'passed', findings: [] });
  });

  it('neither creates nor clears a finding when the resolver fails or finds nothing', async () => {
    const { dns } = hasty.scene;
    dns.set(BACK, 'PTR', 'SERVFAIL');
    expect(await look('reverse_dns', hasty)).toMatchObject({ state: 'unknown', findings: [] });
    dns.set(BACK, 'PTR', 'NXDOMAIN');
    expect((await look('reverse_dns', hasty)).findings).toMatchObject([{ code: 'reverse_dns_wrong' }]);
    dns.set(BACK, 'PTR', 'TIMEOUT');
    expect(await look('reverse_dns', hasty), 'it was wrong, and nobody says that it was mended').toMatchObject({
      state: 'unknown',
      findings: [{ code: 'reverse_dns_wrong' }],
    });
    hasty.scene.clock.advance(4 * DAY_MS);
    await hasty.backedUp(0);
    expect(await look('reverse_dns', hasty), 'not for ever').toMatchObject({ state: 'unknown', findings: [] });
    dns.set(BACK, 'PTR', [HOST]);
    expect(await look('reverse_dns', hasty)).toMatchObject({ state: 'passed', findings: [] });
  });

  it('ignores a missing record if the resolver finds no name at all', async () => {
    await using blind = await startMachine();
    const { dns } = blind.scene;
    for (const address of [ADDRESS, '::1']) dns.set(reverseName(address), 'PTR', 'NXDOMAIN');
    for (const name of [HOST, '*']) for (const type of ['A', 'AAAA', 'MX'] as const) dns.set(name, type, 'NXDOMAIN');
    const { checks, findings } = await blind.examine();
    expect(findings).toEqual([]);
    for (const name of ['reverse_dns', 'helo']) {
      const summary = expect.stringContaining('the resolver finds nothing at all');
      expect(checks[name]).toMatchObject({ state: 'unknown', summary });
    }
  });
});

describe('the check of the EHLO name', () => {
  it('finds a name that is missing in DNS or points elsewhere, and is unknown if the resolver fails', async () => {
    await using other = await startMachine({
      regions: { 'us-east-1': { source_v4: ADDRESS, source_v6: '::1', helo_name: 'out.rasket.test' } },
    });
    const { dns } = other.scene;
    expect((await look('helo', other)).findings).toMatchObject([
      {
        code: 'helo_name_wrong',
        severity: 'error',
        subjects: ['out.rasket.test'],
        summary: 'The EHLO name out.rasket.test has no address in DNS.',
      },
    ]);
    dns.set('out.rasket.test', 'A', ['127.9.9.9']);
    expect((await look('helo', other)).findings[0]?.summary).toMatch(
      /points to 127\.9\.9\.9, but mail is sent from 127\.7\.7\.7/,
    );
    dns.set('out.rasket.test', 'A', [ADDRESS]);
    expect(await look('helo', other)).toMatchObject({ state: 'passed', findings: [] });
    dns.set('out.rasket.test', 'ANY', 'SERVFAIL');
    dns.set('out.rasket.test', 'A', 'SERVFAIL');
    expect(await look('helo', other)).toMatchObject({ state: 'unknown', findings: [] });
  });
});

describe('the sources of pools', () => {
  const SOURCES = { second: '127.7.7.8', far: '127.7.7.9' };

  it('each source of a pool is examined with its own name and addresses, instead of regions whose mail all leaves by pools', async () => {
    await using other = await startMachine({
      sources: {
        second: { source_v4: SOURCES.second, helo_name: 'second.rasket.test' },
        far: { socks5: '127.0.0.1:9', source_v4: SOURCES.far, helo_name: 'far.rasket.test' },
      },
      pools: { main: { sources: ['second', 'far'] } },
    });
    const { dns } = other.scene;
    for (const [name, address] of Object.entries(SOURCES)) {
      dns.set(`${name}.rasket.test`, 'A', [address]);
      dns.set(reverseName(address), 'PTR', [`${name}.rasket.test`]);
    }
    const { checks, findings } = await other.examine();
    expect(findings).toEqual([]);
    expect(checks['reverse_dns']).toMatchObject({
      state: 'passed',
      summary:
        '127.7.7.8 is second.rasket.test, which resolves back to it. 127.7.7.9 is far.rasket.test, which resolves back to it.',
    });
    expect(checks['helo']).toMatchObject({
      state: 'passed',
      summary:
        'The EHLO name second.rasket.test points to 127.7.7.8. The EHLO name far.rasket.test points to 127.7.7.9.',
    });
    expect(checks['dnsbl']?.summary).toBe('127.7.7.8, 127.7.7.9: not on any list that answers.');

    dns.set('second.rasket.test', 'A', [SOURCES.far]);
    dns.set('9.7.7.127.list.test', 'A', ['127.0.0.4']);
    const broken = await other.examine();
    const summaries = Object.fromEntries(broken.findings.map(({ code, summary }) => [code, summary]));
    expect(summaries).toMatchObject({
      helo_name_wrong: 'The EHLO name second.rasket.test points to 127.7.7.9, but mail is sent from 127.7.7.8.',
      reverse_dns_wrong: '127.7.7.8 is second.rasket.test in reverse DNS, which does not resolve back to it.',
      address_listed: expect.stringContaining('127.7.7.9 is on list.test'),
    });
  });

  it('sources are examined in addition to regions while a pool takes only some mail', async () => {
    await using other = await startMachine({
      sources: { second: { source_v4: SOURCES.second, helo_name: 'second.rasket.test' } },
      pools: { bulk: { sources: ['second'], streams: ['marketing'] } },
    });
    const { checks } = await other.examine();
    expect(checks['reverse_dns']).toMatchObject({
      state: 'failed',
      summary: expect.stringContaining('127.7.7.8 has no name in reverse DNS'),
    });
    expect(checks['helo']?.summary).toContain('The EHLO name second.rasket.test has no address in DNS');
    expect(checks['helo']?.summary).toContain(`The EHLO name ${HOST} points to this machine`);
  });

  it('a source with a proxy whose addresses the settings do not name is unknown, and port 25 of this machine does not matter', async () => {
    await using other = await startMachine({
      sources: { far: { socks5: '127.0.0.1:9', helo_name: 'far.rasket.test' } },
      pools: { main: { sources: ['far'] } },
    });
    other.scene.dns.set('far.rasket.test', 'A', [SOURCES.far]);
    const { checks } = await other.examine();
    expect(checks['port25']).toMatchObject({ state: 'skipped', summary: 'All mail leaves through proxies.' });
    expect(checks['reverse_dns']).toMatchObject({
      state: 'unknown',
      summary: expect.stringContaining('the addresses of the proxies of far: set source_v4 or source_v6 of each'),
    });
    expect(checks['helo']).toMatchObject({ state: 'unknown' });
  });
});

describe('the check of DNS blocklists', () => {
  it('finds a listing with its code and its reason', async () => {
    machine.list(['127.0.0.4']);
    machine.scene.dns.set('7.7.7.127.list.test', 'TXT', ['https://list.test/why?127.7.7.7']);
    const { findings } = await look('dnsbl');
    expect(findings).toMatchObject([
      {
        code: 'address_listed',
        severity: 'error',
        subjects: [`${ADDRESS} list.test`],
        advice: { command: 'rasket queue' },
      },
    ]);
    expect(findings[0]?.summary).toBe(`${ADDRESS} is on list.test (127.0.0.4: https://list.test/why?127.7.7.7).`);
    machine.list('NXDOMAIN');
    expect(await look('dnsbl')).toMatchObject({ state: 'passed', findings: [] });
  });

  it.each([
    { why: 'an error of the list', answer: ['127.255.255.254'], says: 'it answers no public resolver' },
    {
      why: 'an answer that no list gives',
      answer: ['192.0.2.1'],
      says: 'it answers 192.0.2.1, which is not a valid answer of a list',
    },
    { why: 'a failure', answer: 'SERVFAIL' as const, says: 'servfail' },
    { why: 'silence', answer: 'TIMEOUT' as const, says: 'timeout' },
  ])('does not take $why for a listing', async ({ answer, says }) => {
    hasty.list(answer);
    expect(await look('dnsbl', hasty)).toMatchObject({
      state: 'unknown',
      findings: [],
      summary: expect.stringContaining(`whether ${ADDRESS} is on list.test: ${says}`),
    });
    hasty.list('NXDOMAIN');
  });

  it.each([
    {
      why: 'answers every resolver of this kind with an error',
      at: 'A',
      two: ['127.255.255.254'],
      one: 'NXDOMAIN' as const,
      says: 'no public resolver',
    },
    {
      why: 'lacks its test entry',
      at: 'A',
      two: 'NXDOMAIN' as const,
      one: 'NXDOMAIN' as const,
      says: 'it lacks its test entry',
    },
    { why: 'lists the whole world', at: 'A', two: ['127.0.0.2'], one: ['127.0.0.2'], says: 'it lists every address' },
    {
      why: 'is answered for by somebody else',
      at: 'A',
      two: ['203.0.113.9'],
      one: ['203.0.113.9'],
      says: 'which is not a valid answer of a list',
    },
  ])('ignores a list that $why', async ({ two, one, says }) => {
    const { dns } = machine.scene;
    machine.list(['127.0.0.4']);
    dns.set('2.0.0.127.list.test', 'A', two);
    dns.set('1.0.0.127.list.test', 'A', one);
    expect(await look('dnsbl')).toMatchObject({
      state: 'unknown',
      summary: expect.stringContaining(says),
      findings: [],
    });
    dns.set('2.0.0.127.list.test', 'A', ['127.0.0.2']);
    dns.set('1.0.0.127.list.test', 'A', 'NXDOMAIN');
    machine.list('NXDOMAIN');
  });

  it('keeps the finding of a list that cannot be queried, apart from that of another list', async () => {
    await using two = await startMachine({ doctor: { dnsbl_zones: ['list.test', 'other.test'] } });
    const { dns } = two.scene;
    dns.set('2.0.0.127.other.test', 'A', ['127.0.0.2']);
    two.list(['127.0.0.4']);
    dns.set('7.7.7.127.other.test', 'A', 'SERVFAIL');
    expect((await look('dnsbl', two)).findings).toMatchObject([{ subjects: [`${ADDRESS} list.test`] }]);
    two.list('NXDOMAIN');
    expect(await look('dnsbl', two)).toMatchObject({ state: 'unknown', findings: [] });
  });
});
