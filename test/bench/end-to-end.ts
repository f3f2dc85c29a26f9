import type { Appliance } from './appliance.ts';
import { askCounts, pause, post, type Bench } from './bench.ts';
import type { Helper } from './children.ts';
import { median, shown } from './figures.ts';
import { attachmentLoad, fanOutLoad, smallLoad, type Load } from './messages.ts';
import { forgetPeak, inMib, peakRssBytes, rssBytes, readUsage, usageSince } from './process-usage.ts';
import type { SinkCount } from './sink-process.ts';

export interface Run {
  emailsPerSecond: number;
  messagesPerSecond: number;
  recipientsPerSecond: number;
  rsaPerSecond: number;
  rsaCpuMicros: number;
  cpuSecondsPer1000: number;
  mainSecondsPer1000: number;
  acceptSeconds: number;
  allSeconds: number;
  peakRss: number;
  /** Cores used by each process, and by the server's main thread. */
  main: number;
  server: number;
  sink: number;
  client: number;
}

export interface Players {
  load: Helper;
  sink: Helper;
  rsa: Helper;
  appliance: Appliance;
}

const IDLE_MS = 5_500;
const CONNECTIONS = 32;

/** Measures from the first POST to the sink's last 250, everything signed with RSA-2048, and the cost in time and memory. */
export async function benchEndToEnd(bench: Bench): Promise<void> {
  const load = await bench.helper('./load-process.ts');
  const sink = await bench.helper('./sink-process.ts');
  const rsa = await bench.helper('./rsa-process.ts');
  const { port } = await askCounts(sink);
  const appliance = await bench.appliance({ sinkPort: port, profile: 'end-to-end' });
  const players = { load, sink, rsa, appliance };
  await pause(IDLE_MS);
  const idleBefore = rssBytes(appliance.pid);
  const small = { name: '4 KB', runs: await measure(bench, players, smallLoad(4096), 8000) };
  await pause(IDLE_MS);
  const idleAfter = rssBytes(appliance.pid);
  const large = { name: '100 KB', runs: await measure(bench, players, attachmentLoad(100 * 1024), 3000) };
  const fanOut = { name: '50 recipients', runs: await measure(bench, players, fanOutLoad(4096, 'one'), 800) };
  const wide = { name: '50 at 10 servers', runs: await measure(bench, players, fanOutLoad(4096, 'ten'), 800) };
  reportRate(bench, 'end to end, 4 KB', small.runs, { is: 'at least', value: 0.25, of: 'ratio' });
  reportRate(bench, 'end to end, 100 KB with an attachment', large.runs);
  reportRate(bench, 'end to end, 50 recipients in 10 domains', fanOut.runs);
  bench.add({ name: '  recipients', value: median(fanOut.runs.map((run) => run.recipientsPerSecond)), unit: '/s' });
  reportRate(bench, 'end to end, 50 recipients in 10 domains at 10 mail servers', wide.runs);
  for (const { name, runs } of [small, large, fanOut, wide]) reportTime(bench, name, runs);
  const target = { is: 'at most', value: 150, of: 'value' } as const;
  bench.add({ name: 'memory, idle after the start', value: inMib(idleBefore), unit: 'MiB', target });
  bench.add({ name: 'memory, idle after 4 KB messages', value: inMib(idleAfter), unit: 'MiB', target });
  for (const { name, runs } of [small, large, fanOut, wide]) {
    bench.add({
      name: `memory, peak, ${name}`,
      value: inMib(Math.max(...runs.map((run) => run.peakRss))),
      unit: 'MiB',
    });
  }
}

function reportTime(bench: Bench, name: string, runs: Run[]): void {
  const of = (pick: (run: Run) => number): number => median(runs.map(pick));
  const note = `of it the main thread ${shown(of((run) => run.mainSecondsPer1000))} s`;
  const baseline = { name: 's for 1,000 RSA-2048', value: of((run) => run.rsaCpuMicros) / 1000 };
  const value = of((run) => run.cpuSecondsPer1000);
  bench.add({ name: `processor time of the server per 1,000 emails, ${name}`, value, unit: 's', baseline, note });
}

const RUN_SECONDS = 4;

