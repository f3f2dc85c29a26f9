import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { loadConfig, type Config, type DeepPartial } from '../config/index.ts';
import { replyRules } from '../reply-rules/index.ts';
import { createProviderPolicies, type ProviderPolicies } from './index.ts';

const load = (overrides: DeepPartial<Config> = {}): ProviderPolicies =>
  createProviderPolicies(loadConfig({ env: {}, overrides }).config);

const shipped = load();
const findLimits = (policies: ProviderPolicies, name: string) => policies.all.find((one) => one.name === name)?.limits;

describe('a domain belongs to', () => {
  it.each([
    ['the provider of its only mail server', 'gmail.com', ['gmail-smtp-in.l.google.com'], 'google'],
    [
      'the provider of all its mail servers',
      'acme.example',
      ['aspmx.l.google.com', 'alt1.aspmx.l.google.com'],
      'google',
    ],
    ['the provider of a name with capitals and a final dot', 'acme.example', ['ASPMX.L.Google.COM.'], 'google'],
    [
      'the part of a company that runs its servers',
      'hotmail.com',
      ['hotmail-com.olc.protection.outlook.com'],
      'microsoft-consumer',
    ],
    ['another part of the same company', 'acme.example', ['acme.mail.protection.outlook.com'], 'microsoft-365'],
    ['a provider whose servers have two suffixes', 'gmx.net', ['mx00.gmx.net', 'mx-ha02.web.de'], 'gmx'],
    [
      'the provider that names it, whatever its mail servers are',
      'Yahoo.co.jp.',
      ['mx5.am0.yahoodns.net'],
      'yahoo-japan',
    ],
    ['the provider that names it, without mail servers', 'yahoo.co.jp', [], 'yahoo-japan'],
    ['the provider of a suffix that is the whole name', 'acme.example', ['kpnmail.nl'], 'kpn'],
    ['no provider if one mail server is foreign', 'acme.example', ['aspmx.l.google.com', 'mx.acme.example'], undefined],
    [
      'no provider if its servers are of two providers',
      'acme.example',
      ['aspmx.l.google.com', 'mta5.am0.yahoodns.net'],
      undefined,
    ],
    ['no provider because a name only ends alike', 'acme.example', ['mx.notgoogle.com'], undefined],
    ['no provider without mail servers', 'gmail.com', [], undefined],
    ['no provider because of its own name', 'google.com', ['mx.acme.example'], undefined],
  ])('%s', (_why, domain, hosts, name) => {
    expect(shipped.find(domain, hosts)?.name).toBe(name);
  });

  it('the provider with the longer suffix, in whatever order they are given', () => {
    const given = [
      ['short', { mx: ['.example'] }],
      ['long', { mx: ['.acme.example'] }],
      ['whole', { mx: ['mx1.acme.example', 'mx2.acme.example'] }],
    ] as const;
    for (const providers of [given, given.toReversed()]) {
      const policies = load({ providers: Object.fromEntries(providers) });
      expect(policies.find('x.test', ['mx.other.example'])?.name).toBe('short');
      expect(policies.find('x.test', ['mx3.acme.example'])?.name).toBe('long');
      expect(policies.find('x.test', ['mx1.acme.example', 'mx2.acme.example'])?.name).toBe('whole');
      expect(policies.find('x.test', ['mx1.acme.example', 'mx3.acme.example'])?.name).toBe('long');
    }
  });
});

