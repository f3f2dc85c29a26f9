import { afterEach, describe, expect, it } from 'vitest';
import type { SinkTls } from '../rig/sink.ts';
import { startScene, type Scene, type SceneOptions, type Team } from '../rig/scene.ts';
import { policyLines, startStsHost, type PublishedPolicy, type StsHost } from '../rig/sts-host.ts';
import { makeBadCertificate, makeCertificate, type Certificate } from '../rig/tls.ts';

const MX = 'mx.sink.test';
const DOMAIN = 'receiver.example';
const HOUR_MS = 3_600_000;

interface Wishes {
  tls?: SinkTls;
  certificate?: Certificate;
  /** The certificate of the mail server is not from a trusted authority. */
  isUntrusted?: boolean;
  hostNames?: string[];
  delivery?: object;
}

let host: StsHost;
let scene: Scene;
let team: Team;
let from: string;

afterEach(async () => {
  await scene.close();
  await host.close();
});

/** Starts a mail server and a host that publishes the policy of its domain. */
async function given(policy: PublishedPolicy | undefined, wishes: Wishes = {}): Promise<void> {
  const { tls = 'starttls', certificate = makeCertificate({ names: [MX] }), isUntrusted, hostNames } = wishes;
  host = await startStsHost(DOMAIN, hostNames);
  const options: SceneOptions = {
    sink: { tls, certificate },
    trustedCa: [host.certificate.cert, ...(isUntrusted ? [] : [certificate.cert])],
    config: {
      delivery: { mta_sts_port: host.port, retry_minutes: [5, 5, 5, 5, 5, 5], ...wishes.delivery },
      network: { mail_allow_private: ['127.0.0.0/8'], http_allow_private: ['127.0.0.2/32'] },
    } as NonNullable<SceneOptions['config']>,
  };
  scene = await startScene(options);
  if (policy) host.publish(scene.dns, policy);
  team = await scene.team();
  from = `a@${(await team.domain()).name}`;
}

const enforce = (mx: readonly string[] = [MX]): PublishedPolicy => ({ id: 'first', lines: policyLines('enforce', mx) });

async function send(fields: object = {}): Promise<string> {
  const body = { from, to: `x@${DOMAIN}`, subject: 's', text: 't', ...fields };
  const sent = await scene.api('POST', '/emails', { key: team.key, body });
  expect(sent.status, sent.text).toBe(200);
  await scene.settled();
  return sent.body.id as string;
}

/** Returns the state of an email, and the reply of its last attempt. */
async function look(id: string): Promise<{ state: string; reply: string }> {
  const { state } = await scene.account(team, id);
  const { body } = await scene.api('GET', `/emails/${id}/attempts`, { key: team.key });
  return { state, reply: JSON.stringify(body.data[0] ?? null) };
}

const afterRetry = async (): Promise<void> => {
  scene.clock.advance(HOUR_MS);
  await scene.settled();
};

