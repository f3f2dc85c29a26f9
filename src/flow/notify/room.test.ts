import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRoom, type Room } from './room.ts';

const never = (): void => undefined;

const takeAll = (room: Room): number => {
  let taken = 0;
  while (room.take(never)) taken++;
  return taken;
};

test('who waits longest is told first, and what it does not take goes to the next one', () => {
  const room = createRoom(2);
  const told: string[] = [];
  const [first, second, third] = [room.forEndpoint('a'), room.forEndpoint('a'), room.forEndpoint('a')];
  const holder = room.forEndpoint('a');
  expect(holder.take(never)).toBe(true);
  expect(first.take(() => void told.push('first, which needs it no more'))).toBe(false);
  expect(second.take(() => void (second.take(never) && told.push('second')))).toBe(false);
  expect(third.take(() => void told.push('third'))).toBe(false);
  holder.leave();
  expect(told).toEqual(['first, which needs it no more', 'second']);
  second.leave();
  expect(told).toHaveLength(3);
});

test('a team alone may hold half of it, and whoever comes next finds places, however long those are kept', () => {
  const room = createRoom(256);
  const ofOne = Array.from({ length: 10 }, () => room.forEndpoint('a'));
  expect(ofOne.reduce((sum, endpoint) => sum + takeAll(endpoint), 0)).toBe(128);
  expect(takeAll(room.forEndpoint('b'))).toBe(64);
  expect(takeAll(room.forEndpoint('c'))).toBe(32);
});

test('a free place goes to the team that holds the fewest, and there to the endpoint that holds the fewest', () => {
  const room = createRoom(8);
  const [greedy, modest] = [room.forEndpoint('a'), room.forEndpoint('a')];
  const other = room.forEndpoint('b');
  const told: string[] = [];
  for (let i = 0; i < 3; i++) expect(greedy.take(never)).toBe(true);
  expect(modest.take(never)).toBe(true);
  expect(other.take(never) && other.take(never)).toBe(true);
  expect(greedy.take(() => void told.push('greedy'))).toBe(false);
  expect(modest.take(() => void (modest.take(never) && told.push('modest')))).toBe(false);
  expect(other.take(() => void (other.take(never) && told.push('other')))).toBe(false);
  greedy.leave();
  expect(told).toEqual(['other']);
  greedy.leave();
  expect(told).toEqual(['other', 'modest']);
});

test('who is told takes one place and stands in the line again for the next', () => {
  const room = createRoom(4);
  const holders = [room.forEndpoint('a'), room.forEndpoint('a')];
  for (const holder of holders) expect(holder.take(never)).toBe(true);
  const got = [0, 0];
  const waiters = [room.forEndpoint('b'), room.forEndpoint('b')];
  const other = room.forEndpoint('c');
  expect(other.take(never)).toBe(true);
  const pumps = waiters.map((waiter, at) => {
    const pump = (): void => {
      while ((got[at] ?? 0) < 5 && waiter.take(pump)) got[at] = (got[at] ?? 0) + 1;
    };
    return pump;
  });
  for (const pump of pumps) pump();
  for (const holder of holders) holder.leave();
  other.leave();
  expect(got).toEqual([1, 1]);
});

test('a room of no places gives none', () => {
  expect(createRoom(0).forEndpoint('a').take(never)).toBe(false);
});

test('whoever comes and goes, no more places are held than there are, and in the end all are free', () => {
  const steps = fc.array(fc.tuple(fc.nat({ max: 5 }), fc.boolean()), { maxLength: 200 });
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 20 }), steps, (places, all) => {
      const room = createRoom(places);
      const guests = Array.from({ length: 6 }, (_, at) => ({ room: room.forEndpoint(`t${at % 3}`), held: 0 }));
      const sum = (): number => guests.reduce((total, { held }) => total + held, 0);
      for (const [at, isTaking] of all) {
        const guest = guests[at];
        if (!guest) continue;
        const pump = (): void => void (guest.held < 4 && guest.room.take(pump) && guest.held++);
        if (isTaking) pump();
        else if (guest.held > 0 && guest.held--) guest.room.leave();
        expect(sum()).toBeLessThanOrEqual(places);
      }
      // Whoever is told on the way out may take more.
      for (let left = sum(); left > 0; left = sum()) {
        for (const guest of guests) {
          const { held } = guest;
          guest.held = 4;
          for (let i = 0; i < held; i++) guest.room.leave();
          guest.held = 0;
        }
      }
      expect(takeAll(room.forEndpoint('new'))).toBe(Math.ceil(places / 2));
    }),
  );
});
