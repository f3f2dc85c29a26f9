// an installation with the domains of two teams --> rasket host change --> a restart --> rasket host --> rasket host finish
import fs from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { publish, startScene, type Scene } from '../rig/scene.ts';
import { Desk, type Ended } from './desk.ts';

const OLD = 'mail.example.net';
const NEW = 'mx.example.net';

let desk: Desk;
let scene: Scene;
beforeEach(async () => {
  desk = new Desk();
  scene = await startScene({ config: { instance: { host: OLD, env: 'test' } } });
  scene.dns.set(OLD, 'A', ['192.0.2.10']);
  for (const name of ['a.example.com', 'b.example.com']) await (await scene.team(name.slice(0, 1))).domain(name);
  desk.write(
    'rasket.toml',
    `# Ours
[instance]
host = "${OLD}" # the first one
[http]
public_url = "https://${OLD}"
[dns]
servers = ["${scene.dns.server}"]
[acme]
names = ["www.${OLD}"]
`,
  );
});
afterEach(async () => {
  await scene.close();
  await desk.clear();
});

function rasket(...words: string[]): Promise<Ended> {
  const { driver, url, path } = scene.app.world.config.database;
  const database = driver === 'pg' ? { RASKET_DATABASE_URL: url } : { RASKET_DATABASE_PATH: path };
  const env = { RASKET_INSTANCE_HOST: undefined, RASKET_DATABASE_DRIVER: driver, ...database };
  return desk.rasket(['host', ...words, '--data', scene.dataDir, '--config', desk.at('rasket.toml')], { env });
}

async function works(...words: string[]): Promise<string> {
  const ended = await rasket(...words);
  expect(ended, ended.stderr).toMatchObject({ code: 0 });
  return ended.stdout;
}

const settings = (): string => fs.readFileSync(desk.at('rasket.toml'), 'utf8');
const publishHost = (): void => {
  scene.dns.set(NEW, 'A', ['192.0.2.10']);
  scene.dns.set('10.2.0.192.in-addr.arpa', 'PTR', [NEW]);
};

