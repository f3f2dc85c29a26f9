// POST /operator/findings/examination: the machine itself, its resolver, clock, disk, files, certificates and backups
import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nextTurn } from '../../../src/platform/clock.ts';
import { measureLoopDelay } from '../../../src/platform/loop-delay.ts';
import { createDoctor } from '../../../src/features/installation/doctor/doctor.ts';
import { startMarkingResolver } from '../../rig/marking-resolver.ts';
import { publish } from '../../rig/scene.ts';
import { policyLines, startStsHost } from '../../rig/sts-host.ts';
import { makeCertificate } from '../../rig/tls.ts';
import { startWithAuthority } from '../certificates/authority-scene.ts';
import { startProofZone } from '../certificates/proof-zone.ts';
import { DAY_MS, HOST, startMachine, type Machine } from './examined.ts';

let machine: Machine;
beforeAll(async () => {
  machine = await startMachine();
});
afterAll(() => machine[Symbol.asyncDispose]());

/** Returns one check, and its findings. */
async function look(name: string, of = machine) {
  const { checks, findings } = await of.examine();
  return { state: checks[name]?.state, summary: checks[name]?.summary, findings };
}

describe('the check of the resolver', () => {
  it('finds a resolver that invents names', async () => {
    const { dns } = machine.scene;
    dns.set('*.invalid', 'A', ['192.0.2.80']);
    const { findings } = await look('resolver');
    expect(findings).toMatchObject([{ code: 'resolver_failing', severity: 'error', subjects: [dns.server] }]);
    expect(findings[0]?.summary).toContain('answers 192.0.2.80 for a name that does not exist');
    dns.set('*.invalid', 'A', 'NXDOMAIN');
    expect(await look('resolver')).toMatchObject({ state: 'passed', findings: [] });
  });

  it('finds a slow resolver', async () => {
    await using slow = await startMachine({ doctor: { resolver_ms: 20, seconds: 30 } });
    const { dns } = slow.scene;
    // These are the timed look-ups.
    const release = dns.hold('MX');
    const looking = look('resolver', slow);
    await expect.poll(() => dns.queries.filter(({ type }) => type === 'MX').length).toBeGreaterThan(1);
    const held = performance.now();
    await expect.poll(() => performance.now() - held).toBeGreaterThan(200);
    release();
    expect((await looking).findings).toMatchObject([{ code: 'resolver_slow', severity: 'warning' }]);
  });

  it('reports a resolver that does not answer as an error, without further findings', async () => {
    await using deaf = await startMachine({
      doctor: { seconds: 3 },
      dns: { servers: ['127.66.0.9:53'], timeout_ms: 200, tries: 1 },
    });
    const { checks, findings } = await deaf.examine();
    expect(findings).toMatchObject([{ code: 'resolver_failing', severity: 'error' }]);
    for (const name of ['port25', 'reverse_dns', 'helo', 'dnsbl']) expect(checks[name]?.state, name).toBe('unknown');
  });
});

describe('the check of the resolver of dns.dnssec_resolver', () => {
  it.each([
    ['silent', 'does not answer'],
    ['refusing', 'does not answer'],
    ['rejecting', 'rejects authentic answers'],
  ] as const)('finds one that is %s, although the resolver of dns.servers answers', async (manner, says) => {
    await using resolver = await startMarkingResolver({ manner });
    await using examined = await startMachine({
      doctor: { seconds: 3 },
      dns: { dnssec_resolver: resolver.server, timeout_ms: 200, tries: 1 },
    });
    const { state, findings } = await look('resolver', examined);
    expect(state).toBe('failed');
    expect(findings.filter(({ code }) => code === 'resolver_failing')).toMatchObject([
      {
        severity: 'error',
        subjects: [resolver.server],
        summary: expect.stringContaining(`The resolver of dns.dnssec_resolver (${resolver.server}) ${says}`),
      },
    ]);
  });

  it('passes with one that validates, and says so', async () => {
    await using resolver = await startMarkingResolver();
    await using examined = await startMachine({ dns: { dnssec_resolver: resolver.server } });
    expect(await look('resolver', examined)).toMatchObject({
      state: 'passed',
      summary: expect.stringContaining(`(${resolver.server}) validates`),
    });
  });
});

