import { describe, expect, it } from 'vitest';
import { createRoom } from './room.ts';

/** Takes in as the queue does, until every destination is crowded or nothing is free. */
function fill(countMax: number, destinations: string[]): Record<string, number> {
  const room = createRoom(countMax);
  const held: Record<string, number> = {};
  for (let isFilling = true; isFilling;) {
    isFilling = false;
    for (const destination of destinations) {
      if (room.free === 0 || room.crowded().includes(destination)) continue;
      room.enter(destination);
      held[destination] = (held[destination] ?? 0) + 1;
      isFilling = true;
    }
  }
  return { ...held, left: countMax - room.count };
}

describe('the room of the queue', () => {
  it('leaves half of it to everybody else when one destination is slow', () => {
    expect(fill(100, ['slow.example'])).toEqual({ 'slow.example': 50, left: 50 });
  });

  it('leaves a share to everybody else when several destinations are slow', () => {
    expect(fill(100, ['a.example', 'b.example', 'c.example'])).toEqual({
      'a.example': 25,
      'b.example': 25,
      'c.example': 25,
      left: 25,
    });
  });

  it('has room for one even when it has room for one only', () => {
    expect(fill(1, ['a.example'])).toEqual({ 'a.example': 1, left: 0 });
  });

  it('is empty again when everybody has left', () => {
    const room = createRoom(2);
    room.enter('a.example');
    expect(room.crowded()).toEqual(['a.example']);
    room.leave('a.example');
    expect([room.isEmpty, room.count, room.free, room.crowded()]).toEqual([true, 0, 1, []]);
  });
});
