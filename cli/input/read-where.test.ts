import { describe, expect, it } from 'vitest';
import { CliFault } from '../output/cli-fault.ts';
import { readWhere } from './read-where.ts';

const plan = { field: 'properties.plan', op: 'eq', value: 'pro' };

describe('a --where condition', () => {
  it.each<[string, unknown]>([
    ['properties.plan = pro', { all: [plan] }],
    ["properties.plan == 'pro'", { all: [plan] }],
    [
      'properties.age >= 18 and unsubscribed = false',
      {
        all: [
          { field: 'properties.age', op: 'gte', value: 18 },
          { field: 'unsubscribed', op: 'eq', value: false },
        ],
      },
    ],
    ['properties.zip = "10115"', { all: [{ field: 'properties.zip', op: 'eq', value: '10115' }] }],
    [
      'a = 1 or b = 2 AND c = 3',
      {
        any: [
          { field: 'a', op: 'eq', value: 1 },
          {
            all: [
              { field: 'b', op: 'eq', value: 2 },
              { field: 'c', op: 'eq', value: 3 },
            ],
          },
        ],
      },
    ],
    [
      'not (properties.plan = pro or email contains @example.org)',
      {
        not: [plan, { field: 'email', op: 'contains', value: '@example.org' }],
      },
    ],
    [
      'properties.plan in (pro, team) and first_name exists',
      {
        all: [
          { field: 'properties.plan', op: 'in', value: ['pro', 'team'] },
          { field: 'first_name', op: 'exists', value: true },
        ],
      },
    ],
    ['created_at > 2026-01-01', { all: [{ field: 'created_at', op: 'gt', value: '2026-01-01' }] }],
    ['topic "Product news" = opt_in', { all: [{ topic: 'Product news', subscription: 'opt_in' }] }],
    [String.raw`first_name = "a \"b\""`, { all: [{ field: 'first_name', op: 'eq', value: 'a "b"' }] }],
  ])('%s is parsed into a filter', (text, filter) => expect(readWhere(text)).toEqual(filter));

  it.each([
    ['properties.plan', 16, /= != > .* is expected here$/],
    ['properties.plan ~ pro', 17, /is expected here, not "~"/],
    ['properties.plan =', 18, /a value is expected here/],
    [
      'properties.plan = pro unsubscribed = false',
      23,
      /and, or, or the end of the condition is expected here, not "unsubscribed"/,
    ],
    ['(a = 1', 7, /\) is expected here/],
    ['a = "open', 5, /close a quote/],
    ['= pro', 1, /a field, such as/],
    ['', 1, /a field/],
    ['topic News = yes', 14, /opt_in or opt_out/],
  ])('%s is refused with the position of the mistake', (text, at, says) => {
    let thrown: unknown;
    try {
      readWhere(text);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(CliFault);
    const [first = '', , caret = ''] = (thrown as Error).message.split('\n');
    expect(first).toMatch(new RegExp(`^--where, at character ${at}: `));
    expect(first).toMatch(says);
    expect(caret).toBe(`${' '.repeat(at + 1)}^`);
  });
});
