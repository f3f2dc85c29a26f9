// How a capacity notifies the sites that wait for it, without looking at all of them for each message of another.
import { expect, test } from 'vitest';
import { createManualClock } from '../rig/clock.ts';
import { Capacity, type Lack, type Wish } from '../../src/mail/deliver/capacity.ts';

const clock = createManualClock(1_000_000);

const createCapacity = (connectionsMax: number, probesMax?: number): Capacity =>
  new Capacity({ connectionsMax, probesMax, clock, now: () => clock.now(), random: () => 0.5 });

let created = 0;

/** A site that wants a connection of each capacity for one tenant, and counts how often it is told to try again. */
function createWish(tenant: string, capacities: readonly Capacity[]) {
  const state = { tries: 0, isOpen: false, lack: undefined as Lack | undefined };
  const wish: Wish = {
    tenant,
    site: { usable: 0 },
    order: (created += 1),
    lines: new Set(),
    tryAgain() {
      state.tries += 1;
      for (const capacity of capacities) {
        state.lack = capacity.lackFor(tenant);
        if (state.lack) return capacity.wait(state.lack, wish);
      }
      for (const capacity of capacities) capacity.opens(tenant);
      state.isOpen = true;
    },
  };
  wish.tryAgain(capacities[0] as Capacity);
  return state;
}

test('a thousand sites that wait for a silent address are not tried again while connections to others come and go', () => {
  const all = createCapacity(200);
  const silent = createCapacity(40, 2);
  const waiting = Array.from({ length: 1000 }, () => createWish('crowd', [silent, all]));
  expect(waiting.filter(({ isOpen }) => isOpen)).toHaveLength(2);
  for (const each of waiting) each.tries = 0;
  for (let n = 0; n < 100; n++) {
    expect(createWish('other', [all]).isOpen).toBe(true);
    all.opened('other');
    all.leaves();
    all.left();
    all.wake();
  }
  expect(waiting.reduce((sum, { tries }) => sum + tries, 0)).toBe(0);
});

test('sites that wait for an address are tried again when it fails, so that they go elsewhere', () => {
  const silent = createCapacity(40, 2);
  const waiting = Array.from({ length: 10 }, () => createWish('crowd', [silent]));
  const why = { kind: 'deferred', reason: 'timeout', detail: 'no reply' } as const;
  silent.failed('crowd', { outcome: why });
  expect(silent.backOff.why).toBe(why);
  expect(waiting.slice(2).every(({ tries }) => tries === 2)).toBe(true);
});

test('room that is freed goes to each waiting tenant, and to other mail of a team before its bulk mail', () => {
  const all = createCapacity(1);
  createWish('busy', [all]);
  const order: string[] = [];
  const names = ['b bulk', 'b', 'c'];
  const wishes = names.map((tenant) => createWish(tenant, [all]));
  let last = 'busy';
  while (order.length < names.length) {
    all.opened(last);
    all.leaves();
    all.left();
    all.wake();
    const at = wishes.findIndex(({ isOpen }, index) => isOpen && !order.includes(names[index] ?? ''));
    last = names[at] ?? '';
    order.push(last);
  }
  expect(order.toSorted()).toEqual(names.toSorted());
  expect(order.indexOf('b')).toBeLessThan(order.indexOf('b bulk'));
});
