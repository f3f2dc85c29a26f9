import { describe, expect, it } from 'vitest';
import type { HostDane } from '../../platform/resolver/index.ts';
import type { TlsaRecord } from '../../protocol/dns/index.ts';
import type { StsPolicy } from '../../protocol/mta-sts.ts';
import { applyPolicies, type DaneLookUps } from './tls-policy.ts';

const HOST = 'mx.example.net';
const record = (usage: number, byte = 1): TlsaRecord => ({
  usage,
  selector: 1,
  matching: 1,
  association: Buffer.alloc(32, byte),
});
const records = (...all: TlsaRecord[]): HostDane => ({ kind: 'records', base: HOST, records: all });
const enforce = (mx: string): StsPolicy => ({ mode: 'enforce', maxAgeSeconds: 86_400, mx: [mx] });

interface Given {
  dane?: HostDane;
  policy?: StsPolicy;
  domain?: string;
  tls?: 'opportunistic' | 'proven';
  isSecure?: boolean;
  isTested?: boolean;
}

function apply({
  dane,
  policy,
  domain = 'example.com',
  tls = 'opportunistic',
  isSecure = dane !== undefined,
  isTested = true,
}: Given) {
  const lookUps: DaneLookUps = {
    server: '127.0.0.1:53',
    isTested,
    mx: () => Promise.resolve({ kind: 'failed', reason: 'timeout' }),
    findTlsa: () => Promise.resolve(dane ?? { kind: 'none' }),
  };
  return applyPolicies({
    job: { domain, tls },
    found: { records: [{ host: HOST, preference: 10 }], isSecure },
    sts: policy ? { kind: 'policy', policy } : { kind: 'none' },
    dane: lookUps,
  });
}

const findDemanded = async (given: Given) => {
  const rule = (await apply(given)).forHost(HOST);
  return rule.kind === 'demand' ? rule.demand.verify : rule.kind;
};

describe('of the policies of a domain,', () => {
  it('usable TLSA records decide alone, whatever the MTA-STS policy names', async () => {
    expect(await findDemanded({ dane: records(record(3)), policy: enforce('other.example') })).toMatchObject({
      names: [HOST],
    });
  });

  it('the MTA-STS policy decides if no TLSA record can be used', async () => {
    const dane: HostDane = { kind: 'unusable', base: HOST };
    expect(await findDemanded({ dane })).toBe('any');
    expect(await findDemanded({ dane, policy: enforce(HOST) })).toBe('name');
    expect(await findDemanded({ dane, policy: enforce('other.example') })).toBe('refused');
  });

  it('a look-up of TLSA records that fails forbids the server, whatever the MTA-STS policy names', async () => {
    const dane: HostDane = { kind: 'failed', detail: 'servfail' };
    expect(await findDemanded({ dane, policy: enforce(HOST) })).toBe('refused');
  });

  it('TLSA records do not count if the mail servers were not found securely', async () => {
    expect(await findDemanded({ dane: records(record(3)), isSecure: false })).toBe('free');
  });

  it('one in the mode testing demands nothing, except of mail that requires a proven server', async () => {
    const policy: StsPolicy = { ...enforce('other.example'), mode: 'testing' };
    expect(await findDemanded({ policy })).toBe('free');
    expect(await findDemanded({ policy, tls: 'proven' })).toBe('refused');
  });
});

it('DNSSEC proves mail servers only to a resolver that has passed its test', async () => {
  expect((await apply({ isSecure: true })).isProven).toBe(true);
  expect((await apply({ isSecure: true, isTested: false })).isProven).toBe(false);
  expect((await apply({ isSecure: true, isTested: false, policy: enforce(HOST) })).isProven).toBe(true);
});

describe('the key of a route', () => {
  const buildKey = async (given: Given): Promise<string> => (await apply(given)).key;

  it('is the same for domains whose policies demand the same, so that they share connections', async () => {
    expect(await buildKey({})).toBe('');
    expect(await buildKey({ policy: enforce(HOST) })).toBe(
      await buildKey({ policy: enforce('*.example.net'), domain: 'b.example' }),
    );
    const dane = records(record(3));
    expect(await buildKey({ dane })).toBe(await buildKey({ dane, domain: 'b.example' }));
  });

  it('differs for domains whose policies demand something else, so that they share no connections', async () => {
    const keys = await Promise.all([
      buildKey({}),
      buildKey({ policy: enforce(HOST) }),
      buildKey({ policy: enforce('other.example') }),
      buildKey({ dane: records(record(3)) }),
      buildKey({ dane: records(record(3, 2)) }),
      // Certificates of an authority may be for the domain itself.
      buildKey({ dane: records(record(2)) }),
      buildKey({ dane: records(record(2)), domain: 'b.example' }),
    ]);
    expect(new Set(keys).size).toBe(keys.length);
  });
});
