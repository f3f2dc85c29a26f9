import { describe, expect, it } from 'vitest';
import { complexityFault } from './check-request.ts';

const padding = `"${'x'.repeat(70_000)}"`;
const body = (value: string): Buffer => Buffer.from(`{"a":${padding},"b":${value}}`);

describe('the check of a body’s complexity', () => {
  it.each([
    { why: 'a large string is one value', value: padding },
    { why: 'brackets and commas in strings are text', value: `"${'[{,'.repeat(300_000)}"` },
    { why: 'an escaped quote does not end a string', value: `"${'\\",'.repeat(300_000)}"` },
    { why: 'a file may be a list of bytes', value: `{"type":"Buffer","data":[${'255,'.repeat(1_000_000)}1]}` },
    { why: '199,000 values are within the limit', value: `[${'{},'.repeat(99_000)}{}]` },
    { why: '39,000 fields are within the limit', value: `[${'{"a":1},'.repeat(38_999)}{}]` },
    { why: 'colons in strings are text', value: `"${':'.repeat(100_000)}"` },
    { why: 'sixty levels are within the limit', value: '['.repeat(60) + ']'.repeat(60) },
  ])('accepts the body: $why', ({ value }) => {
    expect(complexityFault(body(value))).toBeUndefined();
  });

  it.each([
    {
      why: 'a list of empty objects',
      value: `[${'{},'.repeat(200_000)}{}]`,
      fault: 'contains more than 200000 values',
    },
    { why: 'a list of strings', value: `[${'"",'.repeat(250_000)}""]`, fault: 'contains more than 200000 values' },
    {
      why: 'numbers mixed with something else',
      value: `[${'1,'.repeat(250_000)}{}]`,
      fault: 'contains more than 200000 values',
    },
    { why: 'a list of fields', value: `[${'{"a":1},'.repeat(40_000)}{}]`, fault: 'contains more than 40000 fields' },
    {
      why: 'an object of fields',
      value: `{${'"a":1,'.repeat(40_000)}"b":1}`,
      fault: 'contains more than 40000 fields',
    },
    { why: 'many levels', value: '['.repeat(70), fault: 'is nested more than 64 levels deep' },
  ])('refuses $why', ({ value, fault }) => {
    expect(complexityFault(body(value))).toBe(fault);
  });

  it('finds the closing quote of a string, whatever is escaped in it and wherever', () => {
    const deep = '['.repeat(70);
    for (const before of [0, 1, 253, 254, 255, 256, 257, 511, 512, 513, 5_000]) {
      for (const backslashes of [0, 1, 2, 3, 4, 5, 256, 257]) {
        const text = `"${'x'.repeat(before)}${'\\'.repeat(backslashes)}"`;
        const isEscaped = backslashes % 2 === 1;
        // An escaped quote leaves the string open: what follows is its text, and no level.
        const fault = complexityFault(body(`[${text},${deep}`));
        expect([before, backslashes, fault]).toEqual([
          before,
          backslashes,
          isEscaped ? undefined : 'is nested more than 64 levels deep',
        ]);
      }
    }
  });
});
