import { preparedField, percentile } from './accept-under-attack.ts';
import { pause, post, type Bench } from './bench.ts';
import { median, shown } from './figures.ts';
import type { Load } from './messages.ts';

const CONNECTIONS = 10;
const BATCH = 100;
const PROBE_EVERY_MS = 20;
const WARM_UP = 100;

/** Measures how long another team's POST /emails waits for its answer while one team posts batches over ten connections. */
export async function benchBesideBatches(bench: Bench): Promise<void> {
  const without: number[] = [];
  const beside: number[] = [];
  const middles: [number, number][] = [];
  const rates: number[] = [];
  const seconds = bench.quick ? 4 : 10;
  const sink = await bench.helper('./arrivals-process.ts');
  const load = await bench.helper('./load-process.ts');
  for (let i = 0; i < (bench.quick ? 1 : 3); i++) {
    const { field, probe } = await preparedField(bench, sink, process.env['BESIDE_ROLES']);
    const call = (n: number) =>
      probe.appliance.call('POST', '/emails', {
        from: probe.from,
        to: `reader${n}@mail${n % 10}.reader.test`,
        subject: 'Your order',
        text: 'It is on its way.',
      });
    await answers(call, WARM_UP);
    const count = (seconds * 1000) / PROBE_EVERY_MS;
    const alone = await answers(call, count);
    const { url } = field.appliance;
    const batches = post(
      load,
      { url, key: field.key },
      { load: buildBatches(field.from), connections: CONNECTIONS, seconds: seconds + 2, path: '/emails/batch' },
    );
    await pause(1000);
    const crowded = await answers(call, count);
    rates.push((await batches).perSecond * BATCH);
    without.push(percentile(alone, 0.99));
    beside.push(percentile(crowded, 0.99));
    middles.push([percentile(alone, 0.5), percentile(crowded, 0.5)]);
    await field.appliance.stop();
  }
  bench.add({
    name: 'POST /emails alongside another team’s batches, p99',
    value: median(beside),
    unit: 'ms',
    baseline: { name: 'ms without them', value: median(without) },
    target: { is: 'at most', value: 100, of: 'value' },
    rounds: { value: beside, baseline: without },
    note: `the median ${shown(median(middles.map(([, m]) => m)))} ms, ${shown(median(middles.map(([m]) => m)))} without them; ${shown(median(rates))} emails/s in batches`,
  });
}

/** Sends POSTs at a fixed rate, whether or not the last one was answered. */
async function answers(call: (n: number) => Promise<unknown>, count: number): Promise<number[]> {
  const waited: Promise<number>[] = [];
  for (let n = 0; n < count; n++) {
    const began = performance.now();
    waited.push(call(n).then(() => performance.now() - began));
    await pause(PROBE_EVERY_MS);
  }
  return Promise.all(waited);
}

const buildBatches = (from: string): Load => ({
  bodies: [
    JSON.stringify(
      Array.from({ length: BATCH }, (_, n) => ({
        from,
        to: [`x${n}@mail${n % 10}.reader.test`],
        subject: 'Hello',
        text: 'It works.',
      })),
    ),
  ],
  recipients: 1,
  deliveries: 1,
});
