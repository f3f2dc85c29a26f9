import { expect, it } from 'vitest';
import { WeightedTurns, type Weighted } from './weighted-turns.ts';

const a = { name: 'a', weight: 3 };
const b = { name: 'b', weight: 1 };

function turn(turns: WeightedTurns, choices: readonly Weighted[]): string {
  const [first] = turns.order(choices);
  if (!first) throw new Error('no choice');
  turns.take(first, choices);
  return first.name;
}

it('turns are spread evenly by weight', () => {
  const turns = new WeightedTurns();
  expect(Array.from({ length: 8 }, () => turn(turns, [a, b])).join('')).toBe('aabaaaba');
});

it('a choice that was left out for a while has no more than its share afterwards', () => {
  const turns = new WeightedTurns();
  for (let count = 0; count < 100; count++) turn(turns, [a]);
  const later = Array.from({ length: 40 }, () => turn(turns, [a, b]));
  expect(later.filter((name) => name === 'b')).toHaveLength(10);
});

it('a turn that is taken back comes again', () => {
  const turns = new WeightedTurns();
  const [first] = turns.order([a, b]);
  turns.take(first!, [a, b]);
  turns.undo(first!, [a, b]);
  expect(Array.from({ length: 4 }, () => turn(turns, [a, b])).join('')).toBe('aaba');
});