describe('the shipped limits', () => {
  const file = readFileSync(new URL('../../../config/providers.toml', import.meta.url), 'utf8');

  it('each have a source and its date', () => {
    const lines = file
      .slice(file.indexOf('\n[providers.'), file.indexOf('\n[[reactions]]'))
      .split('\n')
      .filter((line) => /^[a-z_]+ = /.test(line) && !/^(?:title|mx|domains) = /.test(line));
    expect(lines.length).toBeGreaterThan(60);
    expect(lines.filter((line) => !/ # (?:KU|PG \S+|estimate) 20\d\d-\d\d\b/.test(line))).toEqual([]);
  });

  it('for receivers without a provider are those of the settings', () => {
    expect(shipped.defaults).toEqual({
      connections: undefined,
      connectionsPerSite: 20,
      messagesPerConnection: 100,
      messagesPerMinute: undefined,
      messageBurst: 1,
      connectionsPerMinute: undefined,
      connectionBurst: 1,
      idleMs: 5000,
      family: 'auto',
      tls: 'opportunistic',
    });
    const delivery = { max_connections_per_destination: 3, max_messages_per_connection: 4, idle_seconds: 6 };
    const changed = load({ delivery });
    expect(changed.defaults).toMatchObject({ connectionsPerSite: 3, messagesPerConnection: 4, idleMs: 6000 });
    expect(findLimits(changed, 'google')).toMatchObject({
      connectionsPerSite: 3,
      messagesPerConnection: 50,
      idleMs: 6000,
    });
  });

  it('give Gmail ten connections and encrypted mail only', () => {
    const google = shipped.find('gmail.com', ['gmail-smtp-in.l.google.com']);
    expect(google?.title).toBe('Gmail');
    expect(google?.limits).toEqual({
      ...shipped.defaults,
      connections: 10,
      messagesPerConnection: 50,
      tls: 'required',
    });
  });

  it('no shipped limit of a provider is looser than that of everyone else, unless the provider publishes more', () => {
    const looser = shipped.all.filter(
      ({ limits }) => limits.messagesPerConnection > 100 || (limits.connections ?? 0) > 20,
    );
    expect(looser.map(({ name }) => name)).toEqual(['comcast']);
  });

  it('the rules for replies know the mail servers of each provider with shipped limits', () => {
    // Limits distinguish two parts of Microsoft, and know three providers whose replies have no rules.
    const others = ['microsoft-consumer', 'microsoft-365', 'kpn', 'naver', 'netvigator'];
    const { providers } = replyRules();
    const stray = Object.entries(loadConfig({ env: {} }).config.providers).filter(
      ([name, { mx }]) =>
        !others.includes(name) &&
        !mx.every((host) => providers.find((one) => one.name === name)?.mx.some((suffix) => host.endsWith(suffix))),
    );
    expect(stray).toEqual([]);
  });
});

describe('a provider of the settings', () => {
  it('changes single limits of a shipped one', () => {
    const policies = load({ providers: { google: { connections: 3, messages_per_minute: 90, message_burst: 5 } } });
    expect(findLimits(policies, 'google')).toEqual({
      ...findLimits(shipped, 'google'),
      connections: 3,
      messagesPerMinute: 90,
      messageBurst: 5,
    });
    expect(findLimits(policies, 'yahoo')).toEqual(findLimits(shipped, 'yahoo'));
    expect(policies.find('gmail.com', ['gmail-smtp-in.l.google.com'])?.limits.connections).toBe(3);
  });

  it('removes a shipped limit with 0', () => {
    const policies = load({
      providers: { google: { connections: 0 as never }, sfr: { messages_per_minute: 0 as never } },
    });
    expect(findLimits(policies, 'google')?.connections).toBeUndefined();
    expect(findLimits(policies, 'sfr')?.messagesPerMinute).toBeUndefined();
  });

  it('sets limits for one site by the names of its mail servers, before a shipped provider', () => {
    const policies = load({ providers: { office: { mx: ['MX1.Acme.mail.protection.outlook.com.'], connections: 1 } } });
    expect(policies.find('acme.example', ['mx1.acme.mail.protection.outlook.com'])).toEqual({
      name: 'office',
      title: 'office',
      limits: { ...policies.defaults, connections: 1 },
    });
    expect(policies.find('other.example', ['other.mail.protection.outlook.com'])?.name).toBe('microsoft-365');
  });

  it('sets limits for one domain, before a shipped provider', () => {
    const policies = load({ providers: { partner: { domains: ['acme.example'], messages_per_minute: 5 } } });
    const hosts = ['aspmx.l.google.com'];
    expect(policies.find('acme.example', hosts)?.limits.messagesPerMinute).toBe(5);
    expect(policies.find('sub.acme.example', hosts)?.name).toBe('google');
  });

  it('comes before a shipped provider even if its pattern is shorter, or the shipped one names the domain', () => {
    const policies = load({ providers: { all: { mx: ['.com', '.jp'] } } });
    expect(policies.find('gmail.com', ['gmail-smtp-in.l.google.com'])?.name).toBe('all');
    expect(policies.find('yahoo.co.jp', ['mx1.mail.yahoo.co.jp'])?.name).toBe('all');
    const own = load({ providers: { google: { mx: ['.google.com', '.acme.example'] } } });
    expect(own.find('acme.example', ['mx.acme.example', 'aspmx.l.google.com'])?.name).toBe('google');
  });
});
