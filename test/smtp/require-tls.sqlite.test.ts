import { afterAll, beforeAll, expect, it } from 'vitest';
import { startMarkingResolver } from '../rig/marking-resolver.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import type { SinkOptions } from '../rig/sink-options.ts';
import { policyLines, startStsHost, type StsHost } from '../rig/sts-host.ts';
import { makeCertificate } from '../rig/tls.ts';
import { connect, logIn } from './dialogue.ts';

const forMx = makeCertificate({ names: ['mx.sink.test'] });
const forAnother = makeCertificate({ names: ['other.example'] });

const SENDER = 'sender.example.com';
const DOMAINS = ['example.org', SENDER];
let policies: StsHost;
beforeAll(async () => {
  const names = DOMAINS.map((domain) => `mta-sts.${domain}`);
  policies = await startStsHost('example.org', names);
});
afterAll(() => policies.close());

/** Starts a server; the domains of the recipient and of the sender prove their mail servers by MTA-STS, unless a test wants none. */
async function startWith(
  sink: SinkOptions,
  certificate = forMx,
  { isProven = true, dane = '', exceptions = [] as string[] } = {},
): Promise<Scene> {
  const scene = await startScene({
    roles: ['http', 'delivery', 'submission'],
    sink: { tls: 'starttls', certificate, ...sink },
    trustedCa: [certificate.cert, policies.certificate.cert],
    config: {
      delivery: { mta_sts_port: policies.port, tls_exceptions: exceptions },
      dns: { dnssec_resolver: dane },
      network: { mail_allow_private: ['127.0.0.0/8'], http_allow_private: ['127.0.0.2/32'] },
    },
  });
  if (isProven)
    for (const domain of DOMAINS)
      policies.publish(scene.dns, { id: '1', lines: policyLines('testing', ['mx.sink.test']) }, domain);
  return scene;
}

interface Wishes {
  /** Parameters of MAIL and RCPT, and further headers. */
  mail?: string;
  rcpt?: string;
  head?: string;
  /** The sending domain. */
  domain?: string;
}

/** Submits one message, and answers what became of it. */
async function send(scene: Scene, { mail = 'REQUIRETLS', rcpt = '', head = '', domain }: Wishes = {}) {
  const team = await scene.team();
  const from = `app@${(await team.domain(domain)).name}`;
  const client = await connect(scene, 'tls');
  await logIn(client, team.key);
  expect(await client.say(`MAIL FROM:<${from}> ${mail}`.trim())).toMatch(/^250/);
  expect(await client.say(`RCPT TO:<a@example.org> ${rcpt}`.trim())).toMatch(/^250/);
  await client.say('DATA');
  client.send(`From: ${from}\r\n${head}\r\nSecret.\r\n.\r\n`);
  const id = (await client.reply()).join('').split(' ').at(-1) ?? '';
  client.end();
  await scene.settled();
  return { id, team, ...(await scene.account(team, id)), events: await scene.events(id) };
}

it('REQUIRETLS mail goes to a server with the extension, over a verified connection, with the parameter', async () => {
  await using scene = await startWith({ extensions: ['REQUIRETLS'] });
  expect((await send(scene)).state).toBe('delivered');
  expect(scene.sink.messages.map(({ tls }) => tls)).toEqual([true]);
  const said = () => scene.sink.commands.filter((line) => line.startsWith('MAIL FROM'));
  expect(said()).toEqual([expect.stringMatching(/ REQUIRETLS$/)]);
  expect((await send(scene, { mail: '' })).state).toBe('delivered');
  expect(said().at(-1)).not.toMatch(/REQUIRETLS/);
});

it('REQUIRETLS mail fails with 5.7.30 when the server lacks the extension, and no content is sent', async () => {
  await using scene = await startWith({});
  const { state, events } = await send(scene);
  expect(state).toBe('bounced');
  expect(events.at(-1)?.data).toMatchObject({
    bounce: { diagnosticCode: [expect.stringMatching(/^smtp; 550 5\.7\.30 /)] },
  });
  expect(scene.sink.counts).toMatchObject({ mail: 0, data: 0 });
});

