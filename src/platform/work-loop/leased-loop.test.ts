import { expect, it } from 'vitest';
import type { Db } from '../db/index.ts';
import { createLeasedLoop, type LeasedLoopOptions } from './index.ts';
import { handClock, settle } from './loop-stage.test-helper.ts';

interface Row {
  id: string;
}

/** Creates a loop over a table in memory, and records what it does to leases. */
function stage(wishes: Partial<LeasedLoopOptions<Row>> = {}, dialect: Db['dialect'] = 'sqlite') {
  const clock = handClock();
  const due: string[] = [];
  const did: string[] = [];
  const hears = new Map<string, () => void>();
  const onCommit = (table: string, fire: () => void): (() => void) => {
    hears.set(table, fire);
    return () => void hears.delete(table);
  };
  const log = { error: () => void did.push('error'), warn: () => void did.push('warn') };
  const loop = createLeasedLoop<Row>(
    { db: { dialect, onCommit } as Db, clock, log },
    {
      name: 'test',
      pollMs: 60_000,
      wakeOn: ['rows'],
      atOnceMax: 2,
      describe: ({ id }) => ({ id }),
      lease: {
        owner: 'me',
        ms: 3000,
        leases: {
          renew: (ids, { owner, until }) => {
            did.push(`renew ${ids.join('+')} for ${owner} until ${until - clock.now()}`);
            return Promise.resolve(new Set(ids.slice(1)));
          },
          release: (id) => Promise.resolve(did.push(`release ${id}`)),
          releaseAll: () => Promise.resolve(did.push('release all')),
        },
      },
      claim: ({ limit }, { owner, now, until }) => {
        const items = due.splice(0, limit).map((id) => ({ id }));
        did.push(`claim ${items.map(({ id }) => id).join('+')} for ${owner}, ${until - now}`);
        return Promise.resolve({ items, left: due.length > 0 ? 'blocked' : 'nothing' });
      },
      process: ({ id }) => Promise.resolve(void did.push(`carry ${id}`)),
      ...wishes,
    },
  );
  return { loop, clock, due, did, hears, since: () => did.splice(0) };
}

it('leases of a process that is gone are released at the start when no other process can be running', async () => {
  const alone = stage();
  await alone.loop.start();
  await alone.loop.idle();
  expect(alone.did).toEqual(['release all', 'claim  for me, 3000']);
  const amongOthers = stage({}, 'pg');
  await amongOthers.loop.start();
  await amongOthers.loop.idle();
  expect(amongOthers.did).toEqual(['claim  for me, 3000']);
  await Promise.all([alone.loop.stop(0), amongOthers.loop.stop(0)]);
});

it('a commit wakes the loop, the allowed number of items runs at once, and each lease is released afterwards', async () => {
  const { loop, due, hears, since } = stage();
  await loop.start();
  await loop.idle();
  since();
  due.push('a', 'b', 'c');
  hears.get('rows')?.();
  await loop.idle();
  expect(since().filter((did) => !did.startsWith('claim'))).toEqual(
    ['a', 'b'].map((id) => `carry ${id}`).concat(['release a', 'release b', 'carry c', 'release c']),
  );
  await loop.stop(0);
  expect(hears.size).toBe(0);
});

it('leases are renewed after every third of their time, and the loop learns which ones it kept', async () => {
  const end = Promise.withResolvers<void>();
  const told: unknown[] = [];
  const { loop, clock, due, since } = stage({
    process: () => end.promise,
    renewed: (items, kept, until) => Promise.resolve(void told.push([items.length, [...kept], until - clock.now()])),
  });
  await loop.start();
  await loop.idle();
  await clock.pass(1000);
  due.push('a', 'b');
  loop.wake();
  await settle();
  since();
  await clock.pass(1000);
  expect(since()).toEqual(['renew a+b for me until 3000']);
  expect(told).toEqual([
    [0, [], 3000],
    [2, ['b'], 3000],
  ]);
  end.resolve();
  await loop.stop(0);
});

it('the loop keeps its items through a jump of the clock, and then claims more', async () => {
  const end = Promise.withResolvers<void>();
  const { loop, clock, due, since } = stage({ process: () => end.promise });
  await loop.start();
  await loop.idle();
  due.push('a');
  loop.wake();
  await settle();
  since();
  clock.set(clock.now() + 2999);
  loop.wake();
  await settle();
  expect(since()).toEqual(['claim  for me, 3000']);
  clock.set(clock.now() + 1);
  loop.wake();
  await settle();
  expect(since()).toEqual(['renew a for me until 3000', 'claim  for me, 3000']);
  end.resolve();
  await loop.stop(0);
});

it('a failure releases the lease, and a lease that cannot be released expires', async () => {
  const { loop, due, since } = stage({ process: () => Promise.reject(new Error('broken')) });
  due.push('a');
  await loop.start();
  await loop.idle();
  expect(since().slice(2)).toEqual(['release a', 'error']);
  await loop.stop(0);
  const release = () => Promise.reject(new Error('no database'));
  const stuck = stage({
    lease: {
      owner: 'me',
      ms: 3000,
      leases: { renew: () => Promise.resolve(new Set<string>()), release, releaseAll: () => Promise.resolve() },
    },
  });
  stuck.due.push('a');
  await stuck.loop.start();
  await stuck.loop.idle();
  expect(stuck.since().slice(1, 3)).toEqual(['carry a', 'warn']);
  await stuck.loop.stop(0);
});

it('an item that was claimed while the loop stops is released', async () => {
  const answer = Promise.withResolvers<void>();
  const { loop, since } = stage({
    claim: async () => {
      await answer.promise;
      return { items: [{ id: 'late' }], left: 'nothing' };
    },
  });
  await loop.start();
  const stopped = loop.stop(0);
  answer.resolve();
  await stopped;
  expect(since()).toEqual(['release all', 'release late']);
});