describe('the check of the clock', () => {
  it('compares it with the Date header of an answer', async () => {
    machine.time.aheadMs = 400_000;
    const { findings } = await look('clock');
    expect(findings).toMatchObject([{ code: 'clock_wrong', severity: 'error' }]);
    expect(findings[0]?.summary).toMatch(/is (399|400|401) seconds behind that of 127\.0\.0\.1/);
    machine.time.aheadMs = 0;
    expect(await look('clock')).toMatchObject({ state: 'passed', findings: [] });
  });

  it('compares it with an SNTP server, and rejects an answer to another request', async () => {
    const server = createSocket('udp4');
    await new Promise<void>((done) => server.bind(0, '127.0.0.1', done));
    const answer = { aheadMs: 0, isOurs: true, now: Date.now };
    server.on('message', (request, from) => {
      const reply = Buffer.alloc(48);
      reply.writeUInt16BE(0x2402, 0);
      if (answer.isOurs) request.copy(reply, 24, 40, 48);
      reply.writeUInt32BE(Math.floor((answer.now() + answer.aheadMs) / 1000) + 2_208_988_800, 40);
      server.send(reply, from.port, from.address);
    });
    const source = `sntp://127.0.0.1:${server.address().port}`;
    await using timed = await startMachine({ doctor: { clock_source: source, seconds: 2 } });
    answer.now = timed.scene.clock.now;
    expect(await look('clock', timed)).toMatchObject({ state: 'passed', findings: [] });
    answer.aheadMs = -365 * DAY_MS;
    const { findings } = await look('clock', timed);
    expect(findings).toMatchObject([{ code: 'clock_wrong' }]);
    expect(findings[0]?.summary).toMatch(/is 3153600\d seconds ahead of that of 127\.0\.0\.1/);
    answer.aheadMs = 0;
    expect(await look('clock', timed)).toMatchObject({ state: 'passed', findings: [] });
    answer.isOurs = false;
    expect(await look('clock', timed)).toMatchObject({ state: 'unknown', findings: [] });
    await new Promise<void>((done) => server.close(done));
  });

  it('compares it with the date in the greeting of a mail server if no source is set', async () => {
    await using plain = await startMachine({ doctor: { clock_source: '' } });
    const { app, clock, dns } = plain.scene;
    expect(await look('clock', plain)).toMatchObject({ state: 'skipped', findings: [] });
    const server = { aheadMs: 0 };
    const dated = net.createServer((socket) => {
      const date = new Date(clock.now() + server.aheadMs).toUTCString().replace('GMT', '+0000');
      socket.resume().on('error', () => undefined);
      socket.end(`220 mx.large.example Mail Service ready at ${date}\r\n`);
    });
    await new Promise<void>((done) => dated.listen(app.world.config.delivery.smtp_port, '127.66.0.4', done));
    dns.set('large.example', 'MX', ['10 mx.large.example']);
    dns.set('mx.large.example', 'A', ['127.66.0.4']);
    expect(await look('clock', plain)).toMatchObject({ state: 'passed', findings: [] });
    server.aheadMs = -2 * DAY_MS;
    expect((await look('clock', plain)).findings).toMatchObject([
      {
        code: 'clock_wrong',
        summary: expect.stringMatching(/is 1728\d\d seconds ahead of that of a mail server of large\.example/),
      },
    ]);
    dated.close();
  });

  it('is unknown if nobody tells the time', async () => {
    await using alone = await startMachine({ doctor: { clock_source: 'http://127.66.0.3:9/' } });
    expect(await look('clock', alone)).toMatchObject({ state: 'unknown', findings: [] });
    expect((await look('clock', alone)).summary).toContain('127.66.0.3:9 does not answer (unreachable)');
  });
});

