import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { BoundedMap } from './bounded-map.ts';

it('a bounded map drops its oldest entry when it exceeds its maximum', () => {
  const map = new BoundedMap<string, number>(2);
  map.set('a', 1).set('b', 2).set('a', 3).set('c', 4);
  expect([...map]).toEqual([
    ['a', 3],
    ['c', 4],
  ]);
});

it('a bounded map keeps the latest entries, whatever is set, deleted and cleared', () => {
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

it('a bounded map with weights stays within its maximum, and drops the oldest entries first', () => {
  const weights = fc.array(fc.record({ key: fc.nat({ max: 9 }), weight: fc.nat({ max: 12 }) }), { maxLength: 60 });
  fc.assert(
    fc.property(fc.integer({ min: 12, max: 40 }), weights, (max, all) => {
      const map = new BoundedMap<number, number>(max, (weight) => weight);
      let model: [number, number][] = [];
      const sum = (): number => model.reduce((total, [, weight]) => total + weight, 0);
      for (const { key, weight } of all) {
        model = model.filter(([known]) => known !== key);
        if (weight === 0) map.delete(key);
        else {
          map.set(key, weight);
          model.push([key, weight]);
          while (sum() > max) model.shift();
        }
        expect([...map]).toEqual(model);
        expect(map.weight).toBe(sum());
      }
    }),
  );
});

it('a bounded map whose entries are set again and again does not keep its former tables in memory', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const heldAfter = (sets: number): number => {
    const map = new BoundedMap<number, number>(16);
    for (let key = 0; key <= 16; key++) map.set(key, key);
    for (let at = 0; at < sets; at++) map.set(1 + (at % 16), at);
    collect();
    const { heapUsed } = process.memoryUsage();
    expect(map.size).toBe(16);
    return heapUsed;
  };
  const few = heldAfter(1000);
  // A table that stays for every sixteen sets would be more than 20 MB.
  expect(heldAfter(500_000) - few).toBeLessThan(8 * 1024 * 1024);
});
