import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from '../peers/peers.ts';
import { inheritedEnvironment, LAUNCHER } from './appliance.ts';
import { pause, type Bench } from './bench.ts';
import { median } from './figures.ts';
import { makeSide, type FullSide } from './list-pages.ts';
import { inMib, rssBytes } from './process-usage.ts';

const run = promisify(execFile);
const SMALL = 10_000;
const LARGE = 1_000_000;
const PAGES = 40;

/** Measures how long a person at a terminal waits, and how much the console stores, with a hundred times the emails. */
export async function benchConsole(bench: Bench): Promise<void> {
  if (findProgram('tmux') === undefined) return bench.say('skipped: tmux is not installed');
  const size = bench.quick ? LARGE / 5 : LARGE;
  const few = await makeSide(bench, SMALL);
  // The first start fills caches.
  await sit(bench, few);
  const small = await sit(bench, few);
  const large = await sit(bench, await makeSide(bench, size));
  const at = `at ${bench.quick ? '200 thousand' : '1 million'} emails`;
  const row = (name: string, of: (seat: Sitting) => number, unit: string): void =>
    bench.add({
      name: `console, ${name} ${at}`,
      value: of(large),
      unit,
      baseline: { name: `${unit} at 10 thousand`, value: of(small) },
      target: { is: 'at most', value: 1.5, of: 'ratio' },
    });
  row('first screen', ({ firstMs }) => firstMs, 'ms');
  row('the list of emails', ({ listMs }) => listMs, 'ms');
  row('a page further', ({ pageMs }) => median(pageMs), 'ms');
  row('the last page', ({ lastMs }) => lastMs, 'ms');
  row(`memory after ${PAGES} pages`, ({ bytes }) => inMib(bytes), 'MiB');
}

interface Sitting {
  firstMs: number;
  listMs: number;
  pageMs: number[];
  lastMs: number;
  bytes: number;
}

async function sit(bench: Bench, { appliance }: FullSide): Promise<Sitting> {
  const socket = path.join(bench.folder('tmux'), 'tmux');
  const tmux = async (...args: string[]): Promise<string> => (await run('tmux', ['-S', socket, ...args])).stdout;
  const frame = (): Promise<string> => tmux('capture-pane', '-p', '-t', 'bench');
  const until = async (isThere: (shown: string) => boolean): Promise<number> => {
    const begin = performance.now();
    while (!isThere(await frame())) {
      if (performance.now() - begin > 30_000) throw new Error(`the console shows:\n${await frame()}`);
      await pause(2);
    }
    return performance.now() - begin;
  };
  const press = async (key: string): Promise<number> => {
    const before = readLines(await frame());
    await tmux('send-keys', '-t', 'bench', key);
    return until((shown) => readLines(shown) !== before && !shown.includes('Loading'));
  };
  const env = {
    ...inheritedEnvironment(),
    TERM: 'xterm-256color',
    RASKET_URL: appliance.url,
    RASKET_API_KEY: appliance.key,
  };
  const options = { env: { ...env, LC_ALL: 'C.UTF-8' } };
  const size = ['-x', '120', '-y', '40'];
  await run(
    'tmux',
    ['-S', socket, '-f', '/dev/null', 'new-session', '-d', '-s', 'bench', ...size, `exec ${LAUNCHER} console`],
    options,
  );
  bench.stopLater(() => tmux('kill-server').then(ignore, ignore));
  const firstMs = await until((shown) => shown.includes('rasket 0.'));
  const listMs = await press('2');
  const pageMs: number[] = [];
  for (let page = 0; page < PAGES; page++) pageMs.push(await press('PageDown'));
  const lastMs = await press('End');
  const pid = Number((await tmux('display', '-p', '-t', 'bench', '#{pane_pid}')).trim());
  const bytes = rssBytes(pid);
  if (!readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('console')) throw new Error('that was not the console');
  await tmux('kill-server');
  return { firstMs, listMs, pageMs, lastMs, bytes };
}

/** Returns the rows, without the lines around them that contain the time. */
const readLines = (shown: string): string => shown.split('\n').slice(3, -3).join('\n');

/** The process has already ended if all went well. */
const ignore = (): void => undefined;