describe('a policy in the mode enforce', () => {
  it('lets mail through to a server that it names, over TLS with a valid certificate', async () => {
    await given(enforce(['*.sink.test']));
    expect((await look(await send())).state).toBe('delivered');
    expect(scene.sink.messages.map(({ tls }) => tls)).toEqual([true]);
    expect(host.visits.map(({ method, path }) => `${method} ${path}`)).toEqual(['GET /.well-known/mta-sts.txt']);
  });

  it.each<{ what: string; wishes: Wishes; says: string }>([
    {
      what: 'a certificate for another name',
      wishes: { certificate: makeCertificate({ names: ['other.example'] }) },
      says: 'not valid for it (it is for another name)',
    },
    {
      what: 'an expired certificate',
      wishes: {
        certificate: makeCertificate({
          names: [MX],
          notBefore: new Date('2020-01-01'),
          notAfter: new Date('2021-01-01'),
        }),
      },
      says: 'not valid for it (it has expired)',
    },
    {
      what: 'a certificate of an unknown authority',
      wishes: { isUntrusted: true },
      says: 'not valid for it (it is self-signed)',
    },
    {
      what: 'a certificate that is wrong in every way',
      wishes: { certificate: makeBadCertificate() },
      says: 'not valid',
    },
    { what: 'no STARTTLS', wishes: { tls: 'none' }, says: 'offers no STARTTLS' },
    { what: 'a refused STARTTLS', wishes: { tls: 'refused' }, says: 'replied to STARTTLS with 454' },
    { what: 'a broken handshake', wishes: { tls: 'broken-handshake' }, says: 'the TLS handshake' },
  ])('keeps mail from a server with $what, and it arrives once the policy is withdrawn', async ({ wishes, says }) => {
    await given(enforce(), wishes);
    const id = await send();
    const held = await look(id);
    expect(held.state).toBe('delivery_delayed');
    expect(held.reply).toContain(says);
    if (wishes.tls !== 'broken-handshake')
      expect(held.reply).toContain("TLS is required by the MTA-STS policy of the recipient's domain (mode enforce)");
    expect(scene.sink.counts.mail).toBe(0);
    host.publish(scene.dns, { id: 'second', lines: policyLines('none', []) });
    await afterRetry();
    expect((await look(id)).state).toBe('delivered');
  });

  it('keeps mail from a server that it does not name, and the next id of the policy lets it through', async () => {
    await given(enforce(['mx.elsewhere.example', '*.test']));
    const id = await send();
    const held = await look(id);
    expect(held.state).toBe('delivery_delayed');
    expect(held.reply).toContain(`${MX}: not tried, because the MTA-STS policy`);
    expect(scene.sink.counts.connections).toBe(0);
    host.publish(scene.dns, { ...enforce(), id: 'second' });
    await afterRetry();
    expect((await look(id)).state).toBe('delivered');
  });

  it('uses the other servers of the domain if it does not name the first', async () => {
    await given(enforce());
    scene.dns.set(DOMAIN, 'MX', ['5 mx.unnamed.test', `10 ${MX}`]);
    scene.dns.set('mx.unnamed.test', 'A', ['127.0.0.1']);
    expect((await look(await send())).state).toBe('delivered');
    expect(scene.sink.counts.connections).toBe(1);
  });

  it('holds although the record is gone, also after a restart, until it expires', async () => {
    await given({ id: 'first', lines: policyLines('enforce', [MX], 86_400) });
    expect((await look(await send())).state).toBe('delivered');
    host.withdraw(scene.dns);
    scene.dns.set(DOMAIN, 'MX', ['10 mx.forged.test']);
    scene.dns.set('mx.forged.test', 'A', ['127.0.0.1']);
    await scene.restart();
    const id = await send();
    expect((await look(id)).state).toBe('delivery_delayed');
    expect((await look(id)).reply).toContain('mx.forged.test: not tried, because the MTA-STS policy');
    scene.clock.advance(25 * HOUR_MS);
    await scene.settled();
    expect((await look(id)).state).toBe('delivered');
  });

  it('does not hold up mail to a domain that the operator exempts, nor mail that wants no TLS policies', async () => {
    await given(enforce(), { tls: 'none', delivery: { tls_exceptions: [DOMAIN] } });
    expect((await look(await send())).state).toBe('delivered');
    await scene.close();
    await host.close();
    await given(enforce(), { tls: 'none' });
    expect((await look(await send({ headers: { 'TLS-Required': 'No' } }))).state).toBe('delivered');
    expect((await look(await send({ headers: { 'TLS-Required': 'Yes' } }))).state).toBe('delivery_delayed');
  });

  it('holds for the mail of a team whatever mail of another team ignores it', async () => {
    await given(enforce(['mx.elsewhere.example']));
    const other = await scene.team();
    const others = await other.domain();
    for (const [{ key }, domain] of [
      [team, from.slice(2)],
      [other, others.name],
    ] as const) {
      const { body } = await scene.api('GET', '/domains', { key });
      const id = (body.data as { id: string; name: string }[]).find(({ name }) => name === domain)?.id;
      expect((await scene.api('PATCH', `/domains/${id}`, { key, body: { tls: 'enforced' } })).status).toBe(200);
    }
    const ignoring = { from: `a@${others.name}`, to: `x@${DOMAIN}`, subject: 's', text: 't' };
    const sendIgnoring = async (): Promise<string> => {
      const body = { ...ignoring, headers: { 'TLS-Required': 'No' } };
      const sent = await scene.api('POST', '/emails', { key: other.key, body });
      await scene.settled();
      return (await scene.account(other, sent.body.id as string)).state;
    };
    expect(await sendIgnoring()).toBe('delivered');
    expect((await look(await send())).state).toBe('delivery_delayed');
    expect(await sendIgnoring()).toBe('delivered');
    expect(scene.sink.messages).toHaveLength(2);
  });

  it('is reported as a finding for the operator until a server meets it', async () => {
    await given(enforce(['mx.elsewhere.example']));
    await send();
    expect(await readFindings('tls_policy_unmet')).toMatchObject([
      { code: 'tls_policy_unmet', severity: 'warning', subjects: [DOMAIN] },
    ]);
    host.publish(scene.dns, { ...enforce(), id: 'second' });
    await afterRetry();
    expect(await readFindings('tls_policy_unmet')).toEqual([]);
  });
});

