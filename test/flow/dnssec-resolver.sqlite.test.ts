// The resolver of dns.dnssec_resolver: when DANE is on, and what is reported about it
import { afterEach, describe, expect, it } from 'vitest';
import { startMarkingResolver, type MarkingResolver, type ResolverManner } from '../rig/marking-resolver.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { makeCertificate } from '../rig/tls.ts';
import { connect, logIn } from '../smtp/dialogue.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

let resolver: MarkingResolver;
let scene: Scene;
let team: Team;
let from: string;

afterEach(async () => {
  await scene.close();
  await resolver[Symbol.asyncDispose]();
});

async function given(manner: ResolverManner, { hasRecords = true } = {}): Promise<void> {
  const certificate = makeCertificate({ names: ['mx.sink.test'] });
  resolver = await startMarkingResolver({ manner, hasRecords });
  scene = await startScene({
    roles: ['http', 'delivery', 'submission'],
    sink: { tls: 'starttls', certificate, extensions: ['REQUIRETLS'] },
    trustedCa: [certificate.cert],
    config: { dns: { dnssec_resolver: resolver.server, timeout_ms: 500, tries: 1 } },
  });
  team = await scene.team();
  from = `a@${(await team.domain()).name}`;
}

async function send(): Promise<{ state: string; reply: string }> {
  const body = { from, to: 'x@example.org', subject: 's', text: 't' };
  const sent = await scene.api('POST', '/emails', { key: team.key, body });
  await scene.settled();
  const { state } = await scene.account(team, sent.body.id as string);
  const attempts = await scene.api('GET', `/emails/${sent.body.id}/attempts`, { key: team.key });
  return { state, reply: JSON.stringify(attempts.body.data[0] ?? null) };
}

async function submitRequiringTls(): Promise<string> {
  const client = await connect(scene, 'tls');
  await logIn(client, team.key);
  await client.say(`MAIL FROM:<${from}> REQUIRETLS`);
  await client.say('RCPT TO:<x@example.org>');
  await client.say('DATA');
  client.send(`From: ${from}\r\n\r\nSecret.\r\n.\r\n`);
  const id = (await client.reply()).join('').split(' ').at(-1) ?? '';
  client.end();
  await scene.settled();
  return (await scene.account(team, id)).state;
}

it('the log of a start warns about a resolver at a public address', async () => {
  resolver = await startMarkingResolver({ manner: 'silent' });
  scene = await startScene({
    roles: ['http', 'delivery'],
    config: { dns: { dnssec_resolver: '2000::53', timeout_ms: 100, tries: 1 } },
  });
  expect(scene.log.join('')).toContain('dns.dnssec_resolver (2000::53) is neither on this machine nor at a private');
});

interface Read {
  code: string;
  severity: string;
  summary: string;
}

async function readFindings(): Promise<Read[]> {
  const { body } = await scene.api('GET', '/operator/findings', { key: await scene.operator() });
  return (body.findings as Read[]).filter(({ code }) => /^(?:dane_|dnssec_)/.test(code));
}

const readCodes = async (): Promise<string[]> => (await readFindings()).map(({ code }) => code);

/** Lets the server test the resolver until it reports these findings. */
async function becomes(manner: ResolverManner, codes: readonly string[], afterMs = 0): Promise<void> {
  resolver.behave(manner);
  scene.clock.advance(afterMs);
  await expect
    .poll(() => {
      scene.clock.advance(5 * MINUTE_MS);
      return readCodes();
    })
    .toEqual(codes);
}

describe('DANE', () => {
  it('stays on when the resolver rejects the signed name, because somebody may have changed the answer', async () => {
    await given('passing');
    await becomes('rejecting', ['dnssec_resolver_failing'], DAY_MS);
    expect(await readFindings()).toEqual([
      expect.objectContaining({
        code: 'dnssec_resolver_failing',
        severity: 'error',
        summary: expect.stringContaining(`The resolver ${resolver.server} of dns.dnssec_resolver rejects authentic`),
      }),
    ]);
    expect(await send()).toMatchObject({ state: 'delivery_delayed', reply: expect.stringContaining('no TLSA record') });
    expect(scene.sink.counts).toMatchObject({ mail: 0 });
    await becomes('passing', []);
  });

  it('DANE is on while the resolver has rejected the signed name since the start', async () => {
    await given('rejecting');
    expect((await send()).state).toBe('delivery_delayed');
    expect(await readCodes()).toEqual(['dnssec_resolver_failing']);
  });

  it.each(['believing', 'unmarking'] as const)(
    'is off while the resolver is %s, and on again once it rejects something',
    async (manner) => {
      await given('passing');
      await becomes(manner, ['dane_off'], DAY_MS);
      expect((await send()).state).toBe('delivered');
      await becomes('rejecting', ['dnssec_resolver_failing']);
      expect((await send()).state).toBe('delivery_delayed');
    },
  );
});

it('a resolver that has passed its test once still proves mail servers for REQUIRETLS when it rejects the signed name', async () => {
  await given('passing', { hasRecords: false });
  await becomes('rejecting', ['dnssec_resolver_failing'], DAY_MS);
  expect(await submitRequiringTls()).toBe('delivered');
});

describe('a resolver that answers nothing', () => {
  it('a resolver that answers nothing is an error after ten minutes, and the reply of a delivery names it', async () => {
    await given('passing', { hasRecords: false });
    resolver.behave('silent');
    expect(await send()).toMatchObject({
      state: 'delivery_delayed',
      reply: expect.stringContaining(
        `MX look-up of example.org: timeout (from ${resolver.server}, the resolver of dns.dnssec_resolver)`,
      ),
    });
    await becomes('silent', ['dnssec_resolver_failing']);
    expect(await readFindings()).toMatchObject([
      {
        severity: 'error',
        summary: expect.stringContaining(
          `The resolver ${resolver.server} of dns.dnssec_resolver has not answered since`,
        ),
      },
    ]);
    await becomes('passing', []);
  });

  it('a resolver that answers nothing is also found when the server starts', async () => {
    await given('silent');
    scene.clock.advance(9 * MINUTE_MS);
    expect(await readCodes()).toEqual([]);
    scene.clock.advance(MINUTE_MS);
    expect(await readCodes()).toEqual(['dnssec_resolver_failing']);
  });
});

describe('a resolver that cannot look up the name with wrong signatures', () => {
  it('a resolver without an answer for the name with wrong signatures is a warning after an hour, because REQUIRETLS mail waits', async () => {
    await given('lacking', { hasRecords: false });
    expect(await submitRequiringTls()).toBe('delivery_delayed');
    expect((await send()).state).toBe('delivered');
    scene.clock.advance(59 * MINUTE_MS);
    expect(await readCodes()).toEqual([]);
    await becomes('lacking', ['dnssec_resolver_untested']);
    expect(await readFindings()).toMatchObject([
      {
        code: 'dnssec_resolver_untested',
        severity: 'warning',
        summary: expect.stringContaining('REQUIRETLS mail that only DNSSEC could prove waits'),
      },
    ]);
    await becomes('passing', []);
  });
});
