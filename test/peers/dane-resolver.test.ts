// An attacker between the validating resolver and the name servers
import { createHash, X509Certificate } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { connect as connectTcp, createServer } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startBind, type Bind } from '../rig/bind.ts';
import { freePort } from '../rig/free-port.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { signZone } from '../rig/signed-zone.ts';
import { startSink, type Sink } from '../rig/sink.ts';
import { makeCertificate } from '../rig/tls.ts';
import { startUnbound, type Unbound } from '../rig/unbound.ts';
import { describePeers, findProgram } from './peers.ts';

const ADDRESS = '127.0.7.33';
const ATTACKED_ADDRESS = '127.0.7.34';
const own = makeCertificate({ names: ['anything.example'] });
const digest = createHash('sha256')
  .update(new X509Certificate(own.cert).publicKey.export({ type: 'spki', format: 'der' }))
  .digest('hex');
/** The certificate of the attacker's mail server. */
const another = makeCertificate({ names: ['anything.example'] });

interface Attacker {
  port: number;
  /** Begins to change the SOA record of the root, and nothing else. */
  attack(): void;
  /** The number of changed answers. */
  readonly changed: number;
  close(): void;
}

/** Starts a proxy in front of a name server. */
async function startAttacker(to: number): Promise<Attacker> {
  const port = await freePort();
  let isAttacking = false;
  let changed = 0;
  const change = (reply: Buffer): Buffer => {
    // The question is the root (one zero byte) with the type SOA (6).
    const isAboutRoot = reply[12] === 0 && reply.readUInt16BE(13) === 6;
    // Refresh and retry of the zones of this rig; the serial is before them.
    const at = reply.indexOf(Buffer.from('0000000100000e10', 'hex'));
    if (!isAttacking || !isAboutRoot || at === -1) return reply;
    changed++;
    const copy = Buffer.from(reply);
    copy[at + 3] = 9;
    return copy;
  };
  const udp = createSocket('udp4');
  udp.on('message', (bytes, from) => {
    const onward = createSocket('udp4');
    onward.on('message', (reply) => {
      udp.send(change(reply), from.port, from.address);
      onward.close();
    });
    onward.send(bytes, to, '127.0.0.1');
  });
  await new Promise<void>((resolve) => udp.bind(port, '127.0.0.1', resolve));
  const tcp = createServer((incoming) => {
    const onward = connectTcp({ host: '127.0.0.1', port: to });
    incoming.pipe(onward).pipe(incoming);
    incoming.on('error', () => onward.destroy());
    onward.on('error', () => incoming.destroy());
  });
  await new Promise<void>((resolve) => tcp.listen(port, '127.0.0.1', resolve));
  return {
    port,
    attack: () => void (isAttacking = true),
    get changed() {
      return changed;
    },
    close() {
      udp.close();
      tcp.close();
    },
  };
}

describePeers('with unbound behind an attacker,', ['named', 'dnssec-signzone', 'unbound'], () => {
  let bind: Bind;
  let attacker: Attacker;
  let unbound: Unbound;
  let genuine: Sink;
  let forged: Sink;
  let scene: Scene;
  let team: Team;
  let from: string;

  beforeAll(async () => {
    const signed = signZone('signed.test', [
      `mx.signed.test. 300 IN A ${ADDRESS}`,
      `_25._tcp.mx.signed.test. 300 IN TLSA 3 1 1 ${digest}`,
      'to.signed.test. 300 IN MX 10 mx.signed.test.',
      `attacked.signed.test. 300 IN A ${ATTACKED_ADDRESS}`,
      `_25._tcp.attacked.signed.test. 300 IN TLSA 3 1 1 ${digest}`,
      'to-attacked.signed.test. 300 IN MX 10 attacked.signed.test.',
    ]);
    const root = signZone('.', []);
    const failed = signZone('dnssec-failed.org', ['dnssec-failed.org. 300 IN A 127.0.0.1'], { isExpired: true });
    bind = await startBind({
      named: findProgram('named') ?? '',
      zones: {},
      files: { '.': root.file, 'signed.test': signed.file, 'dnssec-failed.org': failed.file },
    });
    attacker = await startAttacker(bind.port);
    unbound = await startUnbound({
      unbound: findProgram('unbound') ?? '',
      zones: ['signed.test', 'dnssec-failed.org'],
      authorityPort: attacker.port,
      anchors: [root.anchor, signed.anchor, failed.anchor],
      unsigned: ['test'],
      cacheSeconds: 0,
    });
    const port = await freePort();
    genuine = await startSink({ host: ADDRESS, port, tls: 'starttls', certificate: own });
    forged = await startSink({ host: ATTACKED_ADDRESS, port, tls: 'starttls', certificate: another });
    scene = await startScene({
      roles: ['http', 'delivery'],
      config: { dns: { dnssec_resolver: unbound.server, timeout_ms: 20_000 }, delivery: { smtp_port: port } },
    });
    scene.dns.set('mx.signed.test', 'A', [ADDRESS]);
    scene.dns.set('attacked.signed.test', 'A', [ATTACKED_ADDRESS]);
    scene.dns.set('to-attacked.signed.test', 'MX', ['10 attacked.signed.test']);
    team = await scene.team();
    from = `a@${(await team.domain()).name}`;
  });

  afterAll(async () => {
    await scene?.close();
    await genuine?.close();
    await forged?.close();
    await unbound?.close();
    attacker?.close();
    await bind?.close();
  });

  async function send(domain: string) {
    const body = { from, to: `x@${domain}`, subject: 's', text: 't' };
    const sent = await scene.api('POST', '/emails', { key: team.key, body });
    await scene.settled();
    const attempts = await scene.api('GET', `/emails/${sent.body.id}/attempts`, { key: team.key });
    const { state } = await scene.account(team, sent.body.id as string);
    return { state, reply: JSON.stringify(attempts.body.data[0] ?? null) };
  }

  test('a forged SOA record of the root at the time of the daily test does not turn DANE off', async () => {
    expect((await send('to.signed.test')).state).toBe('delivered');
    attacker.attack();
    scene.clock.advance(86_401_000);
    await expect
      .poll(async () => {
        const { body } = await scene.api('GET', '/operator/findings', { key: await scene.operator() });
        return (body.findings as { code: string }[]).map(({ code }) => code);
      })
      .toContain('dnssec_resolver_failing');
    expect(attacker.changed).toBeGreaterThan(0);
    expect(await send('to-attacked.signed.test')).toMatchObject({
      state: 'delivery_delayed',
      reply: expect.stringContaining('no TLSA record matches'),
    });
    expect(forged.counts.mail).toBe(0);
  });
});
