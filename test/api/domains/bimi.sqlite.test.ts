import { afterAll, beforeAll, beforeEach, expect, it, test } from 'vitest';
import type { AnyBody } from '../../rig/api.ts';
import { publish, startScene, type Scene, type Team } from '../../rig/scene.ts';

const LOGO = 'https://brand.example.com/logo.svg';
const CERTIFICATE = 'https://brand.example.com/mark.pem';
const RECORD = `v=BIMI1; l=${LOGO}; a=${CERTIFICATE}`;

let scene: Scene;
let team: Team;
let domain: { id: string; name: string };
let domains = 0;
beforeAll(async () => {
  scene = await startScene();
  team = await scene.team();
});
afterAll(() => scene.close());
beforeEach(async () => {
  domains += 1;
  domain = await team.domain(`brand${domains}.test`);
  setDmarc('v=DMARC1; p=reject');
});

const setBimi = (...texts: string[]): void => scene.dns.set(`default._bimi.${domain.name}`, 'TXT', texts);
const setDmarc = (...texts: string[]): void => scene.dns.set(`_dmarc.${domain.name}`, 'TXT', texts);

/** Verifies the domain, so that nothing of an earlier look-up is remembered, and returns what is known of it then. */
async function verify(id = domain.id): Promise<AnyBody> {
  scene.clock.advance(61_000);
  expect(await scene.api('POST', `/domains/${id}/verify`, { key: team.key })).toMatchObject({
    status: 200,
    body: { object: 'domain', id },
  });
  return (await scene.api('GET', `/domains/${id}`, { key: team.key })).body;
}

it('a domain without a BIMI record is verified, its records name none, and nothing is said about it', async () => {
  const seen = await verify();
  expect(seen).toMatchObject({ status: 'verified', bimi: null });
  expect(JSON.stringify(seen.records)).not.toContain('_bimi');
});

it('a published BIMI record is shown, and counts for nothing', async () => {
  setBimi('site-verification=1', RECORD);
  expect(await verify()).toMatchObject({
    status: 'verified',
    bimi: { name: `default._bimi.${domain.name}`, value: RECORD, diagnosis: null },
  });
  setBimi('v=BIMI1; l=http://brand.example.com/logo.svg');
  const events = await scene.events(domain.id);
  expect(await verify()).toMatchObject({ status: 'verified', bimi: { diagnosis: expect.any(String) } });
  expect(await scene.events(domain.id)).toEqual(events);
});

it('a domain that was never checked shows no BIMI record, because nothing was looked up', async () => {
  scene.dns.set('default._bimi.unchecked.test', 'TXT', [RECORD]);
  const { body } = await scene.api('POST', '/domains', { key: team.key, body: { name: 'unchecked.test' } });
  expect(body.bimi).toBeNull();
  expect((await scene.api('GET', `/domains/${body.id}`, { key: team.key })).body.bimi).toBeNull();
});

it('a resolver that fails hides neither the domain nor the state of its records', async () => {
  scene.dns.set(`default._bimi.${domain.name}`, 'TXT', 'SERVFAIL');
  expect(await verify()).toMatchObject({ status: 'verified', bimi: null });
});

it('a text that is no BIMI record is never shown, wherever an alias leads', async () => {
  scene.dns.set('secrets.internal.test', 'TXT', ['password=of-somebody-else']);
  scene.dns.set(`default._bimi.${domain.name}`, 'CNAME', ['secrets.internal.test']);
  expect((await verify()).bimi).toBeNull();
});

test.each([
  [`v=BIMI1; l=${LOGO.replace('https', 'http')}; a=${CERTIFICATE}`, /; l= must be an https URL/],
  ['v=BIMI1; a=https://brand.example.com/mark.pem', /has no l= tag/],
  [`v=BIMI1; l=${LOGO}; a=mark.pem`, /; a= must be an https URL/],
  [`v=BIMI2; l=${LOGO}`, /does not begin with "v=BIMI1;"/],
  [`"v=BIMI1; l=${LOGO}"`, /has quotation marks that are part of the text/],
  ['v=BIMI1; l=; a=;', /says that .* has no logo/],
])('a BIMI record that is wrong is explained: %s', async (text, says) => {
  setBimi(text);
  expect((await verify()).bimi).toMatchObject({ value: text, diagnosis: expect.stringMatching(says) });
});

it('two BIMI records at one name are both ignored by mailbox providers, which the diagnosis says', async () => {
  setBimi(RECORD, `${RECORD};`);
  expect((await verify()).bimi.diagnosis).toContain(`There are 2 BIMI records at default._bimi.${domain.name}`);
});

it('a BIMI record without a certificate is not shown by Gmail and Apple Mail, which the diagnosis says', async () => {
  for (const end of ['', '; a=', '; a=self']) {
    setBimi(`v=BIMI1; l=${LOGO}${end}`);
    expect((await verify()).bimi.diagnosis).toMatch(/no mark certificate .* Gmail and Apple Mail do not show the logo/);
  }
});

test.each([
  [['v=DMARC1; p=none'], /p=none, so no mailbox provider shows the logo/],
  [['v=DMARC1; p=quarantine; pct=50'], /pct=50, so no mailbox provider shows the logo/],
  [[], /has no DMARC policy, so no mailbox provider shows the logo/],
])('a DMARC policy that is not enforced keeps the logo away: %j', async (texts, says) => {
  setBimi(RECORD);
  setDmarc(...texts);
  expect((await verify()).bimi.diagnosis).toMatch(says);
});

it.each(['v=DMARC1; p=quarantine; pct=100', 'v=DMARC1; p=quarantine'])(
  'the DMARC policy %j is enough',
  async (text) => {
    setBimi(RECORD);
    setDmarc(text);
    expect((await verify()).bimi.diagnosis).toBeNull();
  },
);

it('a DMARC policy that DNS does not tell is not held against the record', async () => {
  setBimi(RECORD);
  scene.dns.set(`_dmarc.${domain.name}`, 'TXT', 'SERVFAIL');
  expect((await verify()).bimi.diagnosis).toBeNull();
});

it('a subdomain without records of its own has the logo and the DMARC policy of the registered name', async () => {
  setBimi(RECORD);
  const { body } = await scene.api('POST', '/domains', { key: team.key, body: { name: `mail.${domain.name}` } });
  publish(scene.dns, { records: body.records.filter(({ record }: { record: string }) => record !== 'DMARC') });
  const name = `default._bimi.${domain.name}`;
  expect((await verify(body.id)).bimi).toEqual({ name, value: RECORD, diagnosis: null });
  setDmarc('v=DMARC1; p=reject; sp=none');
  expect((await verify(body.id)).bimi.diagnosis).toContain(
    `The DMARC policy of _dmarc.${domain.name} for its subdomains is sp=none`,
  );
});

it('a registered name without an enforced DMARC policy is reported for its subdomains too', async () => {
  setDmarc('v=DMARC1; p=none');
  const { body } = await scene.api('POST', '/domains', { key: team.key, body: { name: `mail.${domain.name}` } });
  publish(scene.dns, body);
  scene.dns.set(`_dmarc.mail.${domain.name}`, 'TXT', ['v=DMARC1; p=reject']);
  scene.dns.set(`default._bimi.mail.${domain.name}`, 'TXT', [RECORD]);
  expect((await verify(body.id)).bimi.diagnosis).toContain(
    `The DMARC policy of _dmarc.${domain.name} is p=none, and mailbox providers such as Gmail then show no logo for its subdomains`,
  );
});