describe('the check of the disk', () => {
  it('finds less free space than the settings require', async () => {
    await using full = await startMachine({ doctor: { disk_free_mb: 1_000_000_000 } });
    expect((await look('disk', full)).findings).toMatchObject([{ code: 'disk_low', severity: 'error' }]);
  });

  it('finds a disk that will be full within two weeks, by samples of a week but not of an hour', async () => {
    await using growing = await startMachine();
    const { app, clock } = growing.scene;
    const sample = app.jobs.find(({ name }) => name === `sample-disk ${os.hostname()}`);
    await sample?.run();
    const { db } = app.world;
    const now = await db.get<{ free_bytes: number }>('select free_bytes from disk_samples');
    const free = Number(now?.free_bytes);
    expect(free).toBeGreaterThan(0);
    const put = (daysAgo: number, bytes: number) =>
      db.insertMany(
        'disk_samples',
        ['machine', 'at', 'free_bytes'],
        [[os.hostname(), clock.now() - daysAgo * DAY_MS, Math.round(bytes)]],
      );
    await put(0.04, free * 1.5);
    expect((await look('disk', growing)).findings, 'an hour').toEqual([]);
    await db.run('delete from disk_samples where at < ?', [clock.now()]);
    for (const day of [1, 2, 3, 4, 5]) await put(day, free * (1 + day / 5));
    const { findings } = await look('disk', growing);
    expect(findings).toMatchObject([{ code: 'disk_filling', severity: 'warning' }]);
    expect(findings[0]?.summary).toMatch(/will be full in about [45] days/);
    await db.run('delete from disk_samples where at < ?', [clock.now()]);
    for (const day of [1, 2, 3, 4, 5]) await put(day, free * (1 + day / 500));
    expect(await look('disk', growing)).toMatchObject({ state: 'passed', findings: [] });
  });
});

describe('the check of the event loop', () => {
  it('finds a server that runs what is due too late', async () => {
    const { world } = machine.scene.app;
    const loopDelay = measureLoopDelay();
    const self = { pid: undefined, tls: () => undefined, isReceiving: false };
    const doctor = createDoctor(
      { ...world, loopDelay },
      { self, loadFindings: () => Promise.resolve({ findings: [] }) },
    );
    const readFindings = async () =>
      (await machine.scene.api('GET', '/operator/findings', { key: machine.token })).body;
    for (let turn = 0; turn < 12; turn++) {
      const until = performance.now() + 400;
      while (performance.now() < until);
      await nextTurn();
      await nextTurn();
    }
    await doctor.examine();
    loopDelay.stop();
    const { findings, checks } = await readFindings();
    expect(findings).toContainEqual(expect.objectContaining({ code: 'event_loop_slow', severity: 'warning' }));
    const summary = checks.find(({ name }: { name: string }) => name === 'event_loop')?.summary;
    expect(summary).toMatch(/late in the median, (39\d|[4-9]\d\d|\d{4}) ms in the worst hundredth of the time/);
    await machine.examine();
    expect((await readFindings()).findings).toEqual([]);
  });
});

describe('the check of open files', () => {
  it('finds a process that may open fewer than the settings need', async () => {
    const { world } = machine.scene.app;
    const limited = spawn('bash', ['-c', 'ulimit -n 300 && echo ready && exec sleep 600']);
    await once(limited.stdout, 'data');
    const look25 = () => Promise.resolve({ findings: [] });
    const doctor = createDoctor(world, {
      self: { pid: limited.pid, tls: () => undefined, isReceiving: false },
      loadFindings: look25,
    });
    await doctor.examine();
    const { body } = await machine.scene.api('GET', '/operator/findings', { key: machine.token });
    expect(body.findings).toMatchObject([{ code: 'file_limit_low', severity: 'warning' }]);
    expect(body.findings[0].summary).toMatch(/may open 300 files, but its settings need up to 1156/);
    limited.kill('SIGKILL');
    await once(limited, 'exit');
    await doctor.examine();
    const gone = await machine.scene.api('GET', '/operator/findings', { key: machine.token });
    expect(gone.body.checks.find(({ name }: { name: string }) => name === 'files').state).toBe('unknown');
    expect(gone.body.findings, 'nobody said that it was mended').toMatchObject([{ code: 'file_limit_low' }]);
    expect(await look('files')).toMatchObject({ state: 'passed', findings: [] });
  });
});

describe('the check of the secrets', () => {
  it('finds an instance key that other accounts may read, until its mode is 600', async () => {
    const key = path.join(machine.scene.dataDir, 'instance.key');
    chmodSync(key, 0o640);
    expect((await look('secrets')).findings).toMatchObject([
      {
        code: 'key_exposed',
        severity: 'error',
        subjects: [key],
        summary: expect.stringContaining('has the mode 640'),
        advice: { command: `chmod 600 ${key}` },
      },
    ]);
    chmodSync(key, 0o600);
    expect(await look('secrets')).toMatchObject({ state: 'passed', findings: [] });
  });
});

