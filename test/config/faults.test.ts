import { describe, expect, it } from 'vitest';
import { ConfigFault, loadConfig } from '../../src/platform/config/index.ts';
import { findFaults, loadToml } from './config-files.ts';

const port = 'an integer from 0 to 65535 (TCP port; 0 takes any free one)';

describe('a file that cannot be read as TOML is named', () => {
  it.each([
    {
      why: 'the third line has no value',
      toml: '[http]\nport = 1\nhost =\n',
      fault: 'rasket.toml:3:7: not valid TOML: ',
    },
    { why: 'a key given twice', toml: '[http]\nport = 1\nport = 2\n', fault: 'rasket.toml:3:1: not valid TOML: ' },
    { why: 'a string without end', toml: 'instance.host = "mail\n', fault: 'rasket.toml:1:22: not valid TOML: ' },
  ])('with line and column: $why', ({ toml, fault }) => {
    const [first, ...others] = findFaults(() => loadToml(toml));
    expect(first).toMatch(/^[^\n]+$/);
    expect(first?.slice(0, fault.length)).toBe(fault);
    expect(others).toEqual([]);
  });

  it('without the line itself, which may contain a password', () => {
    const faults = findFaults(() => loadToml('database.url = "postgres://me:hidden@db/rasket" x'));
    expect(faults).toHaveLength(1);
    expect(faults.join()).not.toContain('hidden');
  });

  it('when it is not UTF-8', () => {
    const latin1 = Uint8Array.of(0x23, 0x20, 0xe9, 0x0a);
    expect(findFaults(() => loadToml(latin1))).toEqual([
      'rasket.toml: the file is not UTF-8 text, which TOML requires',
    ]);
  });

  it('when it does not exist', () => {
    expect(findFaults(() => loadConfig({ env: {}, file: 'no/such.toml' }))).toEqual([
      'no/such.toml: the file cannot be read (ENOENT); there is no such file; give the path of a TOML file',
    ]);
  });
});

describe('all faults of a configuration', () => {
  it('are listed from the file, the environment, the overrides and the rules between settings', () => {
    const load = () =>
      loadToml('[http]\nprot = 1\nhost = ""\n[delivery]\ncapture = "no"', {
        env: { RASKET_HTTP_PORT: 'x', RASKET_LOG_LEVL: 'info' },
        overrides: { dns: { tries: 0 }, team: { default_plan: 'gold' } },
      });
    expect(findFaults(load)).toEqual([
      'rasket.toml: http.prot is not a setting; did you mean http.port?',
      'rasket.toml: http.host must be an IP address or a host name of this machine, such as 127.0.0.1; got ""',
      'rasket.toml: delivery.capture must be true or false; got "no"',
      `RASKET_HTTP_PORT: http.port must be ${port}; got "x"`,
      'environment: RASKET_LOG_LEVL is not a setting; did you mean RASKET_LOG_LEVEL (log.level)?',
      'override: dns.tries must be an integer from 1 to 10 (questions); got 0',
      'team.default_plan is "gold", but there is no [plans.gold]; there are standard',
    ]);
  });

  it('are in the message, one on each line', () => {
    expect(() => loadToml('http.port = -1\nhttp.prot = 1')).toThrow(
      new ConfigFault([
        `rasket.toml: http.port must be ${port}; got -1`,
        'rasket.toml: http.prot is not a setting; did you mean http.port?',
      ]),
    );
    expect(new ConfigFault(['one', 'two']).message).toBe('The configuration has 2 faults:\n  - one\n  - two');
  });

  it('exclude those that only follow from another fault', () => {
    const faults = findFaults(() => loadToml('[database]\ndrivr = "pg"\nurl = "postgres://db/rasket"'));
    expect(faults).toEqual(['rasket.toml: database.drivr is not a setting; did you mean database.driver?']);
  });

  it('include a bad value of the file even when the environment has a good one', () => {
    const faults = findFaults(() => loadToml('http.port = -1', { env: { RASKET_HTTP_PORT: '80' } }));
    expect(faults).toEqual([`rasket.toml: http.port must be ${port}; got -1`]);
  });
});

describe('a secret is never quoted', () => {
  it.each([
    { why: 'not a URL of PostgreSQL', toml: 'database.url = "mysql://me:hidden@db/rasket"' },
    { why: 'the other notation of PostgreSQL', toml: 'database.url = "host=db password=hidden"' },
    { why: 'an unescaped password', toml: 'database.url = "postgres://me:hidden#1@db/rasket"' },
    { why: 'a list', toml: 'database.url = ["postgres://me:hidden@db/rasket"]' },
    { why: 'the section was meant', toml: 'database = "postgres://me:hidden@db/rasket"' },
    { why: 'the key is mistyped', toml: 'database.uri = "postgres://me:hidden@db/rasket"' },
    { why: 'another setting was hit', toml: 'log.level = "postgres://me:hidden@db/rasket"' },
    { why: 'a smarthost takes none', toml: 'regions.eu-west-1.smarthost = "me:hidden@relay.example.com:587"' },
  ])('when the fault is: $why', ({ toml }) => {
    const faults = findFaults(() => loadToml(toml));
    expect(faults).toHaveLength(1);
    expect(faults.join()).not.toContain('hidden');
  });
});
