import { expect, it } from 'vitest';
import type { Field } from '../../cli/families/index.ts';
import { openTerminal } from '../../cli/output/index.ts';
import { TableBody } from '../screens/table-body.ts';
import { inOrder, orderBy } from './table.ts';
import { shownWidth, unstyled } from './text.ts';

interface Row {
  id: string;
  name: string;
  size: number | null;
  at: string;
}

const fields = [
  { name: 'name', label: 'Name', kind: 'name', tone: () => 'bad' },
  { name: 'size', label: 'Size', kind: 'whole', words: ({ size }) => (size === null ? '' : `${size} B`) },
  { name: 'at', label: 'At', kind: 'time' },
] satisfies Field<Row>[] as readonly Field<never>[];
const [byName, bySize, byTime] = fields as [Field<never>, Field<never>, Field<never>];

const rows: Row[] = [
  { id: 'a', name: 'item 10', size: 9, at: '2030-01-01T10:00:00+02:00' },
  { id: 'b', name: 'Item 2', size: null, at: '2030-01-01T09:00:00Z' },
  { id: 'c', name: 'ämter', size: 100, at: 'no time' },
];
const ids = (sorted: readonly Row[]): string => sorted.map(({ id }) => id).join('');

it.each([
  [byName, false, 'cba'],
  [byName, true, 'abc'],
  [bySize, false, 'acb'],
  [bySize, true, 'cab'],
  [byTime, false, 'abc'],
  [byTime, true, 'bac'],
])(
  'numbers by their size, times by when they are, words as one reads them, and nothing last (%#)',
  (field, isDown, found) => {
    expect(ids(inOrder(rows, { field, isDown }))).toBe(found);
  },
);

it('keys go through the columns and back to the order of the list', () => {
  const names: (string | undefined)[] = [];
  let order = orderBy('>', undefined, fields)?.order;
  for (let steps = 0; steps < 4; steps++) {
    names.push(order?.field.name);
    order = orderBy('>', order, fields)?.order;
  }
  expect(names).toEqual(['name', 'size', 'at', undefined]);
  expect(orderBy('<', undefined, fields)?.order?.field.name).toBe('at');
  expect(orderBy('=', { field: byName, isDown: false }, fields)).toEqual({ order: { field: byName, isDown: true } });
  expect(orderBy('j', undefined, fields)).toBeUndefined();
});

it('the titles tell the order, and the bar reaches the edge with the colour of the state in it', () => {
  const stream = { write: () => true, isTTY: true, columns: 60 };
  const body = new TableBody<Row>(fields, ({ id }) => id);
  const drawn = (env: Record<string, string>): string[] =>
    body.draw(openTerminal({ out: stream, err: stream, env }), body.ordered(rows), { columns: 60, rows: 10 });
  drawn({});
  body.key('>', rows);
  body.key('>', rows);
  expect(unstyled(drawn({})[0] ?? '')).toMatch(/^ {2}NAME +SIZE ↑ +AT/);
  body.key('=', rows);
  const [titles = '', inHand = ''] = drawn({});
  expect(unstyled(titles)).toContain('SIZE ↓');
  expect(unstyled(inHand)).toMatch(/^› {1}✗ ämter/);
  expect(shownWidth(inHand)).toBe(60);
  // Red, and inverse again behind it.
  expect(inHand).toMatch(/^\u001B\[7m›.*\u001B\[31m✗ ämter\u001B\[0m\u001B\[7m.* {2,}\u001B\[0m/);
  expect(drawn({ NO_COLOR: '1' })[1]).not.toContain('[31m');
});
