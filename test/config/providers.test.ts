import { describe, expect, it } from 'vitest';
import { loadConfig, showConfig } from '../../src/platform/config/index.ts';
import { findFaults, loadToml } from './config-files.ts';

describe('a mailbox provider', () => {
  it('keeps the shipped value of a setting that is empty or absent', () => {
    const shipped = loadConfig({ env: {} }).config.providers;
    const empty = '[providers.google]\nconnections = ""\ntitle = ""\nmx = []\naddress_family = ""';
    expect(loadToml(empty).config.providers).toEqual(shipped);
    expect(loadToml('[providers.google]').config.providers).toEqual(shipped);
    const env = { RASKET_PROVIDERS_GOOGLE_CONNECTIONS: '', RASKET_PROVIDERS_GOOGLE_MX: '' };
    expect(loadConfig({ env }).config.providers).toEqual(shipped);
  });

  it('has its limits from the environment too', () => {
    const env = { RASKET_PROVIDERS_MICROSOFT_365_CONNECTIONS: '7', RASKET_PROVIDERS_OWN_TLS: 'required' };
    const { config } = loadToml('[providers.own]\nmx = ["mx.acme.example"]', { env });
    expect(config.providers['microsoft-365']?.connections).toBe(7);
    expect(config.providers['own']).toMatchObject({ title: 'own', tls: 'required', connections: null });
  });

  it('has the names of its servers in lower case and without a final dot', () => {
    const { config } = loadToml(
      '[providers.own]\nmx = ["MX.Acme.example.", ".Acme.example."]\ndomains = ["Acme.Example."]',
    );
    expect(config.providers['own']).toMatchObject({
      mx: ['mx.acme.example', '.acme.example'],
      domains: ['acme.example'],
    });
  });

  const own = (more: string): string => `[providers.own]\nmx = ["mx.acme.example"]\n${more}`;

  it.each([
    [own('connections = -1'), 'providers.own.connections must be an integer from 0 to 10000'],
    [own('connections_per_site = 0'), 'providers.own.connections_per_site must be an integer from 1 to 10000'],
    [own('messages_per_connection = 0'), 'providers.own.messages_per_connection must be an integer from 1 to 10000'],
    [own('messages_per_minute = 1.5'), 'providers.own.messages_per_minute must be an integer from 0 to 1000000'],
    [own('message_burst = 0'), 'providers.own.message_burst must be an integer from 1 to 10000'],
    [own('connections_per_minute = "9"'), 'providers.own.connections_per_minute must be an integer from 0 to 100000'],
    [own('connection_burst = 0'), 'providers.own.connection_burst must be an integer from 1 to 10000'],
    [own('idle_seconds = 301'), 'providers.own.idle_seconds must be an integer from 0 to 300'],
    [own('address_family = "v4"'), 'providers.own.address_family must be "auto", "ipv4" or "ipv6"'],
    [own('tls = "none"'), 'providers.own.tls must be "opportunistic" or "required"'],
    [own('title = "a\\nb"'), 'providers.own.title must be a name of 1 to 64 characters on one line'],
    [own('domains = ["@acme.example"]'), 'providers.own.domains[0] must be a domain such as example.com'],
    [own('rate = 5'), 'providers.own.rate is not a setting; did you mean providers.'],
    [
      '[providers.own]\nmx = ["*.acme.example"]',
      'providers.own.mx[0] must be a host name such as mx.example.com, or a suffix',
    ],
    ['[providers.own]\nmx = ["."]', 'providers.own.mx[0] must be a host name'],
    ['[providers.Own]\nmx = ["mx.acme.example"]', 'providers.Own is not a valid name'],
    [
      '[providers.gmail]\nconnections = 5',
      'providers.gmail has no mx and no domains, and it is not a provider that comes with the program (apple, att, barracuda,',
    ],
    [
      `${own('')}\n[providers.other]\nmx = ["MX.acme.example."]`,
      'providers.other and providers.own both have the mail server mx.acme.example; remove it from one of them',
    ],
    [
      '[providers.own]\ndomains = ["acme.example"]\n[providers.other]\ndomains = ["acme.example"]',
      'providers.other and providers.own both have the domain acme.example; remove it from one of them',
    ],
  ])('with a fault stops the start: %# (%s)', (toml, says) => {
    expect(findFaults(() => loadToml(toml)).join('\n')).toContain(says);
  });

  it('may take over a mail server of a shipped one', () => {
    expect(loadToml('[providers.own]\nmx = [".google.com"]').config.providers['own']?.mx).toEqual(['.google.com']);
  });

  it('appears in config show with the origin of each of its limits', () => {
    const { config, sources } = loadToml(
      '[delivery]\nidle_seconds = 9\n[providers.google]\nconnections = 4\n[providers.own]\ndomains = ["acme.example"]',
      { env: { RASKET_PROVIDERS_OWN_CONNECTIONS: '2' } },
    );
    const sections = new Map(
      showConfig(config, sources)
        .split('\n\n')
        .map((section) => [section.slice(0, section.indexOf('\n')), section.trim().split('\n').slice(1)]),
    );
    expect(sections.get('[providers.google]')).toEqual([
      'title = "Gmail"  # from config/providers.toml',
      'mx = [ ".google.com", ".googlemail.com" ]  # from config/providers.toml',
      'domains = []',
      'connections = 4  # from the file',
      'connections_per_site = 20  # as delivery.max_connections_per_destination',
      'messages_per_connection = 50  # from config/providers.toml',
      'messages_per_minute = 0',
      'message_burst = 1',
      'connections_per_minute = 0',
      'connection_burst = 1',
      'idle_seconds = 9  # as delivery.idle_seconds',
      'address_family = "auto"',
      'tls = "required"  # from config/providers.toml',
      'warm_up_percent = 100',
    ]);
    expect(sections.get('[providers.own]')).toEqual([
      'title = "own"',
      'mx = []',
      'domains = [ "acme.example" ]  # from the file',
      'connections = 2  # from the environment, RASKET_PROVIDERS_OWN_CONNECTIONS',
      'connections_per_site = 20  # as delivery.max_connections_per_destination',
      'messages_per_connection = 100  # as delivery.max_messages_per_connection',
      'messages_per_minute = 0',
      'message_burst = 1',
      'connections_per_minute = 0',
      'connection_burst = 1',
      'idle_seconds = 9  # as delivery.idle_seconds',
      'address_family = "auto"',
      'tls = "opportunistic"',
      'warm_up_percent = 100',
    ]);
    expect(loadToml(showConfig(config, sources)).config).toEqual(config);
  });
});
