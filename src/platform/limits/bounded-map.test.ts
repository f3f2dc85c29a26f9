import fc from 'fast-check';
import { expect, it } from 'vitest';
import { BoundedMap } from './bounded-map.ts';

it('one entry more than the maximum makes a bounded map forget the oldest', () => {
  const map = new BoundedMap<string, number>(2);
  map.set('a', 1).set('b', 2).set('a', 3).set('c', 4);
  expect([...map]).toEqual([
    ['a', 3],
    ['c', 4],
  ]);
});

it('a bounded map holds the latest entries, whatever is set, deleted and cleared', () => {
  const step = fc.oneof(
    { weight: 8, arbitrary: fc.record({ kind: fc.constant('set' as const), key: fc.nat({ max: 40 }) }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('delete' as const), key: fc.nat({ max: 40 }) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('clear' as const), key: fc.constant(0) }) },
  );
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 12 }), fc.array(step, { maxLength: 300 }), (max, steps) => {
      const map = new BoundedMap<number, number>(max);
      let model: number[] = [];
      for (const { kind, key } of steps) {
        if (kind === 'clear') {
          map.clear();
          model = [];
          continue;
        }
        model = model.filter((known) => known !== key);
        if (kind === 'delete') map.delete(key);
        else {
          map.set(key, key);
          model = [...model, key].slice(-max);
        }
        expect([...map.keys()]).toEqual(model);
      }
    }),
  );
});
