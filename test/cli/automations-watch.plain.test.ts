import { expect, it } from 'vitest';
import type { Asked, Reply } from './contract-server.ts';
import { speak } from './spoken.ts';

const AUTOMATION = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e61';
const buildId = (at: number): string => `019a9c1e-7d52-7c3a-9a54-${String(at).padStart(12, '0')}`;

interface Run {
  id: string;
  status: string;
  started_at: null;
  completed_at: null;
  created_at: string;
  error: string | null;
}

/** The runs of an automation as the API lists them. Before each question `change` may begin and end some. */
function createRuns(runs: Map<number, string>, change: (count: number) => void = () => undefined) {
  const shown = ([at, status]: readonly [number, string]): Run => ({
    id: buildId(at),
    status,
    started_at: null,
    completed_at: null,
    created_at: '2026-11-20T09:30:00.000Z',
    error: status === 'failed' ? 'mail: no' : null,
  });
  let looks = 0;
  return ({ path, query }: Asked): Reply => {
    // Each look begins with what is new.
    if (query['before'] !== undefined) change(++looks);
    const newestFirst = [...runs].toSorted(([a], [b]) => b - a).map(shown);
    const named = newestFirst.find(({ id }) => path.endsWith(id));
    if (named) return { status: 200, body: { object: 'automation_run', ...named, steps: [] } };
    const statuses = query['status']?.split(',');
    const of = newestFirst.filter(({ status }) => statuses?.includes(status) ?? true);
    const limit = Number(query['limit']);
    const { before } = query;
    const page = before === undefined ? of.slice(0, limit) : of.filter(({ id }) => id > before).slice(-limit);
    const hasMore = before === undefined ? of.length > limit : of.filter(({ id }) => id > before).length > limit;
    return { status: 200, body: { object: 'list', has_more: hasMore, data: page } };
  };
}

const watch = (answer: (asked: Asked) => Reply, ...more: string[]) =>
  speak(['automations', 'runs', AUTOMATION, '--watch', '--json', ...more], answer);
const told = (stdout: string): string[] =>
  stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Run)
    .map(({ id, status }) => `${Number(id.slice(-6))} ${status}`);

// Each waits for looks that come once a second, and has nothing to do with the others.
it.concurrent('rasket automations runs --watch shows runs as they start and end, until none is running', async () => {
  const runs = new Map([
    [1, 'completed'],
    [2, 'running'],
  ]);
  const answer = createRuns(runs, (look) => {
    if (look === 1) runs.set(3, 'running').set(4, 'completed');
    if (look === 2) runs.set(2, 'completed');
    if (look === 3) runs.set(3, 'cancelled');
  });
  const { code, stdout } = await watch(answer, '--until-done');
  expect(told(stdout)).toEqual(['1 completed', '2 running', '3 running', '4 completed', '2 completed', '3 cancelled']);
  expect(code).toBe(0);
});

it.concurrent('rasket automations runs --watch fails when a run that it followed has failed', async () => {
  const runs = new Map([[1, 'running']]);
  const { code, stdout } = await watch(
    createRuns(runs, () => runs.set(1, 'failed')),
    '--until-done',
  );
  expect({ code, told: told(stdout) }).toEqual({ code: 1, told: ['1 running', '1 failed'] });
});

it.concurrent('rasket automations runs --watch starts without runs, and misses none when many start at once', async () => {
  const runs = new Map<number, string>();
  const answer = createRuns(runs, () => {
    if (runs.size === 0) for (let at = 1; at <= 250; at++) runs.set(at, 'completed');
  });
  let interrupt = (): void => undefined;
  const { code, stdout } = await speak(['automations', 'runs', AUTOMATION, '--watch', '--json'], answer, {
    onStart: (press) => (interrupt = press),
    onOutput: (text) => text.includes(buildId(250)) && interrupt(),
  });
  expect(told(stdout)).toEqual(Array.from({ length: 250 }, (_, at) => `${at + 1} completed`));
  expect(code).toBe(0);
});

it.concurrent('rasket automations runs --watch shows only runs with the statuses of --status', async () => {
  const runs = new Map([[1, 'running']]);
  const answer = createRuns(runs, (look) =>
    look === 1 ? runs.set(2, 'running').set(1, 'completed') : runs.set(2, 'failed'),
  );
  const { stdout } = await watch(answer, '--until-done', '--status', 'failed,cancelled');
  expect(told(stdout)).toEqual(['2 failed']);
});

it.concurrent('rasket automations runs --watch follows the newest hundred running ones at most', async () => {
  const runs = new Map(Array.from({ length: 150 }, (_, at) => [at + 1, 'running'] as [number, string]));
  let interrupt = (): void => undefined;
  const answer = createRuns(runs, (look) => {
    if (look === 1) runs.set(1, 'completed').set(150, 'completed');
    if (look === 3) interrupt();
  });
  const { stdout } = await speak(['automations', 'runs', AUTOMATION, '--watch', '--json', '--limit', '2'], answer, {
    onStart: (press) => (interrupt = press),
  });
  expect(told(stdout)).toEqual(['149 running', '150 running', '150 completed']);
});

it.concurrent.each([[['--until-done']], [['--watch', '--all']], [['--watch', '--after', buildId(1)]]])(
  'rasket automations runs refuses %j',
  async (more) => {
    const { code, asked } = await speak(['automations', 'runs', AUTOMATION, ...more], createRuns(new Map()));
    expect({ code, asked }).toEqual({ code: 64, asked: [] });
  },
);