describe('rasket host change', () => {
  it('with --dry-run shows what to publish, what is in DNS, and the settings, and changes nothing', async () => {
    scene.dns.set('10.2.0.192.in-addr.arpa', 'PTR', [OLD]);
    scene.dns.set('send.a.example.com', 'TXT', [[`v=spf1 a:${OLD} a:${NEW} ~all`]]);
    const before = settings();
    const text = await works('change', NEW, '--dry-run');
    expect(text).toMatch(new RegExp(`A\\s+${NEW}\\s+192\\.0\\.2\\.10\\s+missing`));
    expect(text).toMatch(new RegExp(`PTR\\s+192\\.0\\.2\\.10\\s+${NEW}\\s+wrong`));
    expect(text).toMatch(new RegExp(`TXT\\s+${NEW}\\s+v=spf1 a -all\\s+missing`));
    expect(text).toContain(`[http] public_url = "https://${NEW}"`);
    expect(text).toContain('stay as they are: acme.names');
    expect(text).toContain('Nothing was changed.');
    const {
      domain_records: records,
      unheld_records: unheld,
      ...plan
    } = JSON.parse(await works('change', NEW, '--dry-run', '--json'));
    expect(plan).toMatchObject({ from: OLD, to: NEW, grace_days: 30, changed: false });
    expect(records).toMatchObject([
      { team: 'a', domain: 'a.example.com', type: 'MX', value: `10 ${NEW}`, state: 'wrong' },
      { team: 'a', domain: 'a.example.com', type: 'TXT', value: `v=spf1 a:${NEW} ~all`, state: 'published' },
      { team: 'b', domain: 'b.example.com', type: 'MX', value: `10 ${NEW}`, state: 'wrong' },
      { team: 'b', domain: 'b.example.com', type: 'TXT', state: 'wrong' },
    ]);
    expect(unheld).toEqual([]);
    expect(settings()).toBe(before);
    expect(await works('show')).toBe(`The host name is ${OLD}.\n`);
  });

  it('is refused while DNS does not have the addresses, for the present name, and for what is no host name', async () => {
    const before = settings();
    for (const [words, says] of [
      [['change', NEW], `DNS does not have ${NEW} A 192.0.2.10`],
      [['change', OLD], `${OLD} is the host name already`],
      [['change', 'not a name'], 'instance.host'],
      [['finish'], 'the host name is not being changed'],
    ] as const) {
      const ended = await rasket(...words);
      expect([ended.code, ended.stdout]).toEqual([expect.any(Number), '']);
      expect(ended.code).not.toBe(0);
      expect(ended.stderr).toContain(says);
    }
    expect(settings()).toBe(before);
  });

  it('keeps comments, lets both names count, shows what contains the former one, and ends with finish', async () => {
    publishHost();
    const text = await works('change', NEW);
    expect(text).toContain('Restart the service');
    expect(settings()).toContain(
      `# Ours\n[instance]\nhost = "${NEW}" # the first one\n[http]\npublic_url = "https://${NEW}"`,
    );
    const audit = await scene.app.world.db.all('select action, details from audit_log order by id desc limit 1', []);
    expect(audit).toMatchObject([{ action: 'instance.host_changed', details: JSON.stringify({ from: OLD, to: NEW }) }]);
    // As on a second node, whose settings are changed already.
    expect(await works('change', NEW)).toContain('Nothing was changed.');
    const other = await rasket('change', 'third.example.net');
    expect(other.stderr).toContain(`the change from ${OLD} to ${NEW} is not finished`);

    await scene.restart({ instance: { ...scene.app.world.config.instance, host: NEW } });
    const shown = await works();
    expect(shown).toContain(`It is being changed from ${OLD} to ${NEW}. Both names count until `);
    expect(shown).toContain(`4 records of 2 domains contain ${OLD}`);
    const early = await rasket('finish');
    expect([early.code, early.stderr]).toEqual([1, expect.stringContaining('4 records of domains still contain')]);

    for (const name of ['a.example.com', 'b.example.com']) {
      publish(scene.dns, {
        records: [
          { type: 'MX', name: `send.${name}`, value: NEW, priority: 10 },
          { type: 'TXT', name: `send.${name}`, value: `v=spf1 a:${NEW} ~all` },
        ],
      });
    }
    scene.clock.advance(60_000);
    await scene.app.jobs.find(({ name }) => name === 'sweep-domains')?.run();
    expect(await works()).toContain(`No record of a domain contains ${OLD}.`);
    expect(await works('finish')).toContain(`Only ${NEW} counts now.`);
    expect(await works()).toContain(
      `and ${OLD} no longer counts.\nAll records that contain the host name are verified.`,
    );
  });

  it('lists the records of domains that are not verified under a heading of their own', async () => {
    const { key } = await scene.team('c');
    const made = await scene.api('POST', '/domains', { key, body: { name: 'c.example.com' } });
    expect(made.status, made.text).toBeLessThan(300);
    publishHost();
    const text = await works('change', NEW, '--dry-run');
    const [held = '', unheld = ''] = text.split('Domains that are not verified');
    expect(held).not.toContain('c.example.com');
    expect(unheld).toMatch(
      new RegExp(`c\\s+c\\.example\\.com\\s+TXT\\s+send\\.c\\.example\\.com\\s+v=spf1 a:${NEW} ~all\\s+missing`),
    );
    expect(unheld).not.toContain('a.example.com');

    await works('change', NEW);
    await scene.restart({ instance: { ...scene.app.world.config.instance, host: NEW } });
    publish(scene.dns, {
      records: [{ type: 'MX', name: 'send.c.example.com', value: OLD, priority: 10 }],
    });
    await scene.api('POST', `/domains/${made.body.id}/verify`, { key });
    const { records, unheld_records: others } = JSON.parse(await works('show', '--json'));
    expect(records).toHaveLength(4);
    expect(others).toMatchObject([{ team: 'c', domain: 'c.example.com', type: 'MX', value: `10 ${NEW}` }]);
    expect(await works()).toMatch(/Domains that are not verified[^]*c\.example\.com/);
  });

  it('says that records are unknown, not missing, while the resolver does not answer', async () => {
    scene.dns.set(NEW, 'A', 'SERVFAIL');
    scene.dns.set(NEW, 'AAAA', 'SERVFAIL');
    scene.dns.set('10.2.0.192.in-addr.arpa', 'PTR', 'SERVFAIL');
    const { host_records: records } = JSON.parse(await works('change', NEW, '--dry-run', '--json'));
    expect(records).toMatchObject([
      { type: 'A', state: 'unknown' },
      { type: 'PTR', state: 'unknown' },
      { type: 'TXT' },
    ]);
    const refused = await rasket('change', NEW);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain(`DNS does not answer for ${NEW}`);
    scene.dns.set(OLD, 'A', 'SERVFAIL');
    scene.dns.set(OLD, 'AAAA', 'SERVFAIL');
    expect(await works('change', NEW, '--dry-run')).toMatch(/the address of this machine\s+unknown/);
  });

  it('goes back to the former name within the grace period', async () => {
    publishHost();
    await works('change', NEW);
    await works('change', OLD);
    expect(settings()).toContain(`host = "${OLD}" # the first one`);
    expect(await works()).toContain(`It is being changed from ${NEW} to ${OLD}.`);
  });
});
