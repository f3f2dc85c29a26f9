import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/platform/config/index.ts';
import { findFaults, loadToml } from './config-files.ts';

function read(config: object, key: string): unknown {
  return key.split('.').reduce<unknown>((table, name) => (table as Record<string, unknown>)[name], config);
}

describe('an environment variable sets', () => {
  it.each([
    { why: 'an integer', name: 'RASKET_HTTP_PORT', text: '8025', key: 'http.port', value: 8025 },
    { why: 'an integer with space around it', name: 'RASKET_HTTP_PORT', text: ' 8025 ', key: 'http.port', value: 8025 },
    { why: 'true', name: 'RASKET_DELIVERY_CAPTURE', text: 'true', key: 'delivery.capture', value: true },
    {
      why: 'false',
      name: 'RASKET_REGIONS_US_EAST_1_SANDBOX',
      text: 'false',
      key: 'regions.us-east-1.sandbox',
      value: false,
    },
    { why: 'a word', name: 'RASKET_LOG_LEVEL', text: 'debug', key: 'log.level', value: 'debug' },
    {
      why: 'text with commas and spaces',
      name: 'RASKET_DOMAINS_SWEEP',
      text: '0,30 * * * *',
      key: 'domains.sweep',
      value: '0,30 * * * *',
    },
    { why: 'empty text', name: 'RASKET_HTTP_PUBLIC_URL', text: '', key: 'http.public_url', value: '' },
    {
      why: 'a list of text',
      name: 'RASKET_HTTP_TRUSTED_PROXIES',
      text: '10.0.0.0/8, ::1/128',
      key: 'http.trusted_proxies',
      value: ['10.0.0.0/8', '::1/128'],
    },
    {
      why: 'a list of integers',
      name: 'RASKET_DELIVERY_RETRY_MINUTES',
      text: '1,2, 3',
      key: 'delivery.retry_minutes',
      value: [1, 2, 3],
    },
    { why: 'an empty list', name: 'RASKET_DNS_SERVERS', text: '', key: 'dns.servers', value: [] },
    {
      why: 'no limit',
      name: 'RASKET_PLANS_STANDARD_DAILY_CAP',
      text: '0',
      key: 'plans.standard.daily_cap',
      value: null,
    },
    { why: 'a limit', name: 'RASKET_PLANS_STANDARD_DAILY_CAP', text: '7', key: 'plans.standard.daily_cap', value: 7 },
    {
      why: 'a setting of a name with hyphens',
      name: 'RASKET_REGIONS_EU_WEST_1_HELO_NAME',
      text: 'out.example.com',
      key: 'regions.eu-west-1.helo_name',
      value: 'out.example.com',
    },
    {
      why: 'an IPv6 resolver with port',
      name: 'RASKET_DNS_SERVERS',
      text: '[2001:db8::53]:5353',
      key: 'dns.servers',
      value: ['[2001:db8::53]:5353'],
    },
  ])('$why: $name=$text', ({ name, text, key, value }) => {
    const { config, sources } = loadConfig({ env: { [name]: text } });
    expect(read(config, key)).toEqual(value);
    expect([...sources].filter(([, source]) => source !== 'default')).toEqual([[key, 'env']]);
  });

  it('every setting, and no two share a name', () => {
    const defaults = loadConfig({ env: {} });
    const keys = [...defaults.sources.keys()];
    const env = Object.fromEntries(
      keys.map((key) => {
        const value = read(defaults.config, key);
        const name = `RASKET_${key.toUpperCase().replaceAll('.', '_').replaceAll('-', '_')}`;
        return [name, Array.isArray(value) ? value.join(',') : String(value ?? 0)];
      }),
    );
    expect(Object.keys(env)).toHaveLength(keys.length);
    const { config, sources } = loadConfig({ env });
    expect(config).toEqual(defaults.config);
    expect([...sources.values()].filter((source) => source !== 'env')).toEqual([]);
  });

  it('a setting of a plan that only the file defines', () => {
    const { config } = loadToml('[plans.pro-plus]\nname = "Pro"', { env: { RASKET_PLANS_PRO_PLUS_DAILY_CAP: '9' } });
    expect(config.plans['pro-plus']?.daily_cap).toBe(9);
  });
});

