import { expect, test } from 'vitest';
import { createRoom } from './room.ts';

test('who waits longest is told first, and what it does not take goes to the next one', () => {
  const room = createRoom(1);
  const told: string[] = [];
  expect(room.take(() => undefined)).toBe(true);
  expect(room.take(() => void told.push('first, which needs it no more'))).toBe(false);
  expect(room.take(() => void (room.take(() => undefined) && told.push('second')))).toBe(false);
  expect(room.take(() => void told.push('third'))).toBe(false);
  room.leave();
  expect(told).toEqual(['first, which needs it no more', 'second']);
  room.leave();
  expect(told).toHaveLength(3);
});

test('a room of no places gives none', () => {
  expect(createRoom(0).take(() => undefined)).toBe(false);
});
