import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startBind, type Bind } from '../rig/bind.ts';
import { startDnsRelay } from '../rig/dns-relay.ts';
import { startScene, type Scene, type SceneOptions, type Team } from '../rig/scene.ts';
import { describePeers, findProgram } from './peers.ts';

const ZONE = 'example.com';
const FOREIGN = [
  'example.com. 300 IN MX 10 mx.example.net.',
  'example.com. 300 IN TXT "v=spf1 include:example.net -all"',
  'send.mail.example.com. 300 IN TXT "site-verification=abc; \\"quoted\\" and \\\\"',
  'www.example.com. 300 IN CNAME example.com.',
];

describePeers('with BIND,', ['named', 'nsupdate', 'dig', 'named-checkzone'], () => {
  let bind: Bind;
  let scene: Scene;

  beforeAll(async () => {
    bind = await startBind({ named: findProgram('named') ?? '', zones: { [ZONE]: FOREIGN } });
    scene = await startScene({ config: buildConfig(bind) });
  });

  afterAll(async () => {
    await scene.close();
    await bind.close();
  });

  const call = async (team: Team, method: string, target: string, body?: object) => {
    const answer = await scene.api(method, target, { key: team.key, ...(body ? { body } : {}) });
    expect(answer.status, `${method} ${target}: ${answer.text}`).toBeLessThan(300);
    return answer.body;
  };
  const runJob = (name: string): Promise<unknown> | undefined => scene.app.jobs.find((job) => job.name === name)?.run();
  /** A domain is looked up once a minute. */
  const verify = async (team: Team, id: string) => {
    scene.clock.advance(61_000);
    await call(team, 'POST', `/domains/${id}/verify`);
    return call(team, 'GET', `/domains/${id}`);
  };
  const selectorsIn = (lines: string[]): string[] => [
    ...new Set(lines.flatMap((line) => /^(\S+)\._domainkey\./.exec(line)?.[1] ?? [])),
  ];

  test('a domain is set up, verified, regenerated, rotated, claimed and deleted, and the zone ends unchanged', async () => {
    const before = await bind.dump(ZONE);
    const first = await scene.team();
    const second = await scene.team();
    const name = 'mail.example.com';

    const created = await call(first, 'POST', '/domains', { name, click_tracking: true });
    const { id } = created;
    const planned = await call(first, 'POST', `/domains/${id}/dns/configure`, { dry_run: true });
    expect(await bind.dump(ZONE)).toEqual(before);
    const made = await call(first, 'POST', `/domains/${id}/dns/configure`);
    expect(made.changes).toEqual(planned.changes);
    expect((await bind.dump(ZONE)).length).toBe(before.length + made.changes.length);
    const verified = await verify(first, id);
    expect(verified.status).toBe('verified');
    for (const record of verified.records) expect(record, record.name).toMatchObject({ status: 'verified' });

    scene.clock.advance(61_000);
    const oldSelectors = selectorsIn(await bind.dump(ZONE));
    await call(first, 'POST', `/domains/${id}/dkim/regenerate`, { key_bits: 2048 });
    await runJob('publish-dns');
    const newSelectors = selectorsIn(await bind.dump(ZONE));
    expect(newSelectors.filter((selector) => oldSelectors.includes(selector))).toEqual([]);
    expect((await verify(first, id)).status).toBe('verified');

    await call(first, 'POST', `/domains/${id}/dkim/rotate`);
    await runJob('publish-dns');
    const both = selectorsIn(await bind.dump(ZONE));
    expect(both).toEqual(expect.arrayContaining(newSelectors));
    expect(both.length).toBeGreaterThan(newSelectors.length);
    expect((await verify(first, id)).status).toBe('verified');
    scene.clock.advance(8 * 86_400_000);
    await runJob('sweep-domains');
    await runJob('publish-dns');
    const rotated = selectorsIn(await bind.dump(ZONE));
    expect(rotated).toEqual(both.filter((selector) => !newSelectors.includes(selector)));

    const claim = await call(second, 'POST', '/domains/claim', { name });
    await bind.update(ZONE, `update add ${claim.record.name}. 60 TXT "${claim.record.value}"`);
    scene.clock.advance(61_000);
    const settled = await call(second, 'POST', `/domains/${claim.domain_id}/claim/verify`);
    expect(settled.status).toBe('completed');
    await bind.update(ZONE, `update delete ${claim.record.name}. TXT "${claim.record.value}"`);
    await call(second, 'POST', `/domains/${claim.domain_id}/dns/configure`);
    expect(selectorsIn(await bind.dump(ZONE)).filter((selector) => rotated.includes(selector))).toEqual([]);
    expect((await verify(second, claim.domain_id)).status).toBe('verified');

    await call(second, 'DELETE', `/domains/${claim.domain_id}`);
    await call(first, 'DELETE', `/domains/${id}`);
    await runJob('publish-dns');
    expect(await bind.dump(ZONE)).toEqual(before);
  });

  test('a domain that receives publishes MTA-STS, follows its mode, and leaves policies of the owner in place', async () => {
    const before = await bind.dump(ZONE);
    const team = await scene.team();
    const name = 'sts.example.com';
    const own = [
      `_dmarc.${name}. 60 IN TXT "v=DMARC1; p=reject; rua=mailto:dmarc@example.net"`,
      `_smtp._tls.${name}. 60 IN CNAME reports.example.com.`,
      'reports.example.com. 60 IN TXT "v=TLSRPTv1; rua=mailto:tls@example.net"',
    ];
    for (const record of own) await bind.update(ZONE, `update add ${record.replace(' IN', '')}`);
    const sts = async () => (await bind.dump(ZONE)).filter((line) => line.includes(`mta-sts.${name}`));
    const statuses = (domain: { records: { record: string; status: string }[] }): string[] =>
      domain.records.filter(({ record }) => record === 'MTA-STS').map(({ status }) => status);

    const capabilities = { receiving: 'enabled' };
    const { id } = await call(team, 'POST', '/domains', { name, mta_sts: 'testing', capabilities });
    await call(team, 'POST', `/domains/${id}/dns/configure`);
    const verified = await verify(team, id);
    for (const record of verified.records) expect(record, record.name).toMatchObject({ status: 'verified' });
    expect(await bind.dump(ZONE)).toEqual(expect.arrayContaining(own));
    const testing = await sts();
    expect(testing).toHaveLength(2);

    await call(team, 'PATCH', `/domains/${id}`, { mta_sts: 'enforce' });
    expect(statuses(await call(team, 'GET', `/domains/${id}`))).toEqual(['verified', 'failed']);
    await runJob('publish-dns');
    expect((await sts()).filter((line) => !testing.includes(line))).toHaveLength(1);
    expect(statuses(await verify(team, id))).toEqual(['verified', 'verified']);

    await call(team, 'DELETE', `/domains/${id}`);
    await runJob('publish-dns');
    expect(await bind.dump(ZONE)).toEqual([...before, ...own, ...(await sts())].sort());
    expect(await sts()).toHaveLength(2);
    scene.clock.advance(7 * 86_400_000);
    await runJob('publish-dns');
    expect(await bind.dump(ZONE)).toEqual([...before, ...own].sort());
    for (const record of own) await bind.update(ZONE, `update delete ${record.replace(' 60 IN', '')}`);
  });

  test('foreign records at the names cause a refusal or stay unchanged', async () => {
    const team = await scene.team();
    const { id } = await call(team, 'POST', '/domains', { name: 'shop.example.com' });
    await bind.update(ZONE, 'update add send.shop.example.com. 60 CNAME elsewhere.example.net.');
    const before = await bind.dump(ZONE);
    const refused = await scene.api('POST', `/domains/${id}/dns/configure`, { key: team.key });
    expect(refused.status).toBe(422);
    expect(refused.body.message).toContain('send.shop.example.com has the CNAME record "elsewhere.example.net"');
    expect(await bind.dump(ZONE)).toEqual(before);
  });

  test('a change between reading and writing makes BIND refuse the update, and nothing is written', async () => {
    await using relay = await startDnsRelay(bind);
    await using own = await startScene({ config: buildConfig(bind, { port: relay.port }) });
    const team = await own.team();
    const created = await own.api('POST', '/domains', { key: team.key, body: { name: 'race.example.com' } });
    const target = `/domains/${created.body.id}/dns/configure`;
    const foreign = 'send.race.example.com. 60 IN MX 5 mx.example.net.';
    relay.beforeTcp = () => bind.update(ZONE, `update add ${foreign}`);
    const before = await bind.dump(ZONE);
    const refused = await own.api('POST', target, { key: team.key });
    expect(refused).toMatchObject({ status: 409, body: { name: 'resource_locked' } });
    expect(await bind.dump(ZONE)).toEqual([...before, foreign].sort());
    await bind.update(ZONE, `update delete ${foreign.replace(' 60 IN', '')}`);
  });

  test('a modified response of BIND is not trusted, and the update is recognized as ours', async () => {
    await using relay = await startDnsRelay(bind);
    await using own = await startScene({ config: buildConfig(bind, { port: relay.port }) });
    const team = await own.team();
    const created = await own.api('POST', '/domains', { key: team.key, body: { name: 'forged.example.com' } });
    const target = `/domains/${created.body.id}/dns/configure`;
    const before = await bind.dump(ZONE);
    // The last byte of its MAC: behind it stand the id, the error and the length of nothing.
    relay.onAnswer = (bytes) =>
      Buffer.concat([bytes.subarray(0, -7), Buffer.from([(bytes.at(-7) ?? 0) ^ 1]), bytes.subarray(-6)]);
    const refused = await own.api('POST', target, { key: team.key });
    expect(refused.status).toBe(503);
    expect(refused.body.message).toContain('Its signature is wrong');
    relay.onAnswer = (bytes) => bytes;
    const removed = await own.api('POST', target, { key: team.key, body: { remove: true } });
    expect(removed.status).toBe(200);
    expect(await bind.dump(ZONE)).toEqual(before);
  });

  test('the zone text is accepted by named-checkzone, with the same key', async () => {
    const team = await scene.team();
    const domain = await call(team, 'POST', '/domains', { name: 'zone.example.com', click_tracking: true });
    const { text } = await scene.api('GET', `/domains/${domain.id}/dns/zone`, { key: team.key });
    const dir = mkdtempSync(path.join(os.tmpdir(), 'rasket-zone-'));
    try {
      const file = path.join(dir, 'zone');
      const head = `$TTL 60\n@ IN SOA ns hostmaster 1 60 60 60 60\n@ IN NS ns\nns IN A 127.0.0.1\n`;
      writeFileSync(file, head + text);
      const printed = execFileSync(findProgram('named-checkzone') ?? '', ['-D', ZONE, file], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      const line = printed.split('\n').find((each) => each.includes('_domainkey') && each.includes('k=rsa')) ?? '';
      const strings = [...line.matchAll(/"([^"]*)"/g)].map((match) => match[1] ?? '');
      expect(strings.join('')).toBe(domain.records[0].value);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });

  test.each(['hmac-sha384', 'hmac-sha512'] as const)(
    'the algorithm %s is understood by both sides',
    async (algorithm) => {
      await using other = await startBind({ named: findProgram('named') ?? '', zones: { [ZONE]: [] }, algorithm });
      await using own = await startScene({ config: buildConfig(other) });
      const team = await own.team();
      const created = await own.api('POST', '/domains', { key: team.key, body: { name: 'mail.example.com' } });
      const made = await own.api('POST', `/domains/${created.body.id}/dns/configure`, { key: team.key });
      expect(made.status).toBe(200);
      expect(await other.dump(ZONE)).toHaveLength(made.body.changes.length + 2);
    },
  );

  test.each([
    ['key_secret', Buffer.alloc(32, 'wrong').toString('base64'), 'BADSIG'],
    ['key_name', 'another-key', 'BADKEY'],
  ])('a wrong %s prevents reading and changing', async (field, value, why) => {
    const before = await bind.dump(ZONE);
    await using own = await startScene({ config: buildConfig(bind, { [field]: value }) });
    const team = await own.team();
    const created = await own.api('POST', '/domains', { key: team.key, body: { name: 'wrong.example.com' } });
    const refused = await own.api('POST', `/domains/${created.body.id}/dns/configure`, { key: team.key });
    expect(refused.status).toBe(422);
    expect(refused.body.message).toContain(`(${why})`);
    expect(refused.body.message).toContain('ask the operator to check it');
    expect(await bind.dump(ZONE)).toEqual(before);
    expect(own.log.filter((line) => line.includes('refuses its key'))).toHaveLength(1);
  });
});

function buildConfig(bind: Bind, change: object = {}): NonNullable<SceneOptions['config']> {
  const office = {
    kind: 'rfc2136',
    zones: [ZONE],
    teams: ['*'],
    server: '127.0.0.1',
    port: bind.port,
    key_name: bind.key.name,
    key_algorithm: bind.key.algorithm,
    key_secret: bind.key.secret,
    ...change,
  };
  const config = {
    // The name server is the resolver as well, and remembers nothing.
    dns: { servers: [bind.server], timeout_ms: 2000, tries: 2, authority_port: bind.port },
    network: { mail_allow_private: ['127.0.0.0/8'], dns_allow_private: ['127.0.0.0/8'] },
    dns_providers: { office },
  };
  return config as unknown as NonNullable<SceneOptions['config']>;
}
