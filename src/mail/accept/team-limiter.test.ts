import { expect, it } from 'vitest';
import { createTeamLimiter } from './team-limiter.ts';

/** Lets all work that is ready go on. */
const turn = (): Promise<void> => new Promise((next) => setImmediate(next));

it('a team limiter runs at most the allowed number of tasks of a team, queues the others in order, and frees the place of a task that fails', async () => {
  const limited = createTeamLimiter({ atOnce: 2, waitingMax: 3 });
  const begun: number[] = [];
  const gates = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
  const all = gates.map((gate, n) =>
    limited('a', () => {
      begun.push(n);
      return gate.promise;
    }).catch(() => undefined),
  );
  await turn();
  expect(begun).toEqual([0, 1]);
  gates[1]?.reject(new Error('no'));
  await turn();
  expect(begun).toEqual([0, 1, 2]);
  for (const gate of gates) gate.resolve();
  await Promise.all(all);
  expect(begun).toEqual([0, 1, 2, 3, 4]);
  await limited('a', () => Promise.resolve(begun.push(5)));
  expect(begun).toHaveLength(6);
});

it('a team does not wait for another team', async () => {
  const limited = createTeamLimiter({ atOnce: 1, waitingMax: 0 });
  const gate = Promise.withResolvers<void>();
  const slow = limited('a', () => gate.promise);
  expect(await limited('b', () => Promise.resolve('done'))).toBe('done');
  gate.resolve();
  await slow;
});

it('a task beyond the limit is refused with a time for a retry, and a caller that gives up frees its place', async () => {
  const limited = createTeamLimiter({ atOnce: 1, waitingMax: 1 });
  const gate = Promise.withResolvers<void>();
  const caller = new AbortController();
  const begun: string[] = [];
  const begin = (name: string) => (): Promise<void> => {
    begun.push(name);
    return gate.promise;
  };
  const first = limited('a', begin('first'));
  const second = limited('a', begin('second'), caller.signal);
  await expect(limited('a', begin('third'))).rejects.toMatchObject({
    errorName: 'rate_limit_exceeded',
    retryAfterSeconds: 5,
    message: expect.stringContaining('1 more may wait'),
  });
  caller.abort();
  await expect(second).rejects.toMatchObject({ message: expect.stringContaining('connection ended') });
  const fourth = limited('a', begin('fourth'));
  gate.resolve();
  await Promise.all([first, fourth]);
  expect(begun).toEqual(['first', 'fourth']);
  await expect(limited('a', begin('late'), caller.signal)).rejects.toMatchObject({ status: 400 });
  await limited('a', begin('fifth'));
  expect(begun).toEqual(['first', 'fourth', 'fifth']);
});