describe('the check of the certificate', () => {
  it('fails for an expired certificate, and the finding is there once', async () => {
    await using expired = await startMachine();
    expired.scene.clock.advance(91 * DAY_MS);
    await expired.backedUp(1000);
    const { state, summary, findings } = await look('certificates', expired);
    expect([state, summary]).toEqual(['failed', 'The certificate is for rasket.test, and has expired.']);
    expect(findings.filter(({ code }) => code === 'certificate_expired')).toHaveLength(1);
  });

  it('finds a certificate for another name than instance.host', async () => {
    const { app, dataDir } = machine.scene;
    const of = (names: string[]): void => {
      const keys = makeCertificate({ names, notAfter: new Date(machine.scene.clock.now() + 90 * DAY_MS) });
      writeFileSync(path.join(dataDir, 'own.pem'), keys.key + keys.cert);
      app.reload();
    };
    of(['www.rasket.test', 'other.test']);
    expect((await look('certificates')).findings).toMatchObject([
      {
        code: 'certificate_wrong_name',
        severity: 'warning',
        subjects: [HOST],
        summary: 'The certificate is for www.rasket.test, other.test, not for rasket.test.',
      },
    ]);
    of(['other.test', HOST]);
    expect(await look('certificates')).toMatchObject({ state: 'passed', findings: [] });
  });

  it('finds a certificate that senders refuse because a domain enforces MTA-STS', async () => {
    await using receiver = await startMachine(
      { domains: { receiving_mx: 'mx.{host}' }, doctor: { checks: ['certificates'] } },
      { roles: ['receiving'] },
    );
    const { scene } = receiver;
    const install = (names: string[], days: number): void => {
      const notBefore = new Date(scene.clock.now() - 100 * DAY_MS);
      const notAfter = new Date(scene.clock.now() + days * DAY_MS);
      const keys = makeCertificate({ names, notBefore, notAfter });
      writeFileSync(path.join(scene.dataDir, 'own.pem'), keys.key + keys.cert);
      scene.app.reload();
    };
    const team = await scene.team();
    const name = 'sts.example.com';
    scene.dns.set(name, 'MX', [`10 mx.${HOST}`]);
    const body = { name, mta_sts: 'testing', capabilities: { receiving: 'enabled' } };
    const { body: created } = await scene.api('POST', '/domains', { key: team.key, body });
    publish(scene.dns, created);
    scene.clock.advance(60_000);
    await scene.api('POST', `/domains/${created.id}/verify`, { key: team.key });
    expect((await look('certificates', receiver)).findings).toEqual([]);
    const enforced = await scene.api('PATCH', `/domains/${created.id}`, {
      key: team.key,
      body: { mta_sts: 'enforce' },
    });
    expect(enforced.status, enforced.text).toBe(200);
    const found = { code: 'mta_sts_unmet', severity: 'error', subjects: [`mx.${HOST}`] };
    expect((await look('certificates', receiver)).findings).toMatchObject([
      {
        ...found,
        summary:
          'The certificate is for rasket.test, not for mx.rasket.test, so senders deliver no mail to a domain that enforces MTA-STS.',
      },
    ]);
    install([HOST, `mx.${HOST}`], -1);
    const { findings } = await look('certificates', receiver);
    expect(findings.filter(({ code }) => code === 'mta_sts_unmet')).toMatchObject([
      {
        ...found,
        summary: 'The certificate has expired, so senders deliver no mail to a domain that enforces MTA-STS.',
      },
    ]);
    install([HOST, `*.${HOST}`], 90);
    expect(await look('certificates', receiver)).toMatchObject({ state: 'passed', findings: [] });
  });

  it('finds a self-signed certificate if a domain enforces MTA-STS', async () => {
    await using receiver = await startMachine({}, { isWithoutCertificate: true, roles: ['receiving'] });
    const team = await receiver.scene.team();
    const { id } = await team.domain();
    await receiver.scene.app.world.db.run("update domains set mta_sts = 'enforce' where id = ?", [id]);
    const { findings } = await look('certificates', receiver);
    expect(findings.map(({ code, summary }) => ({ code, summary }))).toContainEqual({
      code: 'mta_sts_unmet',
      summary: 'The certificate is self-signed, so senders deliver no mail to a domain that enforces MTA-STS.',
    });
  });
});

