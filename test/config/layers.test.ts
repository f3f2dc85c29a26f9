import { describe, expect, it } from 'vitest';
import { loadConfig, showConfig } from '../../src/platform/config/index.ts';
import { parse } from 'smol-toml';
import { loadToml } from './config-files.ts';

describe('a later layer takes precedence over an earlier one', () => {
  const env = { RASKET_LOG_FORMAT: 'json' };
  const toml = '[log]\nformat = "pretty"\n[http]\nport = 1\n[dns]\ntries = 5';

  it.each([
    { why: 'default', load: () => loadConfig({ env: {} }), format: 'json', source: 'default' },
    {
      why: 'profile',
      load: () => loadConfig({ env: {}, profile: 'development' }),
      format: 'pretty',
      source: 'profile',
    },
    { why: 'file over default', load: () => loadToml(toml), format: 'pretty', source: 'file' },
    {
      why: 'file over profile',
      load: () => loadToml('log.format = "json"', { profile: 'development' }),
      format: 'json',
      source: 'file',
    },
    { why: 'environment over file', load: () => loadToml(toml, { env }), format: 'json', source: 'env' },
    {
      why: 'override over environment',
      load: () => loadToml(toml, { env, overrides: { log: { format: 'pretty' } } }),
      format: 'pretty',
      source: 'override',
    },
  ] as const)('as in: $why', ({ load, format, source }) => {
    const { config, sources } = load();
    expect(config.log.format).toBe(format);
    expect(sources.get('log.format')).toBe(source);
  });

  it('key by key: a list is replaced whole, and a section is not', () => {
    const { config } = loadToml('delivery.retry_minutes = [1, 2]', { overrides: { http: { port: 0 } } });
    expect(config.http).toMatchObject({ port: 0, host: '127.0.0.1' });
    expect(config.delivery.retry_minutes).toEqual([1, 2]);
  });

  it('except when its value is undefined', () => {
    expect(loadConfig({ env: {}, overrides: { http: { port: undefined } } }).sources.get('http.port')).toBe('default');
  });
});

