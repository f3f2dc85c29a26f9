import { expect, it } from 'vitest';
import {
  createFairQueue,
  createFairBacklog,
  createFairExecutor,
  createFairTurns,
  createLoopTurns,
} from './fair-queue.ts';
import { nextTurn } from '../clock.ts';

it('a party that adds many items waits for itself', () => {
  const queue = createFairQueue<string>();
  for (const item of ['a1', 'a2', 'a3', 'a4']) queue.push('a', item);
  queue.push('b', 'b1');
  expect(queue.shift()).toBe('a1');
  queue.push('c', 'c1');
  queue.push('b', 'b2');
  expect([queue.size, queue.sizeOf('a'), queue.sizeOf('d')]).toEqual([6, 3, 0]);
  expect(Array.from({ length: 7 }, () => queue.shift())).toEqual(['b1', 'a2', 'c1', 'b2', 'a3', 'a4', undefined]);
  expect(queue.size).toBe(0);
});

it('an item may be put ahead of its party’s others', () => {
  const queue = createFairQueue<string>();
  queue.push('a', 'a1');
  queue.push('b', 'b1');
  queue.pushFirst('b', 'b0');
  queue.pushFirst('c', 'c0');
  expect(Array.from({ length: 4 }, () => queue.shift())).toEqual(['a1', 'b0', 'c0', 'b1']);
});

it('takes one item of each party in turn, in the order of the party’s own items', () => {
  const backlog = createFairBacklog<string>();
  for (const item of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) backlog.push(item, { party: item.charAt(0) });
  expect([backlog.size, backlog.weight]).toEqual([6, 6]);
  expect(backlog.take(4)).toEqual(['a1', 'b1', 'c1', 'a2']);
  expect(backlog.take(4)).toEqual(['b2', 'a3']);
  expect([backlog.take(4), backlog.size, backlog.weight]).toEqual([[], 0, 0]);
});

it('items without a party are taken in the order in which they came', () => {
  const backlog = createFairBacklog<number>();
  for (const item of [1, 2, 3]) backlog.push(item);
  expect([backlog.take(2), backlog.take(2)]).toEqual([[1, 2], [3]]);
});

it('fills what is left with lighter items of others, and begins the next time with what did not fit', () => {
  const backlog = createFairBacklog<string>();
  for (const item of ['a1', 'a2', 'a3']) backlog.push(item, { party: 'a', weight: 100 });
  for (const item of ['b1', 'b2', 'b3', 'b4']) backlog.push(item, { party: 'b' });
  expect(backlog.take(202)).toEqual(['a1', 'b1', 'a2', 'b2']);
  backlog.push('a4', { party: 'a', weight: 100 });
  expect(backlog.take(101)).toEqual(['a3', 'b3']);
  expect(backlog.take(50)).toEqual(['a4']);
  expect(backlog.take(50)).toEqual(['b4']);
});

it('has a party’s later items come after its others, and not after those of other parties', () => {
  const backlog = createFairBacklog<string>();
  backlog.push('page', { party: 'a', weight: 10, isLater: true });
  for (const item of ['a1', 'a2']) backlog.push(item, { party: 'a' });
  for (const item of ['b1', 'b2', 'b3', 'b4']) backlog.push(item, { party: 'b' });
  expect(backlog.take(100)).toEqual(['a1', 'b1', 'a2', 'b2', 'page', 'b3', 'b4']);
});

it('takes a later item after four times its weight, however many others of its party keep coming', () => {
  const backlog = createFairBacklog<string>();
  for (const item of ['page1', 'page2']) backlog.push(item, { party: 'a', weight: 2, isLater: true });
  const taken = Array.from({ length: 20 }, (_, n) => {
    backlog.push(`a${n}`, { party: 'a' });
    return backlog.take(1).join();
  });
  expect(taken.indexOf('page1')).toBe(8);
  expect(taken.indexOf('page2')).toBe(17);
});

it('tasks run one after the other, round robin by party', async () => {
  const executor = createFairExecutor(1, nextTurn);
  const done: string[] = [];
  const run = (party: string) => executor.run(party, async () => void done.push(party));
  const all = [run('a'), run('a'), run('a'), run('a'), run('b'), run('c'), run('b')];
  expect([executor.waitingOf('a'), executor.waitingOf('b'), executor.waitingOf('d')]).toEqual([3, 2, 0]);
  await Promise.all(all);
  expect(done.join('')).toBe('aabcaba');
});