async function readFindings(wanted: string): Promise<object[]> {
  const token = await scene.operator();
  const { body } = await scene.api('GET', '/operator/findings', { key: token });
  return (body.findings as { code: string }[]).filter(({ code }) => code === wanted);
}

it('a policy in the mode testing does not hold up mail', async () => {
  await given({ id: 'first', lines: policyLines('testing', ['mx.elsewhere.example']) }, { tls: 'none' });
  expect((await look(await send())).state).toBe('delivered');
});

describe('a policy that cannot be fetched', () => {
  it.each<{ what: string; policy: PublishedPolicy; wishes?: Wishes }>([
    { what: 'a host that answers 404', policy: { id: 'first' } },
    {
      what: 'a redirect',
      policy: { ...enforce([]), status: 301, headers: { location: `https://mta-sts.${DOMAIN}/elsewhere` } },
    },
    { what: 'another content type', policy: { ...enforce([]), headers: { 'content-type': 'text/html' } } },
    {
      what: 'a file without a version',
      policy: { id: 'first', lines: ['mode: enforce', 'max_age: 86400', 'mx: a.b'] },
    },
    { what: 'a file with a NUL', policy: { id: 'first', lines: [...(enforce([]).lines ?? []), 'note: \0'] } },
    { what: 'a file that is too large', policy: { id: 'first', lines: [...enforce([]).lines!, 'x'.repeat(70_000)] } },
    { what: 'a certificate for another name', policy: enforce([]), wishes: { hostNames: [DOMAIN] } },
  ])('holds up no mail and is not tried again for five minutes: $what', async ({ policy, wishes }) => {
    await given(policy, { tls: 'none', ...wishes });
    expect((await look(await send())).state).toBe('delivered');
    const visits = host.visits.length;
    scene.clock.advance(4 * 60_000);
    expect((await look(await send())).state).toBe('delivered');
    expect(host.visits.length).toBe(visits);
    scene.clock.advance(2 * 60_000);
    host.publish(scene.dns, enforce());
    if (wishes?.hostNames) return;
    expect((await look(await send())).state).toBe('delivery_delayed');
  });

  it('leaves the stored policy in force', async () => {
    await given(enforce());
    expect((await look(await send())).state).toBe('delivered');
    host.publish(scene.dns, { id: 'second', status: 500 });
    scene.dns.set(DOMAIN, 'MX', ['10 mx.forged.test']);
    scene.clock.advance(HOUR_MS);
    expect((await look(await send())).state).toBe('delivery_delayed');
  });
});

it('a record that announces two policies, or none of this version, announces none', async () => {
  await given(undefined, { tls: 'none' });
  scene.dns.set(`_mta-sts.${DOMAIN}`, 'TXT', ['v=STSv1; id=1;', 'v=STSv1; id=2;']);
  expect((await look(await send())).state).toBe('delivered');
  scene.dns.set(`_mta-sts.${DOMAIN}`, 'TXT', ['v=STSv2; id=1;']);
  scene.clock.advance(HOUR_MS);
  expect((await look(await send())).state).toBe('delivered');
  expect(host.visits).toEqual([]);
});

const refresh = () => scene.app.jobs.find(({ name }) => name === 'refresh-tls-policies')?.run();

