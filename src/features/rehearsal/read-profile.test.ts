import { expect, test } from 'vitest';
import { createReceivers, decideFate, listProfileNames, loadProfile, readProfile } from './index.ts';

test.each(listProfileNames())('the profile %s is complete and has a summary of one line', (name) => {
  const { summary, domains } = loadProfile(name);
  expect(summary).toMatch(/^[^\n]{20,110}$/);
  expect(createReceivers(loadProfile(name)).domains.length).toBeGreaterThanOrEqual(domains.length);
});

const domains = '\n[[domains]]\nname = "a.example"\nprovider = "google"\nshare = 1\n';

test('a profile changes single parts of a shared provider and removes others', () => {
  const { providers } = readProfile(
    'own',
    `summary = "own"\n[providers.google]\nconnections = { max = 3 }\nunknown = false\n${domains}`,
  );
  expect(providers['google']?.connections).toMatchObject({ max: 3, reply: expect.stringContaining('421') });
  expect(providers['google']?.unknown).toBeUndefined();
  expect(providers['google']?.hosts).toContain('gmail-smtp-in.l.google.com');
});

test.each([
  ['summary = 1\ndomains = []', ['summary: must be a text; got 1', 'domains: name at least one domain']],
  ['summary = "x"', ['domains: is missing']],
  [`summary = "x"\nprovider = 1${domains}`, ['provider: "provider" is not a key; did you mean "providers"?']],
  [
    `summary = "x"\n${domains.replace('google', 'gogle')}`,
    ['domains[0].provider: "gogle" is not a provider; did you mean "google"?'],
  ],
  [
    `summary = "x"\n${domains}count = 2\n`,
    ['domains[0].name: write {n} where the number goes, because there are 2 domains'],
  ],
  [
    `summary = "x"\n${domains.replace('google', 'own-server')}`,
    ['domains[0].hosts: name the MX hosts of the domain, because the provider own-server has none'],
  ],
  [
    `summary = "x"\n[providers.google]\nconnections = { max = -1, reply = "Too many" }\ntls = "on"\n${domains}`,
    [
      'providers.google.connections.max: must be a whole number from 0 to 10000; got -1',
      'providers.google.connections.reply: must be an SMTP reply such as "451 4.7.1 Try again later"; got "Too many"',
      'providers.google.tls: must be one of offered, required, none, broken, expired, wrong-name; got "on"',
    ],
  ],
  [
    `summary = "x"\n[providers.small-server]\ngreylist = { seconds = 5 }\n${domains}`,
    ['providers.small-server.greylist.reply: is missing'],
  ],
  ['summary = ', ['line 1: invalid value']],
])('a wrong profile is refused with every fault: %j', (toml, faults) => {
  expect(() => readProfile('own', toml)).toThrow(expect.objectContaining({ name: 'ProfileFault', faults }));
});

test('an unknown profile is refused with the nearest name', () => {
  expect(() => loadProfile('realstic')).toThrow('"realstic" is not a profile; did you mean "realistic"?');
});

test('a named local part decides before any share', () => {
  const behaviour = {
    unknown: { share: 1, reply: '550 5.1.1 Unknown' },
    full: { local_parts: ['full', 'vip*'], reply: '452 4.2.2 Full' },
  };
  const fates = ['ada@a.example', 'FULL@a.example', 'vip1@a.example'].map((address) => decideFate(behaviour, address));
  expect(fates).toEqual(['unknown', 'full', 'full']);
});