it('REQUIRETLS mail fails with 5.7.30 when nothing proves the mail servers of the domain', async () => {
  await using scene = await startWith({ extensions: ['REQUIRETLS'] }, forMx, { isProven: false });
  const { state, events } = await send(scene);
  expect(state).toBe('bounced');
  expect(events.at(-1)?.data).toMatchObject({
    bounce: { diagnosticCode: [expect.stringMatching(/^smtp; 550 5\.7\.30 .*neither DNSSEC nor MTA-STS proves/)] },
  });
  expect(scene.sink.counts).toMatchObject({ connections: 0 });
});

it('REQUIRETLS mail to a domain that the operator excepts fails with 5.7.30, and the reason names the exception', async () => {
  await using scene = await startWith({ extensions: ['REQUIRETLS'] }, forMx, { exceptions: ['example.org'] });
  const { state, events } = await send(scene);
  expect(state).toBe('bounced');
  expect(events.at(-1)?.data).toMatchObject({
    bounce: {
      diagnosticCode: [expect.stringMatching(/^smtp; 550 5\.7\.30 .*delivery\.tls_exceptions .* excepts the domain/)],
    },
  });
  expect(scene.sink.counts).toMatchObject({ connections: 0 });
});

it('REQUIRETLS mail waits while the resolver that calls the mail servers proven has not passed its test', async () => {
  await using resolver = await startMarkingResolver({ manner: 'refusing' });
  await using scene = await startWith({ extensions: ['REQUIRETLS'] }, forMx, {
    isProven: false,
    dane: resolver.server,
  });
  const { id, state, events, team } = await send(scene);
  expect(state).toBe('delivery_delayed');
  expect(JSON.stringify(events)).toContain('until the resolver of dns.dnssec_resolver has been tested');
  expect(scene.sink.counts).toMatchObject({ connections: 0 });
  resolver.behave('passing');
  await expect
    .poll(async () => {
      scene.clock.advance(600_000);
      await scene.settled();
      return (await scene.account(team, id)).state;
    })
    .toBe('delivered');
});

it.each([
  ['whose certificate is for another name', { extensions: ['REQUIRETLS'] }, forAnother],
  ['that offers no TLS', { extensions: ['REQUIRETLS'], tls: 'none' }, forMx],
] as const)('REQUIRETLS mail waits, and nothing is sent, for a server %s', async (_, sink, certificate) => {
  await using scene = await startWith(sink, certificate);
  expect((await send(scene)).state).toBe('delivery_delayed');
  expect(scene.sink.counts).toMatchObject({ mail: 0, data: 0 });
});

it('REQUIRETLS takes precedence over TLS-Required: No, which stays in the message', async () => {
  await using scene = await startWith({});
  const head = 'TLS-Required: No\r\n';
  expect((await send(scene, { head })).state).toBe('bounced');
  expect((await send(scene, { mail: '', head })).state).toBe('delivered');
  expect(scene.sink.messages[0]?.data.toString()).toContain(`\r\n${head}`);
});

it('REQUIRETLS also applies to the notice of a failure, which returns no content', async () => {
  await using scene = await startWith({});
  await send(scene, { mail: 'REQUIRETLS RET=FULL', rcpt: 'NOTIFY=FAILURE' });
  // The server of the sender promises nothing either.
  expect(scene.sink.messages).toEqual([]);
  await using willing = await startWith({
    extensions: ['REQUIRETLS'],
    script: (command) => (command.startsWith('RCPT TO:<a@') ? '550 5.1.1 Nobody' : undefined),
  });
  await send(willing, { mail: 'REQUIRETLS RET=FULL', rcpt: 'NOTIFY=FAILURE', domain: SENDER });
  expect(willing.sink.commands.filter((line) => line.startsWith('MAIL FROM:<>'))).toEqual([
    expect.stringMatching(/ REQUIRETLS$/),
  ]);
  expect(willing.sink.messages).toHaveLength(1);
  expect(willing.sink.messages[0]?.data.toString()).toContain('text/rfc822-headers');
});
