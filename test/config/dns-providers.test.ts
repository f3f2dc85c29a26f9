import { describe, expect, it } from 'vitest';
import { showConfig } from '../../src/platform/config/index.ts';
import { findFaults, loadToml } from './config-files.ts';

const secret = Buffer.alloc(32, 1).toString('base64');
const office = (more: string): string =>
  `[dns_providers.office]\nkind = "rfc2136"\nzones = ["example.com"]\nteams = ["acme"]\nserver = "ns.example.com"\nkey_name = "k"\n${more}`;

describe('a DNS provider', () => {
  it('that no team uses may be incomplete, like the shipped one', () => {
    const { config } = loadToml('[dns_providers.office]\nkind = "rfc2136"');
    expect(config.dns_providers['office']).toMatchObject({ teams: [], zones: [], port: 53, ttl_seconds: 300 });
    expect(config.dns_providers['cloudflare']).toMatchObject({ kind: 'cloudflare', teams: [] });
  });

  it('can have its secrets in the environment, and they are never shown', () => {
    const env = { RASKET_DNS_PROVIDERS_OFFICE_KEY_SECRET: secret, RASKET_DNS_PROVIDERS_CLOUDFLARE_TOKEN: 'cf-hidden' };
    const { config, sources } = loadToml(office(''), { env });
    expect(config.dns_providers['office']?.key_secret).toBe(secret);
    const shown = showConfig(config, sources);
    expect(shown).not.toContain(secret);
    expect(shown).not.toContain('cf-hidden');
    expect(shown).toContain('key_secret = "***"');
  });

  it.each([
    [office(''), 'has no key_secret and no key_secret_file; the kind rfc2136 needs it'],
    [office('key_secret_file = "key"\n').replace('server = "ns.example.com"', ''), 'has no server'],
    [office('key_secret_file = "key"\n').replace('key_name = "k"', ''), 'has no key_name'],
    [
      office('key_secret_file = "key"\n').replace('["example.com"]', '[]'),
      'has no zones; list the zones that it may change',
    ],
    ['[dns_providers.cloudflare]\nteams = ["*"]\nzones = ["example.com"]', 'has no token and no token_file'],
    [office('key_secret = "hidden"'), 'key_secret must be a TSIG secret in base64, 16 to 128 bytes long'],
    [office(`key_secret = "${Buffer.alloc(15).toString('base64')}"`), 'key_secret must be a TSIG secret in base64'],
    [office(`key_secret = "${Buffer.alloc(129).toString('base64')}"`), 'key_secret must be a TSIG secret in base64'],
    [office('key_algorithm = "hmac-md5"'), 'key_algorithm must be "hmac-sha256", "hmac-sha384" or "hmac-sha512"'],
    [office('port = 0'), 'port must be an integer from 1 to 65535'],
    [office('ttl_seconds = 29'), 'ttl_seconds must be an integer from 30 to 86400'],
    [office('').replace('"acme"', '"Acme Inc"'), 'teams[0] must be the slug of a team, or "*" for all'],
    [office('').replace('"example.com"', '"exam ple"'), 'zones[0] must be a host name'],
    [office('api_url = "http://api.example.com"'), 'api_url must be an https URL'],
    [office('api_url = "https://u:hidden@api.example.com"'), 'api_url must be an https URL'],
    [
      '[dns_providers.cloudflare]\ntoken = "hid den"',
      'token must be an API token of 1 to 500 characters without spaces',
    ],
  ])('with a fault stops the start: %# (%s)', (toml, says) => {
    const faults = findFaults(() => loadToml(toml)).join('\n');
    expect(faults).toContain(says);
    expect(faults).not.toMatch(/hidden|hid den/);
  });

  it.each([16, 128])('may have a secret of %i bytes', (bytes) => {
    const { config } = loadToml(office(`key_secret = "${Buffer.alloc(bytes, 1).toString('base64')}"`));
    expect(config.dns_providers['office']?.key_secret).not.toBe('');
  });
});
