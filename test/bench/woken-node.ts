import { startPostgres } from '../rig/pg.ts';
import { startAppliance } from './appliance.ts';
import type { Arrivals } from './arrivals-process.ts';
import { percentile } from './accept-under-attack.ts';
import { pause, type Bench } from './bench.ts';
import type { Helper } from './children.ts';
import { median, shown } from './figures.ts';
import { SENDER_DOMAIN } from './messages.ts';
import { secondFolder } from './nodes.ts';
import { AS_IN_USE } from './postgres.ts';

const PROBE_EVERY_MS = 20;
const OTHERS_PER_PROBE = 9;
const WARM_UP = 200;

interface Post {
  url: string;
  key: string;
  sink: Helper;
}

/** Measures how long mail that one node has accepted waits for another node to be notified: no delivering node accepts any. */
export async function benchWokenNode(bench: Bench): Promise<void> {
  const { url, stop } = await startPostgres({ settings: AS_IN_USE });
  bench.stopLater(stop);
  const sink = await bench.helper('./arrivals-process.ts');
  const { port: sinkPort } = await sink.ask<Arrivals>({ say: 'forget' });
  const env = { RASKET_DATABASE_DRIVER: 'pg', RASKET_DATABASE_URL: url };
  const accepting = await bench.appliance({ sinkPort, env, roles: 'http' });
  const dataDir = secondFolder(bench, accepting);
  const delivering = await startAppliance({ dataDir, dns: bench.dns, sinkPort, env, roles: 'delivery' });
  bench.stopLater(delivering.kill);
  const count = bench.quick ? 200 : 1000;
  const to: Post = { url: accepting.url, key: accepting.key, sink };
  await waits(to, { count: WARM_UP, others: 0 });
  const [quiet, busy]: [number[][], number[][]] = [[], []];
  for (let round = 0; round < (bench.quick ? 1 : 3); round++) {
    quiet.push(await waits(to, { count, others: 0 }));
    busy.push(await waits(to, { count, others: OTHERS_PER_PROBE }));
  }
  const of = (rounds: number[][], share: number): number => median(rounds.map((all) => percentile(all, share)));
  bench.add({
    name: 'from the answer of one node to the mail server by another one, median',
    value: of(quiet, 0.5),
    unit: 'ms',
    target: { is: 'at most', value: 50, of: 'value' },
    note: `p99 ${shown(of(quiet, 0.99))} ms`,
  });
  bench.add({
    name: `the same beside ${(OTHERS_PER_PROBE * 1000) / PROBE_EVERY_MS} other emails/s`,
    value: of(busy, 0.5),
    unit: 'ms',
    note: `p99 ${shown(of(busy, 0.99))} ms`,
  });
}

/**
 * Returns milliseconds from each answer until the sink got the recipient; POSTs are sent at a fixed rate, with others
 * at the same moment.
 */
async function waits(
  { url, key, sink }: Post,
  { count, others }: { count: number; others: number },
): Promise<number[]> {
  await sink.ask<Arrivals>({ say: 'forget' });
  const answeredAt = new Map<string, number>();
  const posts: Promise<void>[] = [];
  const headers = { authorization: `Bearer ${key}`, 'user-agent': 'rasket-bench', 'content-type': 'application/json' };
  const post = async (to: string): Promise<void> => {
    const body = JSON.stringify({
      from: `hello@${SENDER_DOMAIN}`,
      to,
      subject: 'Your order',
      text: 'It is on its way.',
    });
    const answer = await fetch(`${url}/emails`, { method: 'POST', headers, body });
    answeredAt.set(to, performance.timeOrigin + performance.now());
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`a post was answered with ${answer.status}: ${text}`);
  };
  for (let n = 0; n < count; n++) {
    posts.push(post(`reader${n}@mail${n % 10}.reader.test`));
    for (let other = 0; other < others; other++) posts.push(post(`other${n}-${other}@mail${other}.reader.test`));
    await pause(PROBE_EVERY_MS);
  }
  await Promise.all(posts);
  const { namedAt } = await sink.ask<Arrivals>({ say: 'until', count });
  return Object.entries(namedAt).map(([to, at]) => Math.max(0, at - (answeredAt.get(to) ?? NaN)));
}
