import { describe, expect, it } from 'vitest';
import { showConfig } from '../../src/platform/config/index.ts';
import { findFaults, loadToml } from './config-files.ts';

const relay = (more: string, name = 'ses'): string =>
  `delivery.relay = "${name}"\n[relays.ses]\nhost = "smtp.example.com"\nuser = "me"\n${more}`;

describe('a relay', () => {
  it('that no mail uses may be incomplete, like the shipped one', () => {
    const { config } = loadToml('[relays.ses]\nuser = "me"');
    expect(config.relays['ses']).toMatchObject({ host: '', port: 587, tls: 'starttls', authentication: 'auto' });
    expect(Object.keys(config.relays)).toEqual(['main', 'ses']);
  });

  it('can have its password in the environment, and it is never shown', () => {
    const env = { RASKET_RELAYS_SES_PASSWORD: 'from-the-environment' };
    const { config, sources } = loadToml(relay(''), { env });
    expect(config.relays['ses']?.password).toBe('from-the-environment');
    const shown = showConfig(config, sources);
    expect(shown).not.toContain('from-the-environment');
    expect(shown).toContain('password = "***"');
  });

  it('can be set up by the environment alone when it is the shipped one', () => {
    const env = {
      RASKET_DELIVERY_RELAY: 'main',
      RASKET_RELAYS_MAIN_HOST: 'smtp.example.com',
      RASKET_RELAYS_MAIN_USER: 'me',
      RASKET_RELAYS_MAIN_PASSWORD: 'secret',
    };
    expect(loadToml('', { env }).config.relays['main']).toMatchObject({ host: 'smtp.example.com', user: 'me' });
  });

  it.each([
    [relay('', 'sess'), 'delivery.relay is "sess", but there is no [relays.sess]; did you mean ses?'],
    ['delivery.fallback_relay = "no"', 'delivery.fallback_relay is "no", but there is no [relays.no]'],
    ['regions.eu-west-1.relay = "no"', 'regions.eu-west-1.relay is "no", but there is no [relays.no]'],
    ['delivery.relay = "main"', 'relays.main has no host, but mail is to be sent through it; set its host'],
    ['relays.main.domains = ["example.com"]', 'relays.main has no host'],
    [relay(''), 'has a user but no password, password_file or token_file'],
    [relay('password = "hidden"\npassword_file = "p"'), 'has password and password_file; keep only one of them'],
    [relay('password = "hidden"').replace('user = "me"\n', ''), 'has a password but no user'],
    [relay('authentication = "none"'), 'has a user and authentication = "none"'],
    [relay('password = "hidden"\nauthentication = "xoauth2"'), 'which needs a token_file and not a password'],
    [relay('token_file = "t"\nauthentication = "plain"'), 'which is for authentication = "xoauth2" and not "plain"'],
    [relay('authentication = "login"').replace('user = "me"\n', ''), 'has authentication = "login" but no user'],
    [relay('password = "hid\\nden"'), 'password must be a password of 1 to 1000 characters on one line'],
    [relay('password = "hidden"\ntls = "none"'), 'tls must be "starttls" or "implicit"'],
    ['[relays.direct]\nhost = "smtp.example.com"', '[relays.direct] cannot be chosen'],
    [
      '[relays.a]\nhost = "a.example"\ndomains = ["Example.com"]\n[relays.b]\nhost = "b.example"\ndomains = ["example.com"]',
      'relays.b and relays.a both have the domain example.com',
    ],
    [
      relay('password = "hidden"\n[regions.eu-west-1]\nsmarthost = "relay:25"\nrelay = "ses"'),
      'regions.eu-west-1.relay and regions.eu-west-1.smarthost are both set',
    ],
  ])('with a fault stops the start: %# (%s)', (toml, says) => {
    const faults = findFaults(() => loadToml(toml)).join('\n');
    expect(faults).toContain(says);
    expect(faults).not.toMatch(/hidden|hid\\nden/);
  });
});
