import { startSink } from '../../rig/sink.ts';
import { freePort } from '../../rig/free-port.ts';
import { pause, post, type Bench } from '../bench.ts';
import type { Helper } from '../children.ts';
import { median, shown } from '../figures.ts';
import { inMib } from '../process-usage.ts';
import { haraka } from './haraka.ts';
import { largeLetter, smallLetter } from './letters.ts';
import { readMemory, type Letter, type Peer, type PeerKind } from './peer.ts';
import { postfixWithOpendkim, postfixWithRspamd } from './postfix-peers.ts';
import { startSmtpSink, type SmtpSink } from './smtp-sink.ts';

const SESSIONS = 20;
const AFTER_LOAD = 12_000;
const IDLE_MS = 6_000;

const rasket: PeerKind = {
  name: 'rasket',
  missing: () => undefined,
  async start(bench, sinkPort) {
    const appliance = await bench.appliance({ sinkPort, profile: 'submission' });
    const client: Helper = await bench.helper('./load-process.ts');
    return {
      name: 'rasket',
      roots: [appliance.pid],
      async load(amount, { bodies }) {
        const load = { bodies, recipients: 1, deliveries: 1 };
        await post(client, appliance, { load, connections: Math.min(SESSIONS, amount), amount });
      },
    };
  },
};

const OTHERS: PeerKind[] = [postfixWithOpendkim, postfixWithRspamd, haraka];

/** Measures from the first message to the sink's last 250, signed with RSA-2048 and durable in between, in turn with one another. */
export async function benchSubmission(bench: Bench): Promise<void> {
  const kinds = [rasket, ...OTHERS.filter((kind) => isHere(bench, kind))];
  const sinkPort = await freePort();
  const peers: Peer[] = [];
  for (const kind of kinds) peers.push(await kind.start(bench, sinkPort));
  const dir = bench.folder('letters');
  const small = smallLetter(dir);
  await mustSign(peers, sinkPort, small);
  const sink = await startSmtpSink(bench, sinkPort);
  await measure(bench, { peers, sink, letter: small, atLeast: 2.5 });
  await measure(bench, { peers, sink, letter: largeLetter(dir), atLeast: 2 });
  await measureMemory(bench, { peers, sink, letter: small });
}

function isHere(bench: Bench, kind: PeerKind): boolean {
  const reason = kind.missing();
  if (reason !== undefined) bench.say(`without ${kind.name}: ${reason}`);
  return reason === undefined;
}

/** Fails if a message is not signed, because the comparison would be meaningless. */
async function mustSign(peers: Peer[], port: number, letter: Letter): Promise<void> {
  const sink = await startSink({ port, tls: 'none' });
  for (const [i, peer] of peers.entries()) {
    await peer.load(1, letter);
    await sink.waitFor(i + 1);
    if (!/^DKIM-Signature:[^]*?\ba=rsa-sha256/im.test(sink.messages[i]?.data.toString('latin1') ?? ''))
      throw new Error(`${peer.name} did not sign its message`);
  }
  await sink.close();
}

interface Round {
  peers: Peer[];
  sink: SmtpSink;
  letter: Letter;
}

const MS_MAX = 60_000;

async function messagesPerSecond(peer: Peer, { sink, letter }: Round, amount: number): Promise<number> {
  const begin = performance.now();
  const done = sink.until(sink.taken() + amount, MS_MAX);
  done.catch(() => undefined);
  await peer.load(amount, letter);
  return (amount / ((await done) - begin)) * 1000;
}

/** Measures the same number of seconds for each, as far as a first trial can tell. */
async function measure(bench: Bench, round: Round & { atLeast: number }): Promise<void> {
  const rates = new Map<string, number[]>();
  const amounts = new Map<string, number>();
  for (const peer of round.peers) {
    await messagesPerSecond(peer, round, bench.quick ? 50 : 150);
    const trial = await messagesPerSecond(peer, round, bench.quick ? 100 : 300);
    amounts.set(peer.name, Math.max(SESSIONS, Math.round(trial * (bench.quick ? 1 : 4))));
    rates.set(peer.name, []);
  }
  for (let i = 0; i < (bench.quick ? 2 : 5); i++) {
    for (const peer of round.peers) {
      const rate = await messagesPerSecond(peer, round, amounts.get(peer.name) ?? SESSIONS);
      rates.get(peer.name)?.push(rate);
    }
  }
  const own = rates.get('rasket') ?? [];
  for (const { name } of round.peers.slice(1)) {
    const others = rates.get(name) ?? [];
    bench.add({
      name: `submission to the sink, ${round.letter.name}, ${SESSIONS} sessions`,
      value: median(own),
      unit: '/s',
      baseline: { name: `/s ${name}`, value: median(others) },
      rounds: { value: own, baseline: others },
      note: `ratios of the rounds: ${own.map((rate, i) => shown(rate / (others[i] ?? NaN))).join(', ')}`,
      ...(name === postfixWithOpendkim.name ? { target: { is: 'at least', value: round.atLeast, of: 'ratio' } } : {}),
    });
  }
}

/** Measures memory after the load: of rasket after 12,000 messages of 4 KB in addition to the rounds, of the others after the rounds. */
async function measureMemory(bench: Bench, round: Round): Promise<void> {
  const [own] = round.peers;
  if (!own) return;
  const amount = bench.quick ? AFTER_LOAD / 10 : AFTER_LOAD;
  for (let sent = 0; sent < amount; sent += 1_000) await messagesPerSecond(own, round, 1_000);
  await pause(IDLE_MS);
  for (const peer of round.peers) {
    const isOwn = peer === own;
    bench.add({
      name: `memory of ${peer.name}, idle after ${isOwn ? `${amount} messages more` : 'the rounds'}`,
      value: inMib(readMemory(peer)),
      unit: 'MiB',
      ...(isOwn ? { target: { is: 'at most', value: 190.7, of: 'value' } } : {}),
    });
  }
}
