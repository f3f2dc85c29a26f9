import { expect, it } from 'vitest';
import { createTurnLine } from './turn-line.ts';

it('who brings much waits for itself', () => {
  const line = createTurnLine<string>();
  for (const one of ['a1', 'a2', 'a3', 'a4']) line.push('a', one);
  line.push('b', 'b1');
  expect(line.shift()).toBe('a1');
  line.push('c', 'c1');
  line.push('b', 'b2');
  expect([line.size, line.sizeOf('a'), line.sizeOf('d')]).toEqual([6, 3, 0]);
  expect(Array.from({ length: 7 }, () => line.shift())).toEqual(['b1', 'a2', 'c1', 'b2', 'a3', 'a4', undefined]);
  expect(line.size).toBe(0);
});
