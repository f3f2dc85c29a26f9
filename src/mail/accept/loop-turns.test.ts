import { expect, it } from 'vitest';
import { nextTurn } from '../../platform/clock.ts';
import { createLoopTurns } from './loop-turns.ts';

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
      await turns.run({ tenant: name.charAt(0), amount: 1, goesOn: begun.has(name) }, async () => {
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

it('one turn of the event loop does a bounded amount of work, and a started task continues before the next one of its tenant', async () => {
  const { task, runAll } = stage(2);
  expect(await runAll([task('a1', 3), task('a2', 2)])).toEqual(['a1 a1', 'a1 a2', 'a2']);
});

it('tenants take turns', async () => {
  const { task, runAll } = stage(2);
  const done = await runAll([task('a1', 3), task('a2', 3), task('b1', 2)]);
  expect(done.join(' ').split(' ')).toEqual(['a1', 'a1', 'b1', 'a1', 'b1', 'a2', 'a2', 'a2']);
});

it('a task that waits for something else delays the others by one turn at most', async () => {
  const { task, runAll } = stage(4);
  const { promise, resolve } = Promise.withResolvers<void>();
  const waiting = task('a1', 1, () => promise);
  const others = task('b1', 3).then(resolve);
  expect((await runAll([waiting, others])).join(' ').split(' ')).toEqual(['a1', 'b1', 'b1', 'b1']);
});

it('a task that fails does not affect the others', async () => {
  const turns = createLoopTurns(1);
  const piece = { tenant: 'a', amount: 1, goesOn: false };
  const bad = turns.run(piece, () => Promise.reject(new Error('bad')));
  const good = turns.run({ ...piece }, () => 'good');
  await expect(bad).rejects.toThrow('bad');
  expect(await good).toBe('good');
});