it('the caller of a task has its answer at once, and the next task begins when the pause is over', async () => {
  const pauses: ((value: void) => void)[] = [];
  const seen: boolean[] = [];
  const executor = createFairExecutor(1, ({ isWaiting }) => {
    seen.push(isWaiting);
    return new Promise((over) => pauses.push(over));
  });
  let begun = 0;
  const begin = (n: number) => (): number => {
    begun += 1;
    return n;
  };
  const first = executor.run('a', begin(1));
  const second = executor.run('a', begin(2));
  expect(await first).toBe(1);
  expect([begun, seen]).toEqual([1, [true]]);
  pauses[0]?.();
  expect(await second).toBe(2);
  expect(seen).toEqual([true, false]);
});

it('a task that fails lets the next one run', async () => {
  const executor = createFairExecutor(2, nextTurn);
  const failing = ['a', 'b', 'c'].map((party) =>
    executor.run(party, () => {
      throw new Error(party);
    }),
  );
  const ends = await Promise.allSettled(failing);
  expect(ends.map(({ status }) => status)).toEqual(Array(3).fill('rejected'));
  expect(await executor.run('a', () => 'after')).toBe('after');
});

it('fair turns run as many tasks together as fit, round robin by party, and one that is larger than all runs alone', async () => {
  const turns = createFairTurns(10);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const take = async (name: string, amount: number): Promise<void> => {
    const end = await turns.take(name.slice(0, 1), amount);
    begun.push(name);
    ends.set(name, end);
  };
  const end = async (name: string): Promise<number> => {
    ends.get(name)?.();
    for (let n = 0; n < 5; n++) await Promise.resolve();
    return turns.used;
  };
  const wanted: [string, number][] = [
    ['a1', 6],
    ['a2', 6],
    ['b1', 25],
    ['a3', 2],
    ['c1', 2],
    ['b2', 1],
  ];
  for (const [name, amount] of wanted) void take(name, amount);
  expect(await end('')).toBe(6);
  // a2 was the next before another party waited; c would fit, and does not overtake it.
  expect(begun).toEqual(['a1']);
  expect(await end('a1')).toBe(6);
  expect(await end('a1')).toBe(6);
  expect(begun).toEqual(['a1', 'a2']);
  expect(await end('a2')).toBe(10);
  expect(begun).toEqual(['a1', 'a2', 'b1']);
  expect(await end('b1')).toBe(5);
  expect(begun).toEqual(['a1', 'a2', 'b1', 'a3', 'c1', 'b2']);
});

/** Tasks of many pieces, and what was done in each turn of the event loop. */
function stage(perTurn: number) {
  const turns = createLoopTurns(perTurn);
  const done: string[][] = [[]];
  const begun = new Set<string>();
  let isOver = false;
  // Begun before any task, so that it notes each turn before something is done in it.
  const ticking = (async () => {
    for (; !isOver; done.push([])) await nextTurn();
  })();
  const task = async (
    name: string,
    pieces: number,
    work: (piece: number) => Promise<void> | void = () => undefined,
  ) => {
    for (let piece = 0; piece < pieces; piece++) {
      await turns.run({ party: name.charAt(0), amount: 1, goesOn: begun.has(name) }, async () => {
        begun.add(name);
        done.at(-1)?.push(name);
        await work(piece);
      });
    }
  };
  const runAll = async (tasks: Promise<void>[]): Promise<string[]> => {
    await Promise.all(tasks);
    isOver = true;
    await ticking;
    return done.filter((turn) => turn.length > 0).map((turn) => turn.join(' '));
  };
  return { task, runAll };
}

it('one turn of the loop does a bounded amount of work, and a task that has begun continues before the next one of its party', async () => {
  const { task, runAll } = stage(2);
  expect(await runAll([task('a1', 3), task('a2', 2)])).toEqual(['a1 a1', 'a1 a2', 'a2']);
});

it('parties take turns', async () => {
  const { task, runAll } = stage(2);
  const done = await runAll([task('a1', 3), task('a2', 3), task('b1', 2)]);
  expect(done.join(' ').split(' ')).toEqual(['a1', 'a1', 'b1', 'a1', 'b1', 'a2', 'a2', 'a2']);
});

it('a piece that waits for something else holds up the others for one turn at most', async () => {
  const { task, runAll } = stage(4);
  const { promise, resolve } = Promise.withResolvers<void>();
  const waiting = task('a1', 1, () => promise);
  const others = task('b1', 3).then(resolve);
  expect((await runAll([waiting, others])).join(' ').split(' ')).toEqual(['a1', 'b1', 'b1', 'b1']);
});

it('a piece that fails fails alone', async () => {
  const turns = createLoopTurns(1);
  const piece = { party: 'a', amount: 1, goesOn: false };
  const bad = turns.run(piece, () => Promise.reject(new Error('bad')));
  const good = turns.run({ ...piece }, () => 'good');
  await expect(bad).rejects.toThrow('bad');
  expect(await good).toBe('good');
});
