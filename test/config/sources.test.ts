import { describe, expect, it } from 'vitest';
import { showConfig } from '../../src/platform/config/index.ts';
import { findFaults, loadToml } from './config-files.ts';

/** Two sources in one pool, and more settings. */
const pool = (more: string, first = 'source_v4 = "192.0.2.25"'): string =>
  [
    '[sources.first]',
    first,
    '[sources.second]',
    'source_v4 = "192.0.2.26"',
    '[pools.main]',
    'sources = ["first:3", "second"]',
    more,
  ].join('\n');

const only = (first: string): string => pool('', first);

describe('sources and pools', () => {
  it('may be left out: the shipped ones contain nothing', () => {
    const { config } = loadToml('');
    expect(config.pools['main']).toMatchObject({ sources: [] });
    expect(config.sources['main']).toMatchObject({ source_v4: '', relay: '', socks5: '' });
  });

  it('may be incomplete as long as no pool contains the source', () => {
    expect(findFaults(() => loadToml('[sources.draft]\nhelo_name = "draft.example.com"'))).toEqual([]);
  });

  it('have a password that is never shown', () => {
    const { config, sources } = loadToml(
      only('socks5 = "192.0.2.1:1080"\nsocks5_user = "me"\nsocks5_password = "hidden-word"'),
    );
    const shown = showConfig(config, sources);
    expect(shown).not.toContain('hidden-word');
    expect(shown).toContain('socks5_password = "***"');
  });

  it.each([
    ['a domain, and all other mail', '[pools.shop]\nsources = ["second"]\ndomains = ["shop.example.com"]'],
    ['a region, and all other mail', '[pools.there]\nsources = ["second"]\nregions = ["us-east-1"]'],
    ['one stream, and all other mail', '[pools.bulk]\nsources = ["second"]\nstreams = ["marketing"]'],
  ])('divide mail: %s', (_, toml) => {
    expect(findFaults(() => loadToml(pool(toml)))).toEqual([]);
  });

  it('the settings may leave a pool to broadcasts that choose it, which takes no other mail and so is in the way of none', () => {
    const bulk = '[pools.bulk]\nsources = ["second"]\nbroadcasts = true';
    expect(findFaults(() => loadToml(pool(`${bulk}\n[pools.news]\nsources = ["first"]\nbroadcasts = true`)))).toEqual(
      [],
    );
    expect(findFaults(() => loadToml(pool(`${bulk}\nstreams = ["transactional", "marketing"]`)))).toEqual([
      'pools.bulk and pools.main both take mail; give one of them other regions, domains or streams',
    ]);
  });

  it.each([
    ['[pools.main]\nsources = ["none"]', 'pools.main.sources names none, and there is no section [sources.none]'],
    [
      '[sources.first]\nsource_v4 = "192.0.2.25"\n[pools.main]\nsources = ["first", "first:2"]',
      'pools.main.sources names first twice',
    ],
    [pool('regions = ["mars"]'), 'pools.main.regions names mars, and there is no section [regions.mars]'],
    [
      pool('[pools.other]\nsources = ["second"]'),
      'pools.other and pools.main both take mail; give one of them other regions, domains or streams',
    ],
    [
      pool('streams = ["marketing"]\n[pools.other]\nsources = ["second"]\nstreams = ["marketing"]'),
      'pools.other and pools.main both take marketing mail; give one of them other regions, domains or streams',
    ],
    [
      pool('domains = ["Shop.example"]\n[pools.other]\nsources = ["second"]\ndomains = ["shop.example", "b.example"]'),
      'pools.other and pools.main both take mail of shop.example; give one of them other regions, domains or streams',
    ],
    [
      pool('regions = ["us-east-1"]\n[pools.other]\nsources = ["second"]\nregions = ["eu-west-1", "us-east-1"]'),
      'pools.other and pools.main both take mail in the region us-east-1; give one of them other regions, domains or streams',
    ],
    [only('relay = "no"'), 'sources.first.relay is "no", but there is no [relays.no]'],
    [
      `${only('relay = "ses"\nsource_v4 = "192.0.2.25"\nhelo_name = "a.example.com"')}\n[relays.ses]\nhost = "smtp.example.com"`,
      'sources.first has a relay, which has its own name and connections; remove source_v4 and helo_name',
    ],
    [
      only('helo_name = "a.example.com"'),
      'sources.first has no source_v4, source_v6, socks5 or relay; set the address that its mail leaves from',
    ],
    [
      only('socks5 = "192.0.2.1:1080"\nsocks5_user = "me"\nsocks5_password = "hidden"\nsocks5_password_file = "p"'),
      'sources.first has socks5_password and socks5_password_file; keep only one of them',
    ],
    [
      only('socks5 = "192.0.2.1:1080"\nsocks5_user = "me"'),
      'sources.first needs both socks5_user and socks5_password or socks5_password_file, or none of them',
    ],
    [
      only('socks5 = "192.0.2.1:1080"\nsocks5_password = "hidden"'),
      'sources.first needs both socks5_user and socks5_password or socks5_password_file, or none of them',
    ],
  ])('with a conflict stop the start: %# (%s)', (toml, fault) => {
    const faults = findFaults(() => loadToml(toml));
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(fault);
    expect(faults.join()).not.toContain('hidden');
  });

  it.each([
    [pool('').replace('first:3', 'first:0'), 'with a weight from 1 to 1000'],
    [pool('').replace('first:3', 'first:1001'), 'with a weight from 1 to 1000'],
    [pool('streams = ["bulk"]'), '"transactional" or "marketing"'],
    [only('source_v4 = "2001:db8::1"'), 'sources.first.source_v4'],
    [only('socks5 = "192.0.2.1"'), 'sources.first.socks5'],
    ['warm_up.daily = []', 'warm_up.daily'],
    ['warm_up.hours = 25', 'warm_up.hours must be'],
    ['warm_up.idle_days = 1', 'warm_up.idle_days must be'],
    ['[providers.google]\nwarm_up_percent = 0', 'providers.google.warm_up_percent must be'],
  ])('with a value outside its limits stop the start: %# (%s)', (toml, fault) => {
    expect(findFaults(() => loadToml(toml)).join('\n')).toContain(fault);
  });
});