describe('an environment variable stops the start', () => {
  it.each([
    {
      why: 'a mistyped name',
      name: 'RASKET_HTTP_PROT',
      fault: 'environment: RASKET_HTTP_PROT is not a setting; did you mean RASKET_HTTP_PORT (http.port)?',
    },
    {
      why: 'no section',
      name: 'RASKET_PORT',
      fault: 'environment: RASKET_PORT is not a setting; did you mean RASKET_HTTP_PORT (http.port)?',
    },
    {
      why: 'small letters',
      name: 'RASKET_http_port',
      fault: 'environment: RASKET_http_port is not a setting; did you mean RASKET_HTTP_PORT (http.port)?',
    },
    {
      why: 'a name near one that is not a setting',
      name: 'RASKET_API_KEYS',
      fault: 'environment: RASKET_API_KEYS is not a setting; did you mean RASKET_API_KEY?',
    },
    {
      why: 'a plan nobody defined',
      name: 'RASKET_PLANS_GOLD_MINE_DAILY_CAP',
      fault:
        'environment: RASKET_PLANS_GOLD_MINE_DAILY_CAP matches none of plans.standard; add [plans.<name>] to your file to create another one',
    },
    {
      why: 'text for a number',
      name: 'RASKET_DNS_TRIES',
      fault: 'RASKET_DNS_TRIES: dns.tries must be an integer from 1 to 10 (questions); got "1e1"',
    },
    {
      why: 'another word for true',
      name: 'RASKET_DELIVERY_CAPTURE',
      fault: 'RASKET_DELIVERY_CAPTURE: delivery.capture must be true or false; got "1e1"',
    },
    {
      why: 'a bad item of a list',
      name: 'RASKET_DELIVERY_RETRY_MINUTES',
      fault:
        'RASKET_DELIVERY_RETRY_MINUTES: delivery.retry_minutes[0] must be an integer from 1 to 10080 (minutes); got "1e1"',
    },
  ])('with $why: $name', ({ name, fault }) => {
    expect(findFaults(() => loadConfig({ env: { [name]: '1e1' } }))).toEqual([fault]);
  });

  it('when a number is empty, because that is rarely intended', () => {
    expect(findFaults(() => loadConfig({ env: { RASKET_DNS_TRIES: '' } }))).toEqual([
      'RASKET_DNS_TRIES: dns.tries must be an integer from 1 to 10 (questions); got ""',
    ]);
  });

  it('without its secret in the message', () => {
    const faults = findFaults(() =>
      loadConfig({ env: { RASKET_DATABASE_URL: 'me:hidden@db', RASKET_DATABASE_URI: 'me:hidden@db' } }),
    );
    expect(faults).toHaveLength(2);
    expect(faults.join()).not.toContain('hidden');
  });
});

it('a variable that resembles no setting belongs to another program, and causes only a warning', () => {
  const { config, warnings } = loadConfig({ env: { RASKET_FLAVOUR: 'x', RASKET_HTTP_PORT: '8025' } });
  expect(config.http.port).toBe(8025);
  expect(warnings).toEqual([
    'environment: RASKET_FLAVOUR is not a setting and is ignored; config/default.toml lists them all',
  ]);
});

describe('the configuration ignores', () => {
  it.each([
    'RASKET_API_KEY',
    'RASKET_URL',
    'RASKET_DATA',
    'RASKET_CONFIG',
    'RASKET_PROFILE',
    'RASKET_BASE_URL',
    'RASKET_TEST_PG_URL',
    'RASKET_BENCH_X',
    'RASKET_CI_X',
    'HTTP_PORT',
    'PATH',
  ])('%s', (name) => {
    const { sources, warnings } = loadConfig({ env: { [name]: 'anything' } });
    expect(warnings).toEqual([]);
    expect(new Set(sources.values())).toEqual(new Set(['default']));
  });

  it('variables without a value', () => {
    expect(loadConfig({ env: { RASKET_HTTP_PORT: undefined, RASKET_FLAVOUR: undefined } }).config.http.port).toBe(3000);
  });
});
