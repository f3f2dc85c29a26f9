import { freePort } from '../../rig/free-port.ts';
import { verifiedDomain, type Appliance } from '../appliance.ts';
import { pause, type Bench } from '../bench.ts';
import { median, shown } from '../figures.ts';
import { forgetPeak, inMib, peakRssBytes, rssBytes } from '../process-usage.ts';
import { hugeLetter, largeLetter, smallLetter } from './letters.ts';
import { readMemory, runSource, type Letter } from './peer.ts';
import { missingForReceiving, startPostfixKeeping, type Keeping } from './postfix-peers.ts';

const DOMAIN = 'inbox.reader.test';
const KEPT_MS_MAX = 60_000;

/** Measures from the first message until the last is stored where it is read: parsed rows of rasket, a maildir of Postfix. */
export async function benchReceiving(bench: Bench): Promise<void> {
  const reason = missingForReceiving();
  if (reason !== undefined) {
    bench.say(`without receiving and the message of 50 MB: Postfix ${reason}`);
    return;
  }
  const { appliance, port } = await startReceiving(bench);
  const postfix = await startPostfixKeeping(bench, DOMAIN);
  const dir = bench.folder('letters');
  for (const letter of [smallLetter(dir), largeLetter(dir)]) {
    const into = (amount: number): Promise<number> => storedPerSecond(port, letter, amount);
    await compare(bench, letter, into, (amount) => keptPerSecond(postfix, letter, amount));
  }
  await measureHuge(bench, { appliance, port, postfix, letter: hugeLetter(dir) });
}

async function startReceiving(bench: Bench): Promise<{ appliance: Appliance; port: number }> {
  const port = await freePort();
  const env = {
    RASKET_RECEIVING_PORTS: String(port),
    RASKET_SMTP_HOST: '127.0.0.1',
    // Both limits are against unknown senders, and smtp-source connects from a single address.
    RASKET_RECEIVING_MESSAGES_PER_MINUTE_PER_ADDRESS: '1000000',
    RASKET_RECEIVING_GREETING_DELAY_MS: '0',
  };
  const appliance = await bench.appliance({ sinkPort: 1, profile: 'receiving', env });
  await verifiedDomain(appliance, bench.dns, DOMAIN);
  const { data } = (await appliance.call('GET', '/domains')) as { data: { id: string; name: string }[] };
  const id = data.find(({ name }) => name === DOMAIN)?.id ?? '';
  await appliance.call('PATCH', `/domains/${id}`, { capabilities: { receiving: 'enabled' }, confirm_replace_mx: true });
  return { appliance, port };
}

/** Returns messages stored per second: the last 250 says that everything is stored and read. */
async function storedPerSecond(port: number, letter: Letter, amount: number): Promise<number> {
  const begin = performance.now();
  await runSource({ into: 'rasket', port, amount, letter, to: `reader@${DOMAIN}` });
  return (amount / (performance.now() - begin)) * 1000;
}

async function keptPerSecond({ port, kept, empty }: Keeping, letter: Letter, amount: number): Promise<number> {
  empty();
  const begin = performance.now();
  await runSource({ into: 'Postfix', port, amount, letter, to: `reader@${DOMAIN}` });
  while (kept() < amount) {
    if (performance.now() - begin > KEPT_MS_MAX) throw new Error(`Postfix kept ${kept()} of ${amount} messages`);
    await pause(10);
  }
  return (amount / (performance.now() - begin)) * 1000;
}

type Run = (amount: number) => Promise<number>;

async function compare(bench: Bench, { name }: Letter, ours: Run, theirs: Run): Promise<void> {
  const measureAmount = async (run: Run): Promise<number> => {
    await run(bench.quick ? 50 : 150);
    return Math.round((await run(bench.quick ? 100 : 300)) * (bench.quick ? 1 : 4));
  };
  const amount = await measureAmount(ours);
  const theirAmount = await measureAmount(theirs);
  const [value, baseline]: [number[], number[]] = [[], []];
  for (let i = 0; i < (bench.quick ? 2 : 5); i++) {
    value.push(await ours(amount));
    baseline.push(await theirs(theirAmount));
  }
  bench.add({
    name: `receiving with parse and store, ${name}, 20 sessions`,
    value: median(value),
    unit: '/s',
    baseline: { name: '/s Postfix to a maildir', value: median(baseline) },
    rounds: { value, baseline },
    note: `ratios of the rounds: ${value.map((rate, i) => shown(rate / (baseline[i] ?? NaN))).join(', ')}`,
    ...(name === '4 KB' ? { target: { is: 'at least', value: 1, of: 'ratio' } } : {}),
  });
}

interface Huge {
  appliance: Appliance;
  port: number;
  postfix: Keeping;
  letter: Letter;
}

/** Measures the peak memory of one message of 50 MB beyond what was used before it. */
async function measureHuge(bench: Bench, { appliance, port, postfix, letter }: Huge): Promise<void> {
  const added: number[] = [];
  for (let i = 0; i < 3; i++) {
    await pause(2_000);
    forgetPeak(appliance.pid);
    const before = rssBytes(appliance.pid);
    await storedPerSecond(port, letter, 1);
    added.push(peakRssBytes(appliance.pid) - before);
  }
  const peer = { name: 'Postfix', roots: [postfix.pid], load: () => Promise.resolve() };
  const before = readMemory(peer);
  let highest = before;
  const looking = setInterval(() => (highest = Math.max(highest, readMemory(peer))), 50);
  await keptPerSecond(postfix, letter, 1).finally(() => clearInterval(looking));
  bench.add({
    name: 'memory that a message of 50 MB takes, received',
    value: inMib(Math.max(...added)),
    unit: 'MiB',
    target: { is: 'at most', value: 143, of: 'value' },
    note:
      `each of three: ${added.map((bytes) => shown(inMib(bytes))).join(', ')} MiB; ` +
      `Postfix to a maildir: ${shown(inMib(highest - before))} MiB`,
  });
}