describe('a stored policy that cannot be fetched again', () => {
  const refreshAfter = async (hours: number): Promise<object[]> => {
    scene.clock.advance(hours * HOUR_MS);
    await refresh();
    return readFindings('tls_policy_stale');
  };

  it('is reported as a finding after two days, until it is fetched', async () => {
    await given(enforce());
    await send();
    const fetchedAt = new Date(scene.clock.now()).toISOString();
    host.publish(scene.dns, { id: 'first', status: 500 });
    expect(await refreshAfter(24)).toEqual([]);
    expect(await refreshAfter(23)).toEqual([]);
    expect(await refreshAfter(2)).toMatchObject([
      {
        severity: 'warning',
        subjects: [DOMAIN],
        since: fetchedAt,
        summary: expect.stringMatching(/ of receiver\.example was last fetched at .* the status is 500$/),
      },
    ]);
    host.publish(scene.dns, enforce());
    expect(await refreshAfter(1)).toEqual([]);
  });

  it('is reported after half of its time, until it expires', async () => {
    await given({ id: 'first', lines: policyLines('enforce', [MX], 90_000) });
    await send();
    host.publish(scene.dns, { id: 'first', status: 500 });
    expect(await refreshAfter(12.4)).toEqual([]);
    expect(await refreshAfter(0.2)).toMatchObject([{ subjects: [DOMAIN] }]);
    expect(await refreshAfter(12.5)).toEqual([]);
  });

  it.each(['SERVFAIL', 'NXDOMAIN'] as const)(
    'is reported while the record of the domain gets %s, until a policy of the mode none is fetched',
    async (answer) => {
      await given(enforce());
      await send();
      host.publish(scene.dns, { id: 'first', status: 500 });
      scene.dns.set(`_mta-sts.${DOMAIN}`, 'TXT', answer);
      expect(await refreshAfter(49)).toMatchObject([{ summary: expect.stringContaining('the status is 500') }]);
      host.publish(scene.dns, { id: 'first', lines: policyLines('none', []) });
      scene.dns.set(`_mta-sts.${DOMAIN}`, 'TXT', answer);
      expect(await refreshAfter(1)).toEqual([]);
    },
  );
});

describe.each(['SERVFAIL', 'NXDOMAIN'] as const)('a policy whose record gets %s', (answer) => {
  it('is fetched again each day, so that it holds for longer than its max_age', async () => {
    await given({ id: 'first', lines: policyLines('enforce', [MX], 604_800) });
    expect((await look(await send())).state).toBe('delivered');
    scene.dns.set(`_mta-sts.${DOMAIN}`, 'TXT', answer);
    scene.dns.set(DOMAIN, 'MX', ['10 mx.forged.test']);
    scene.dns.set('mx.forged.test', 'A', ['127.0.0.1']);
    for (let day = 0; day < 8; day++) {
      scene.clock.advance(24 * HOUR_MS);
      await refresh();
    }
    expect(host.visits).toHaveLength(9);
    const { state, reply } = await look(await send());
    expect([state, reply]).toEqual(['delivery_delayed', expect.stringContaining('mx.forged.test: not tried')]);
    // The record is back, with the id of the policy that was fetched first.
    host.publish(scene.dns, { id: 'first', lines: policyLines('enforce', [MX], 604_800) });
    scene.clock.advance(HOUR_MS);
    await send();
    expect(host.visits).toHaveLength(9);
  });

  it('ends with a policy of the mode none', async () => {
    await given(enforce());
    await send();
    host.publish(scene.dns, { id: 'first', lines: policyLines('none', []) });
    scene.dns.set(`_mta-sts.${DOMAIN}`, 'TXT', answer);
    scene.dns.set(DOMAIN, 'MX', ['10 mx.moved.test']);
    scene.dns.set('mx.moved.test', 'A', ['127.0.0.1']);
    scene.clock.advance(24 * HOUR_MS);
    await refresh();
    expect((await look(await send())).state).toBe('delivered');
  });
});

it('a policy whose domain got no mail for 180 days is no longer fetched', async () => {
  await given({ id: 'first', lines: policyLines('enforce', [MX], 31_536_000) });
  await send();
  scene.clock.advance(100 * 24 * HOUR_MS);
  await refresh();
  expect(host.visits).toHaveLength(2);
  scene.clock.advance(100 * 24 * HOUR_MS);
  await refresh();
  expect(host.visits).toHaveLength(2);
});

it('stored policies are fetched again each day before they expire', async () => {
  await given(enforce());
  await send();
  await refresh();
  expect(host.visits).toHaveLength(1);
  scene.clock.advance(13 * HOUR_MS);
  host.publish(scene.dns, { id: 'second', lines: policyLines('enforce', ['mx.elsewhere.example']) });
  await refresh();
  expect(host.visits).toHaveLength(2);
  scene.dns.set(`_mta-sts.${DOMAIN}`, 'TXT', 'NXDOMAIN');
  expect((await look(await send())).state).toBe('delivery_delayed');
});
