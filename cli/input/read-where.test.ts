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
    ['created_at > now-7d', { all: [{ field: 'created_at', op: 'gt', value: 'now-7d' }] }],
    ['opened', { all: [{ engagement: 'opened' }] }],
    ['Opened(november)', { all: [{ engagement: 'opened', broadcast: 'november' }] }],
    ['not clicked within 30d', { not: [{ engagement: 'clicked', within_days: 30 }] }],
    [
      'clicked("https://example.com/x?a=(1)")',
      { all: [{ engagement: 'clicked', link: 'https://example.com/x?a=(1)' }] },
    ],
    [
      'clicked("News of May", https://example.com/x)',
      { all: [{ engagement: 'clicked', broadcast: 'News of May', link: 'https://example.com/x' }] },
    ],
    [
      'sent within 7d and not (delivered within 3650d)',
      { all: [{ engagement: 'sent', within_days: 7 }, { not: [{ engagement: 'delivered', within_days: 3650 }] }] },
    ],
    ['inactive for 90d', { all: [{ engagement: 'inactive', within_days: 90 }] }],
    ['event(cart.abandoned) within 14d', { all: [{ event: 'cart.abandoned', within_days: 14 }] }],
    [
      'in segment(customers) or not in segment("Old ones")',
      { any: [{ segment: 'customers' }, { not: [{ segment: 'Old ones' }] }] },
    ],
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
    ['opened = november', 8, /opened takes no operator; write opened\(november\)/],
    ['opened(november', 16, /\) is expected here/],
    ['opened()', 8, /a broadcast is expected here, not "\)"/],
    ['opened("https://example.com/")', 8, /only clicked takes a link/],
    ['clicked(may, june)', 14, /one broadcast is enough here/],
    ['opened(november) within 3d', 18, /within cannot follow a broadcast/],
    ['sent within 30', 13, /a number of days from 1d to 3650d is expected here/],
    ['sent within 0d', 13, /a number of days from 1d to 3650d/],
    ['sent within 3651d', 13, /a number of days from 1d to 3650d/],
    ['inactive', 9, /for is expected here/],
    ['event paid', 7, /\( is expected here, not "paid"/],
    ['in customers', 4, /segment is expected here, not "customers"/],
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
