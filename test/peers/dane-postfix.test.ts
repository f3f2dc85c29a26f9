import { createHash, X509Certificate } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startBind, type Bind } from '../rig/bind.ts';
import { freePort } from '../rig/free-port.ts';
import { createReceivingDomain } from '../rig/mx.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { signZone } from '../rig/signed-zone.ts';
import { openDialogue } from '../rig/smtp-dialogue.ts';
import { makeCertificate, type Certificate } from '../rig/tls.ts';
import { startUnbound, type Unbound } from '../rig/unbound.ts';
import { describePeers, findProgram } from './peers.ts';
import { startPostfix, type Postfix } from './postfix.ts';

const RESOLVER = '127.0.7.53';
const POSTFIX = '127.0.0.1';
const ours = makeCertificate({ names: ['mx.ours.signed.test'] });
const theirs = makeCertificate({ names: ['anything.example'] });

function keyDigest({ cert }: Certificate): string {
  const { publicKey } = new X509Certificate(cert);
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex');
}

describePeers('with a Postfix that follows DANE,', ['postfix', 'named', 'dnssec-signzone', 'unbound'], () => {
  let bind: Bind;
  let unbound: Unbound;
  let postfix: Postfix;
  let scene: Scene;
  let team: Team;

  beforeAll(async () => {
    const receivingPort = await freePort();
    const signed = signZone('signed.test', [
      // Our server, under its right record and under a wrong one.
      'ours.signed.test. 300 IN MX 10 mx.ours.signed.test.',
      'mx.ours.signed.test. 300 IN A 127.0.0.1',
      `_${receivingPort}._tcp.mx.ours.signed.test. 300 IN TLSA 3 1 1 ${keyDigest(ours)}`,
      'wrong.signed.test. 300 IN MX 10 mx.wrong.signed.test.',
      'mx.wrong.signed.test. 300 IN A 127.0.0.1',
      `_${receivingPort}._tcp.mx.wrong.signed.test. 300 IN TLSA 3 1 1 ${keyDigest(theirs)}`,
      // Postfix, in the same way; it listens at another port than 25, where its records are.
      'theirs.signed.test. 300 IN MX 10 mx.theirs.signed.test.',
      `mx.theirs.signed.test. 300 IN A ${POSTFIX}`,
      `_25._tcp.mx.theirs.signed.test. 300 IN TLSA 3 1 1 ${keyDigest(theirs)}`,
      'forged.signed.test. 300 IN MX 10 mx.forged.signed.test.',
      `mx.forged.signed.test. 300 IN A ${POSTFIX}`,
      `_25._tcp.mx.forged.signed.test. 300 IN TLSA 3 1 1 ${keyDigest(ours)}`,
    ]);
    bind = await startBind({
      named: findProgram('named') ?? '',
      zones: {},
      files: { 'signed.test': signed.file },
    });
    unbound = await startUnbound({
      unbound: findProgram('unbound') ?? '',
      zones: ['signed.test'],
      authorityPort: bind.port,
      anchors: [signed.anchor],
      alsoAt: RESOLVER,
    });
    postfix = await startPostfix({
      certificate: theirs,
      resolver: RESOLVER,
      settings: {
        virtual_mailbox_domains: 'theirs.signed.test, forged.signed.test',
        mynetworks: '127.0.0.0/8',
        smtpd_relay_restrictions: 'permit_mynetworks, reject',
        default_transport: 'smtp',
        smtp_tcp_port: String(receivingPort),
        smtp_tls_security_level: 'dane',
        smtp_dns_support_level: 'dnssec',
        smtp_tls_loglevel: '1',
        smtp_address_preference: 'ipv4',
      },
    });
    scene = await startScene({
      roles: ['http', 'delivery', 'receiving'],
      prepare: (dataDir) => {
        mkdirSync(path.join(dataDir, 'tls'));
        writeFileSync(path.join(dataDir, 'tls/own.pem'), ours.key + ours.cert, { mode: 0o600 });
      },
      config: {
        tls: { certificate_file: 'tls/own.pem' },
        receiving: { ports: [receivingPort], greeting_delay_ms: 0 },
        dns: { dnssec_resolver: unbound.server, timeout_ms: 20_000 },
        delivery: { smtp_port: postfix.port },
      },
    });
    for (const name of ['mx.theirs.signed.test', 'mx.forged.signed.test']) scene.dns.set(name, 'A', [POSTFIX]);
    team = await scene.team();
  });

  afterAll(async () => {
    await scene?.close();
    await postfix?.close();
    await unbound?.close();
    await bind?.close();
  });

  async function submitToPostfix(to: string): Promise<void> {
    const client = await openDialogue(postfix.port, POSTFIX);
    await client.hear();
    await client.say('EHLO client.example');
    await client.say('MAIL FROM:<a@client.example>');
    expect(await client.say(`RCPT TO:<${to}>`)).toMatch(/^250/);
    await client.say('DATA');
    expect(
      await client.say(Buffer.from(`From: a@client.example\r\nTo: ${to}\r\nSubject: Hello\r\n\r\nIt works.\r\n.\r\n`)),
    ).toMatch(/^250/);
    client.end();
  }

  test('mail from Postfix arrives over a connection that Postfix has verified', async () => {
    const domain = await createReceivingDomain(scene, team, 'ours.signed.test');
    await submitToPostfix(`reader@${domain.name}`);
    await postfix.logged(/status=sent/);
    expect(await postfix.logged(/Verified TLS connection established to mx\.ours\.signed\.test/)).toHaveLength(1);
    const received = await scene.api('GET', '/emails/receiving', { key: team.key });
    expect(received.body.data).toMatchObject([{ to: [`reader@${domain.name}`], subject: 'Hello' }]);
  });

  test('Postfix sends nothing to us where its records name another key', async () => {
    await submitToPostfix('reader@wrong.signed.test');
    const [line] = await postfix.logged(/to=<reader@wrong\.signed\.test>.*status=deferred/);
    expect(line).toContain('Server certificate not verified');
  });

  test('mail to Postfix goes where its records match, and waits where they do not', async () => {
    const { name } = await team.domain();
    const send = async (to: string): Promise<string> => {
      const body = { from: `a@${name}`, to, subject: 's', text: 't' };
      const sent = await scene.api('POST', '/emails', { key: team.key, body });
      await scene.settled();
      return (await scene.account(team, sent.body.id as string)).state;
    };
    expect(await send('x@theirs.signed.test'), postfix.log().join('\n')).toBe('delivered');
    expect(await send('x@forged.signed.test')).toBe('delivery_delayed');
    expect(postfix.mail().map(({ to }) => to)).toEqual(['x@theirs.signed.test']);
  });
});
