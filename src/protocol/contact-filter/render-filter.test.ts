import { expect, it } from 'vitest';
import { chooseIndex, listPropertyKeys, parseFilter, type Declared } from './index.ts';

const declared: Declared = {
  properties: [{ id: 'p1', key: 'plan', type: 'string', slot: 1 }],
  topics: [],
  broadcasts: new Set(),
  events: new Map(),
  segments: new Map(),
  now: 0,
};
const plan = { field: 'properties.plan', op: 'eq', value: 'pro' };
const gone = { field: 'properties.gone', op: 'eq', value: 'x' };
const filterFor = (input: object) => parseFilter(input, declared).filter;

it('a filter without unknown conditions stays as it was written', () => {
  expect(filterFor({ all: [plan, { not: [plan] }] })).toMatchObject({
    kind: 'all',
    of: [{ kind: 'text' }, { kind: 'none', of: [{ kind: 'text' }] }],
  });
});

it.each([
  [{ not: [gone] }],
  [{ all: [plan, gone] }],
  [{ all: [plan, { not: [gone] }] }],
  [{ not: [gone, plan] }],
  [{ not: [{ not: [gone] }] }],
])('the filter %j matches nobody, because it is unknown or false for every contact', (input) => {
  expect(filterFor(input)).toEqual({ kind: 'never' });
});

it('a filter with an unknown condition still uses the index of its other conditions', () => {
  for (const input of [{ any: [plan, gone] }, { any: [gone, plan, { not: [gone] }] }]) {
    expect(chooseIndex(filterFor(input), { dialect: 'sqlite', teamId: '' }).ids).toBeDefined();
  }
});

it('the list of properties contains every key that a filter names, and no value that looks like a key', () => {
  const filter = {
    any: [plan, { not: [gone, { field: 'email', op: 'in', value: ['properties.value'] }] }],
    all: [{ topic: 'properties.topic', subscription: 'opt_in' }],
  };
  expect(listPropertyKeys(filter)).toEqual(new Set(['plan', 'gone']));
});