it('the check of policy hosts finds a policy of a domain that enforces MTA-STS and that senders cannot read', async () => {
  const domain = 'sts.example.com';
  const host = await startStsHost(domain);
  await using receiver = await startMachine(
    { delivery: { mta_sts_port: host.port }, doctor: { checks: ['policy_hosts'], seconds: 2 } },
    { roles: ['receiving'], trustedCa: [host.certificate.cert] },
  );
  const { scene } = receiver;
  const { dns } = scene;
  try {
    expect(await look('policy_hosts', receiver)).toMatchObject({ state: 'skipped', findings: [] });
    const team = await scene.team();
    dns.set(domain, 'MX', [`10 ${HOST}`]);
    const body = { name: domain, mta_sts: 'testing', capabilities: { receiving: 'enabled' } };
    const { body: created } = await scene.api('POST', '/domains', { key: team.key, body });
    publish(dns, created);
    scene.clock.advance(60_000);
    await scene.api('POST', `/domains/${created.id}/verify`, { key: team.key });
    await scene.api('PATCH', `/domains/${created.id}`, { key: team.key, body: { mta_sts: 'enforce' } });
    dns.set(`mta-sts.${domain}`, 'CNAME', 'NXDOMAIN');

    host.publish(dns, { id: '1', lines: policyLines('enforce', [HOST]) });
    expect(await look('policy_hosts', receiver)).toMatchObject({
      state: 'passed',
      summary: expect.stringContaining(domain),
      findings: [],
    });
    const finds = async (says: string): Promise<void> => {
      const { findings } = await look('policy_hosts', receiver);
      expect(findings.filter(({ code }) => code === 'mta_sts_unreadable')).toMatchObject([
        { severity: 'warning', subjects: [`mta-sts.${domain}`], summary: expect.stringContaining(says) },
      ]);
    };
    host.publish(dns, { id: '1' });
    await finds('the status is 404');
    host.publish(dns, { id: '1', lines: policyLines('testing', [HOST]) });
    await finds('serves a policy of the mode testing');
    host.publish(dns, { id: '1', lines: ['nonsense'] });
    await finds('Line 1 of the policy');
    host.publish(dns, { id: '1', lines: policyLines('enforce', [HOST]) });
    expect(await look('policy_hosts', receiver)).toMatchObject({ state: 'passed', findings: [] });
    // Many networks do not reach their own public address.
    host.publish(dns, { id: '1', isSilent: true });
    expect(await look('policy_hosts', receiver)).toMatchObject({
      state: 'unknown',
      summary: expect.stringContaining('whether senders can read the policy'),
      findings: [],
    });
  } finally {
    await host.close();
  }
});