export async function measure(bench: Bench, players: Players, what: Load, amountMax: number): Promise<Run[]> {
  // Warms up and finds out how many fit into the time of a run.
  const trial = await runOnce(players, what, Math.ceil(amountMax / 8));
  const wanted = trial.emailsPerSecond * (bench.quick ? 1.5 : RUN_SECONDS);
  const amount = Math.max(CONNECTIONS, Math.min(amountMax, Math.round(wanted)));
  const runs: Run[] = [];
  for (let i = 0; i < (bench.quick ? 1 : 3); i++) runs.push(await runOnce(players, what, amount));
  return runs;
}

async function runOnce({ load, sink, rsa, appliance }: Players, what: Load, amount: number): Promise<Run> {
  const seconds = 1;
  const before = await rsa.ask<{ perSecond: number; cpuMicros: number }>({ seconds });
  const counted = await askCounts(sink);
  forgetPeak(appliance.pid);
  const used = [appliance, sink, load].map(({ pid }) => readUsage(pid));
  const until = sink.ask<SinkCount>({ say: 'until', accepted: counted.accepted + amount * what.deliveries });
  // Awaited below, unless the posts fail first.
  until.catch(() => undefined);
  const posted = await post(load, appliance, { load: what, connections: CONNECTIONS, amount });
  const done = await withinTime(until, () => askCounts(sink));
  const took = (done.at - posted.startedAt) / 1000;
  const [server, sinkUse, client] = [appliance, sink, load].map(({ pid }, i) =>
    usageSince(pid, used[i] ?? readUsage(pid)),
  );
  const peakRss = peakRssBytes(appliance.pid);
  // Settling after the last 250s is not measured, but it must not disturb the baseline.
  await pause(300);
  const after = await rsa.ask<{ perSecond: number; cpuMicros: number }>({ seconds });
  return {
    emailsPerSecond: amount / took,
    messagesPerSecond: (done.accepted - counted.accepted) / took,
    recipientsPerSecond: (done.recipients - counted.recipients) / took,
    rsaPerSecond: (before.perSecond + after.perSecond) / 2,
    rsaCpuMicros: (before.cpuMicros + after.cpuMicros) / 2,
    cpuSecondsPer1000: ((server?.allSeconds ?? NaN) / amount) * 1000,
    mainSecondsPer1000: ((server?.mainSeconds ?? NaN) / amount) * 1000,
    acceptSeconds: (posted.lastAnswerAt - posted.startedAt) / 1000,
    allSeconds: took,
    peakRss,
    main: (server?.mainSeconds ?? NaN) / took,
    server: (server?.allSeconds ?? NaN) / took,
    sink: (sinkUse?.allSeconds ?? NaN) / took,
    client: (client?.allSeconds ?? NaN) / took,
  };
}

const DELIVERY_MS_MAX = 45_000;

async function withinTime(until: Promise<SinkCount>, look: () => Promise<SinkCount>): Promise<SinkCount> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((done) => (timer = setTimeout(() => done('late'), DELIVERY_MS_MAX)));
  const first = await Promise.race([until, late]);
  clearTimeout(timer);
  if (first !== 'late') return first;
  throw new Error(`after ${DELIVERY_MS_MAX} ms the sink has only ${(await look()).accepted} messages`);
}

function reportRate(
  bench: Bench,
  name: string,
  runs: Run[],
  target?: { is: 'at least'; value: number; of: 'ratio' },
): void {
  const of = (pick: (run: Run) => number): number => median(runs.map(pick));
  const note =
    `cores: server ${shown(of((run) => run.server))} (main thread ${shown(of((run) => run.main))}), sink ${shown(of((run) => run.sink))}, ` +
    `client ${shown(of((run) => run.client))}; accepted after ${shown(of((run) => run.acceptSeconds))} s of ${shown(of((run) => run.allSeconds))} s`;
  const baseline = { name: 'RSA-2048/s', value: of((run) => run.rsaPerSecond) };
  const value = of((run) => run.emailsPerSecond);
  const rounds = { value: runs.map((run) => run.emailsPerSecond), baseline: runs.map((run) => run.rsaPerSecond) };
  bench.add({ name, value, unit: 'emails/s', baseline, note, rounds, ...(target ? { target } : {}) });
}
