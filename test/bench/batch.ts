import { askCounts, post, type Bench } from './bench.ts';
import { median } from './figures.ts';
import { smallLoad, type Load } from './messages.ts';

const BATCH = 100;
const CONNECTIONS = [1, 8, 32] as const;

interface Round {
  single: number;
  batch: number;
}

/** Measures emails accepted per second in batches of a hundred, against single sends over as many connections. */
export async function benchBatch(bench: Bench): Promise<void> {
  const load = await bench.helper('./load-process.ts');
  const sink = await bench.helper('./sink-process.ts');
  const { port } = await askCounts(sink);
  const seconds = bench.quick ? 1 : 2;
  const single = smallLoad(4096);
  const batches = inBatches(single);
  for (const connections of CONNECTIONS) {
    const rounds: Round[] = [];
    for (let round = 0; round < (bench.quick ? 1 : 3); round++) {
      const profile = round === 0 ? { profile: `batch-${connections}` } : {};
      const appliance = await bench.appliance({ sinkPort: port, roles: 'http', ...profile });
      await post(load, appliance, { load: single, connections: 8, amount: 500 });
      const one = await post(load, appliance, { load: single, connections, seconds });
      const many = await post(load, appliance, { load: batches, connections, seconds, path: '/emails/batch' });
      await (bench.profileDir === undefined ? appliance.kill() : appliance.stop());
      rounds.push({ single: one.perSecond, batch: many.perSecond * BATCH });
    }
    bench.add({
      name: `batches of 100, 4 KB each, ${connections} ${connections === 1 ? 'connection' : 'connections'}`,
      value: median(rounds.map((round) => round.batch)),
      unit: 'emails/s',
      baseline: { name: 'single sends', value: median(rounds.map((round) => round.single)) },
      target: { is: 'at least', value: 5, of: 'ratio' },
      rounds: { value: rounds.map((round) => round.batch), baseline: rounds.map((round) => round.single) },
    });
  }
}

export function inBatches({ bodies, ...rest }: Load): Load {
  const batch = Array.from({ length: BATCH }, (_, i) => bodies[i % bodies.length]);
  return { ...rest, bodies: [`[${batch.join(',')}]`] };
}