describe('the check of CAA records', () => {
  it('finds a record that names another authority, whose own name is known', async () => {
    await using asked = await startWithAuthority({ names: ['mail.deep.example'] }, { doctor: { checks: ['caa'] } });
    const { scene, ca, operator: token } = asked;
    const caa = async () => {
      const { body } = await scene.api('POST', '/operator/findings/examination', { key: token });
      const { state, summary } = body.checks.find(({ name }: { name: string }) => name === 'caa');
      return { state, summary, found: body.findings.filter(({ code }: { code: string }) => code === 'caa_forbids') };
    };
    expect(await caa()).toMatchObject({ state: 'unknown', found: [] });
    ca.plays.caaIdentities = ['authority.test'];
    expect(await caa()).toMatchObject({ state: 'passed', found: [] });
    scene.dns.set('deep.example', 'CAA', ['0 issue "other.test"', '0 iodef "mailto:a@example.com"']);
    expect((await caa()).found).toMatchObject([
      {
        severity: 'warning',
        subjects: ['mail.deep.example'],
        summary: 'The CAA records at deep.example do not allow authority.test to issue for mail.deep.example.',
        advice: {
          words: 'Add the CAA record: 0 issue "authority.test" at deep.example, then run',
          command: 'rasket tls renew',
        },
      },
    ]);
    scene.dns.set('mail.deep.example', 'CAA', ['0 issue "authority.test"']);
    expect(await caa(), 'the nearest set decides alone').toMatchObject({ state: 'passed', found: [] });
    scene.dns.set('mail.deep.example', 'CAA', 'SERVFAIL');
    expect(await caa()).toMatchObject({ state: 'unknown', found: [] });
  });

  it('ignores a record that names another authority only for wildcards', async () => {
    await using zone = await startProofZone('rasket.test');
    const acme = { challenge: 'dns-01', dns_provider: 'office', names: ['*.rasket.test'] } as const;
    await using asked = await startWithAuthority(acme, { ...zone.settings, doctor: { checks: ['caa'] } });
    asked.ca.plays.caaIdentities = ['authority.test'];
    zone.shown.set('rasket.test', 'CAA', ['0 issue "authority.test"']);
    const examine = () => asked.scene.api('POST', '/operator/findings/examination', { key: asked.operator });
    const forbidden = async () =>
      (await examine()).body.findings.filter(({ code }: { code: string }) => code === 'caa_forbids');
    expect(await forbidden()).toEqual([]);
    zone.shown.set('rasket.test', 'CAA', ['0 issue "authority.test"', '0 issuewild "other.test"']);
    expect(await forbidden()).toMatchObject([
      {
        subjects: ['*.rasket.test'],
        summary: 'The CAA records at rasket.test do not allow authority.test to issue for *.rasket.test.',
        advice: { words: 'Add the CAA record: 0 issuewild "authority.test" at rasket.test, then run' },
      },
    ]);
  });
});

describe('the check of backups', () => {
  it('finds a backup that is too old, or that there never was one', async () => {
    const { clock } = machine.scene;
    clock.advance(3 * DAY_MS);
    expect((await look('backups')).findings).toMatchObject([{ code: 'backup_old', severity: 'warning' }]);
    await machine.backedUp(1000);
    expect(await look('backups')).toMatchObject({ state: 'passed', findings: [] });
    await using without = await startMachine();
    await without.scene.app.world.db.run("delete from instance_settings where name = 'backups'");
    const none = { state: 'passed', summary: expect.stringContaining('There is no backup yet'), findings: [] };
    expect(await look('backups', without)).toMatchObject(none);
    without.scene.clock.advance(3 * DAY_MS);
    const { findings } = await look('backups', without);
    expect(findings).toMatchObject([{ code: 'backup_old', summary: 'There is no backup of this installation.' }]);
  });
});

describe('checks that do not apply', () => {
  it('are skipped: those not configured, and those of sending if nothing is sent', async () => {
    await using few = await startMachine({ doctor: { checks: ['disk'] } });
    const asked = await few.examine();
    expect(Object.values(asked.checks).filter(({ state }) => state !== 'skipped')).toMatchObject([{ name: 'disk' }]);
    const smarthost = { smarthost: 'relay.example:25' };
    const one = { 'us-east-1': smarthost, 'eu-west-1': smarthost };
    const two = { 'sa-east-1': smarthost, 'ap-northeast-1': smarthost };
    await using relayed = await startMachine({ regions: { ...one, ...two } });
    expect((await relayed.examine()).checks['port25']).toMatchObject({
      state: 'skipped',
      summary: 'All mail is sent through relays.',
    });
    await using kept = await startMachine({ delivery: { capture: true } });
    const { checks, findings } = await kept.examine();
    expect(findings).toMatchObject([{ code: 'mail_captured' }]);
    for (const name of ['port25', 'relays', 'reverse_dns', 'helo', 'dnsbl', 'resolver', 'backups'])
      expect(checks[name], name).toMatchObject({
        state: 'skipped',
        summary: expect.stringContaining('delivery.capture'),
      });
  });
});

describe('an examination', () => {
  it('ends within its time limit, whatever does not answer', async () => {
    const silent = net.createServer((socket) => void socket.resume().on('error', () => undefined));
    await new Promise<void>((done) => silent.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`;
    await using patient = await startMachine({ doctor: { seconds: 1, clock_source: url } });
    const { checks } = await patient.examine();
    expect(checks['clock']).toMatchObject({ state: 'unknown' });
    silent.close();
  });
});
