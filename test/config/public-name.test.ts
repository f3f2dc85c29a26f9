import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/platform/config/index.ts';
import { findFaults, loadToml } from './config-files.ts';

const serving = { isServing: true };

describe('the name of a server that sends real mail', () => {
  it.each([
    { why: 'this machine, whoever asks', host: 'localhost' },
    { why: 'the same in other letters', host: 'LocalHost' },
    { why: 'a name below it', host: 'mail.localhost' },
    { why: 'a name that nobody has', host: 'mail.invalid' },
    { why: 'a name of documents', host: 'mail.example' },
    { why: 'a bare name', host: 'mailserver' },
    { why: 'a name of the local link', host: 'raspberry.local' },
    { why: 'a name of a private network', host: 'mail.corp.internal' },
    { why: 'a name of a home', host: 'mail.home.arpa' },
  ])('is refused: $host ($why)', ({ host }) => {
    expect(findFaults(() => loadToml(`instance.host = "${host}"`, serving))).toEqual([
      `instance.host is "${host}", which other mail servers cannot look up: mail from it would be refused, and the SPF and MX ` +
        "records of every domain would name it. Give this machine's public name, such as mail.example.com: " +
        'host = "mail.example.com" under [instance] in rasket.toml',
    ]);
  });

  it('is not reported when the settings file cannot be read, which is reported instead', () => {
    const unread = () => loadConfig({ env: {}, file: 'no/such.toml', isServing: true });
    expect(findFaults(unread)).toEqual([expect.stringMatching(/^no\/such\.toml: the file cannot be read/)]);
    expect(findFaults(() => loadToml('[http', serving))).toEqual([expect.stringContaining('not valid TOML')]);
  });

  it.each(['192.0.2.1', '::1', '2130706433'])('cannot be %s for any command, because it is no host name', (host) => {
    expect(findFaults(() => loadToml(`instance.host = "${host}"`))).toEqual([
      `rasket.toml: instance.host must be a host name such as mail.example.com; got "${host}"`,
    ]);
  });

  it.each([
    {
      given: 'nowhere',
      env: {},
      says: /is "localhost", the default, .* a file named with --config or RASKET_CONFIG, or RASKET_INSTANCE/,
    },
    {
      given: 'by the environment',
      env: { RASKET_INSTANCE_HOST: 'localhost' },
      says: /: RASKET_INSTANCE_HOST=mail\.example\.com in the environment$/,
    },
  ])('is refused with the place for the right one when it is set $given', ({ env, says }) => {
    expect(findFaults(() => loadConfig({ env, ...serving }))).toEqual([expect.stringMatching(says)]);
  });

  it('is reported together with every other fault', () => {
    const load = () => loadToml('instance.host = "localhost"\nteam.default_plan = "gold"', serving);
    expect(findFaults(load)).toEqual([
      expect.stringContaining('team.default_plan'),
      expect.stringContaining('instance.host'),
    ]);
  });

  it.each([
    { why: 'a public name', toml: 'instance.host = "mail.example.com"' },
    { why: 'a name of a test network', toml: 'instance.host = "rasket.test"' },
    { why: 'a name that only ends alike', toml: 'instance.host = "mail.mylocal.com"' },
    { why: 'a closed network', toml: 'instance.host = "mail.corp.local"\nnetwork.mail_allow_private = ["10.0.0.0/8"]' },
    { why: 'mail that stays here', toml: 'delivery.capture = true' },
  ])('is accepted: $why', ({ toml }) => {
    expect(findFaults(() => loadToml(toml, serving))).toEqual([]);
  });

  it('is not required for the development profile and for commands that send nothing', () => {
    expect(findFaults(() => loadConfig({ env: {}, profile: 'development', ...serving }))).toEqual([]);
    expect(findFaults(() => loadConfig({ env: {} }))).toEqual([]);
  });

  it('cannot be localhost in a closed network either', () => {
    const toml = 'network.mail_allow_private = ["10.0.0.0/8"]';
    expect(findFaults(() => loadToml(toml, serving))).toEqual([
      expect.stringContaining('instance.host is "localhost"'),
    ]);
  });
});