describe('the profiles', () => {
  it('include production, which is the default and delivers mail', () => {
    expect(loadConfig({ env: {} }).config).toEqual(loadConfig({ env: {}, profile: 'production' }).config);
    expect(loadConfig({ env: {} }).config.delivery.capture).toBe(false);
  });

  it('include development, which sends nothing from the machine and listens on loopback', () => {
    const { config } = loadConfig({ env: {}, profile: 'development' });
    expect(config.delivery.capture).toBe(true);
    expect(config.http.host).toBe('127.0.0.1');
    expect(config.instance.env).toBe('development');
  });

  it('repeat no default value', () => {
    const plain = inSections(showConfig(...both(loadConfig({ env: {} }))));
    const changed = inSections(showConfig(...both(loadConfig({ env: {}, profile: 'development' }))));
    const marked = changed.filter((line) => line.includes('# from the profile'));
    expect(marked.length).toBeGreaterThan(0);
    expect(marked.filter((line) => plain.includes(line.replace(/ {2}#.*/, '')))).toEqual([]);
  });
});

describe('an entry with a name of your own', () => {
  it('takes missing settings from the shipped defaults, not from changes to another entry', () => {
    const { config, sources } = loadToml(
      '[plans.pro]\nname = "Pro"\n[plans.standard]\ndomain_limit = 1\n[regions.home]',
    );
    expect(config.plans['pro']).toEqual({ ...loadConfig({ env: {} }).config.plans['standard'], name: 'Pro' });
    expect(config.regions['home']).toEqual({
      helo_name: '',
      relay: '',
      source_v4: '',
      source_v6: '',
      address_family: 'auto',
      smarthost: '',
      sandbox: false,
    });
    expect(sources.get('plans.pro.domain_limit')).toBe('default');
    expect(sources.get('plans.pro.name')).toBe('file');
  });

  it('can be the default for teams', () => {
    const { config } = loadToml('team.default_plan = "pro"\nplans.pro.name = "Pro"');
    expect(config.team.default_plan).toBe('pro');
  });
});

describe('the configuration', () => {
  it('retries for about two days and then gives up', () => {
    const { delivery } = loadConfig({ env: {} }).config;
    expect(delivery.retry_minutes.reduce((sum, wait) => sum + wait)).toBe(47 * 60 + 51);
  });

  it('cannot be changed while the program runs, including its lists', () => {
    const { config } = loadConfig({ env: {} });
    expect(() => Object.assign(config.http, { port: 1 })).toThrow(TypeError);
    expect(() => Object.assign(config.delivery.retry_minutes, [0])).toThrow(TypeError);
  });

  it.each([
    'https://api.openai.com/v1',
    'http://127.0.0.1:11434/v1',
    'http://localhost:8080',
    'http://[::1]:8080/v1',
    'http://192.168.1.5:8000/v1',
    '',
  ])('accepts %j as the server of a model', (url) => {
    expect(loadToml(`ai.url = "${url}"\nai.model = "m"`).config.ai.url).toBe(url);
  });

  it.each([
    { url: 'http://api.example.com/v1', why: 'texts would cross the internet in clear' },
    { url: 'http://203.0.113.7/v1', why: 'as by a public address' },
    { url: 'https://user:key@api.example.com', why: 'a key stands in a file of its own' },
    { url: 'https://api.example.com/v1/', why: 'a path is added behind it' },
    { url: 'https://api.example.com/v1?key=1', why: 'a path is added behind it' },
    { url: 'api.example.com', why: 'it is no URL' },
  ])('refuses $url as the server of a model: $why', ({ url }) => {
    expect(() => loadToml(`ai.url = "${url}"\nai.model = "m"`)).toThrow(/ai\.url/);
  });

  it('requires the name of the model when its server is set', () => {
    expect(() => loadToml('ai.url = "https://api.example.com/v1"')).toThrow(/ai\.model/);
  });

  it('uses no certificate authority by default, and accepts one only by https', () => {
    expect(loadConfig({ env: {} }).config).toMatchObject({
      https: { ports: [], redirect_ports: [] },
      acme: { directory: '', agree_to_terms: false, challenge: 'http-01', orders_per_hour: 20, tracking_hosts: true },
    });
    for (const directory of ['http://ca.example/dir', 'ca.example', 'https://user@ca.example/dir'])
      expect(() => loadToml(`acme.directory = "${directory}"\nacme.agree_to_terms = true`)).toThrow(/acme\.directory/);
    for (const name of ['*', '*.', '*.*.example.com', 'a.*.example.com', '*example.com'])
      expect(() => loadToml(`acme.names = ["${name}"]`), name).toThrow(/acme\.names/);
    expect(loadConfig({ env: {} }).config.acme).toMatchObject({ dns_provider: '', dns_seconds: 180 });
    const own = '[tls]\ncertificate_file = "own.pem"\n[acme]\ndirectory = "https://ca.example/dir"';
    expect(loadToml(own).config.tls.certificate_file).toBe('own.pem');
  });

  it('makes no scheduled backups by default, and one before every upgrade', () => {
    expect(loadConfig({ env: {} }).config).toMatchObject({
      backup: { schedule: '', keep: 7, directory: 'backups', max_age_hours: 36, pg_programs: '' },
      upgrade: { backup: true, backup_age_hours: 24, room_percent: 100, beside_old_nodes: false },
    });
    expect(loadToml('backup.schedule = "23:59"\nupgrade.backup_age_hours = 0').config).toMatchObject({
      backup: { schedule: '23:59' },
      upgrade: { backup_age_hours: null },
    });
    for (const time of ['24:00', '3:30', '03:60', 'daily', '30 3 * * *'])
      expect(() => loadToml(`backup.schedule = "${time}"`), time).toThrow(
        /backup\.schedule must be a time of day in UTC/,
      );
    for (const keep of [0, 1001])
      expect(() => loadToml(`backup.keep = ${keep}`)).toThrow(/backup\.keep must be an integer/);
    const onServer = '[database]\ndriver = "pg"\nurl = "postgres://rasket@/rasket?host=/run/postgresql"\n';
    const programs = '/usr/lib/postgresql/17/bin';
    const { backup } = loadToml(`${onServer}[backup]\nschedule = "03:30"\npg_programs = "${programs}"`).config;
    expect(backup).toMatchObject({ schedule: '03:30', pg_programs: programs });
    expect(() => loadToml('backup.pg_programs = "bin"')).toThrow(
      /backup\.pg_programs must be the path of a folder from the root/,
    );
  });

  it('accepts SPF macros next to its own placeholder', () => {
    const spf = 'v=spf1 exists:%{i}.spf.{host} -all';
    expect(loadConfig({ env: {}, overrides: { domains: { spf } } }).config.domains.spf).toBe(spf);
  });
});

/** Each line behind its section: names such as `host` stand in several. */
function inSections(toml: string): string[] {
  let section = '';
  return toml.split('\n').map((line) => {
    section = /^\[.+\]$/.exec(line)?.[0] ?? section;
    return `${section} ${line}`;
  });
}

describe('the shown configuration', () => {
  it('is TOML that gives the same configuration again', () => {
    const first = loadToml('[plans.pro]\nname = "Pro \\"1\\""\ndaily_cap = 5\n[http]\ntrusted_proxies = ["::1/128"]');
    expect(loadToml(showConfig(...both(first))).config).toEqual(first.config);
  });

  it('names the source of each value that is not a default', () => {
    const loaded = loadToml('[http]\nport = 1', {
      profile: 'development',
      env: { RASKET_REGIONS_EU_WEST_1_SANDBOX: 'true' },
      overrides: { dns: { tries: 3 } },
    });
    const comments = showConfig(...both(loaded))
      .split('\n[providers.')[0]
      ?.split('\n')
      .filter((line) => line.includes('#'));
    expect(comments).toEqual([
      'env = "development"  # from the profile',
      'port = 1  # from the file',
      'host = "127.0.0.1"  # from the profile',
      'ports = [ 2587 ]  # from the profile',
      'tls_ports = [ 2465 ]  # from the profile',
      'insecure_login = true  # from the profile',
      'ports = [ 2525 ]  # from the profile',
      'greeting_delay_ms = 0  # from the profile',
      'tries = 3  # from an override',
      'capture = true  # from the profile',
      'any_sender = true  # from the profile',
      'http_allow_private = [ "127.0.0.0/8", "::1/128" ]  # from the profile',
      'requests_per_second = 1000  # from the profile',
      'burst = 1000  # from the profile',
      'backup = false  # from the profile',
      'backup_age_hours = 0  # from the profile',
      'subjects = "text"  # from the profile',
      'format = "pretty"  # from the profile',
      'scanner_seconds = 0  # from the profile',
      'secure_cookie = false  # from the profile',
      'allow_private = [ "127.0.0.0/8", "::1/128" ]  # from the profile',
      'sandbox = true  # from the environment, RASKET_REGIONS_EU_WEST_1_SANDBOX',
    ]);
  });

  it.each([
    { why: 'a password', url: 'postgres://me:hidden@db/rasket', shown: 'postgres://me:***@db/rasket' },
    {
      why: 'a password in the query',
      url: 'postgres://db/rasket?user=me&password=hidden',
      shown: 'postgres://db/rasket?user=me&password=***',
    },
    { why: 'an encoded password', url: 'postgres://me:hidden%23%40@db/rasket', shown: 'postgres://me:***@db/rasket' },
    {
      why: 'a password without a host',
      url: 'postgres://me:hidden@/rasket?host=/run/postgresql',
      shown: 'postgres://me:***@/rasket?host=/run/postgresql',
    },
    {
      why: 'a user without password and host, which is nothing,',
      url: 'postgres://me@/rasket?host=/run/postgresql',
      shown: 'postgres://me@/rasket?host=/run/postgresql',
    },
    {
      why: 'nothing to hide',
      url: 'postgres:///rasket?host=/run/postgresql',
      shown: 'postgres:///rasket?host=/run/postgresql',
    },
  ])('masks $why', ({ url, shown }) => {
    const loaded = loadConfig({ env: { RASKET_DATABASE_DRIVER: 'pg', RASKET_DATABASE_URL: url } });
    const text = showConfig(...both(loaded));
    expect(loaded.config.database.url).toBe(url);
    expect(text).not.toContain('hidden');
    expect(parse(text)['database']).toMatchObject({ url: shown });
  });
});

function both(loaded: ReturnType<typeof loadConfig>): Parameters<typeof showConfig> {
  return [loaded.config, loaded.sources];
}
