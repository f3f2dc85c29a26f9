import { expect, it } from 'vitest';
import { meetsRule } from './rules.ts';

const ada: Record<string, string | number | boolean | null> = {
  email: 'Ada@Example.org',
  first_name: 'Ädä',
  last_name: null,
  unsubscribed: false,
  'properties.seats': 3,
  'properties.note': '',
};
const meets = (rule: object): boolean | undefined =>
  meetsRule(
    rule as Record<string, unknown>,
    (field) => (field === 'properties.gone' ? undefined : (ada[field] ?? null)),
    (filter) => filter as boolean | undefined,
  );
const rule = (field: string, operator: string, value?: unknown) => ({ type: 'rule', field, operator, value });

it.each([
  [rule('email', 'eq', 'ada@example.ORG'), true],
  [rule('email', 'neq', 'ada@example.org'), false],
  [rule('first_name', 'starts_with', 'äD'), true],
  [rule('email', 'ends_with', '@example.org'), true],
  [rule('email', 'contains', 'EXAMPLE'), true],
  [rule('email', 'contains', 'nothing'), false],
  [rule('last_name', 'contains', 'x'), false],
  [rule('last_name', 'eq', null), true],
  [rule('last_name', 'neq', 'x'), true],
  [rule('last_name', 'exists'), false],
  [rule('last_name', 'is_empty'), true],
  [rule('properties.note', 'exists'), true],
  [rule('properties.note', 'is_empty'), true],
  [rule('unsubscribed', 'eq', false), true],
  [rule('unsubscribed', 'neq', false), false],
  [rule('properties.seats', 'gt', 3), false],
  [rule('properties.seats', 'gte', 3), true],
  [rule('properties.seats', 'lt', 4), true],
  [rule('properties.seats', 'lte', 2), false],
  [rule('properties.nothing', 'lt', 4), false],
])('the rule %j evaluates to %j', (one, expected) => {
  expect(meets(one)).toBe(expected);
});

it('a group requires all or any of its rules', () => {
  const yes = rule('email', 'exists');
  const no = rule('last_name', 'exists');
  expect(meets({ type: 'and', rules: [yes, no] })).toBe(false);
  expect(meets({ type: 'or', rules: [no, { type: 'and', rules: [yes, yes] }] })).toBe(true);
});

it('a filter among rules counts as one of them', () => {
  const yes = rule('email', 'exists');
  const filter = (result: boolean | undefined) => ({ type: 'filter', filter: result });
  expect(meets(filter(true))).toBe(true);
  expect(meets({ type: 'and', rules: [yes, filter(false)] })).toBe(false);
  expect(meets({ type: 'or', rules: [filter(undefined), yes] })).toBe(true);
  expect(meets({ type: 'and', rules: [yes, filter(undefined)] })).toBeUndefined();
});

it('a rule on a deleted property is unknown, and leaves a group undecided unless the other rules decide it', () => {
  const yes = rule('email', 'exists');
  const no = rule('last_name', 'exists');
  for (const gone of [rule('properties.gone', 'neq', 'x'), rule('properties.gone', 'is_empty')]) {
    expect(meets(gone)).toBeUndefined();
    expect(meets({ type: 'and', rules: [yes, gone] })).toBeUndefined();
    expect(meets({ type: 'or', rules: [no, gone] })).toBeUndefined();
    expect(meets({ type: 'and', rules: [gone, no] })).toBe(false);
    expect(meets({ type: 'or', rules: [gone, yes] })).toBe(true);
  }
});
