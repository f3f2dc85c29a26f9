import { expect, it } from 'vitest';
import type { Field } from '../../cli/families/index.ts';
import { openTerminal } from '../../cli/output/index.ts';
import { layTable, inOrder, orderBy } from './table.ts';
import { unstyled, shownWidth } from './text.ts';
import { TableBody } from '../screens/table-body.ts';

const stream = { write: () => true, isTTY: true, columns: 80 };
const terminal = openTerminal({ out: stream, err: stream, env: { NO_COLOR: '1' } });

interface Row {
  at: string;
  state: string;
  to: string;
  subject: string;
  note?: string;
}

const fields = [
  { name: 'at', label: 'At', kind: 'time' },
  { name: 'state', label: 'State', kind: 'state' },
  { name: 'to', label: 'To', kind: 'name' },
  { name: 'subject', label: 'Subject' },
  { name: 'note', label: 'Note' },
] satisfies Field<Row>[];

const rowTo = (to: string): Row => ({
  at: '2030-01-01, 10:00',
  state: 'delivered',
  to,
  subject: 'What is new in the tenth week of the year',
});

const drawn = (rows: readonly Row[], width: number, of: readonly Field<never>[] = fields): string[] => {
  const { head, row } = layTable(terminal, { fields: of, rows, cursor: 0, isMarked: () => false }, width);
  return [...head, ...rows.flatMap((_, at) => row(at))].map((line) => unstyled(line).trimEnd());
};

const LONG = 'the.longest.name.of.them.all@department.example.org';

it('a table drops empty columns and then times to make room for a name, before it truncates a text', () => {
  const rows = [rowTo('ada@example.org'), rowTo('grace.hopper@mail.example.org')];
  expect(drawn(rows, 120)).toMatchInlineSnapshot(`
    [
      "  AT                 STATE      TO                             SUBJECT                                    NOTE",
      "› 2030-01-01 10:00Z  delivered  ada@example.org                What is new in the tenth week of the year",
      "  2030-01-01 10:00Z  delivered  grace.hopper@mail.example.org  What is new in the tenth week of the year",
    ]
  `);
  expect(drawn(rows, 80)).toMatchInlineSnapshot(`
    [
      "  AT                 STATE      TO                             SUBJECT",
      "› 2030-01-01 10:00Z  delivered  ada@example.org                What is new in t…",
      "  2030-01-01 10:00Z  delivered  grace.hopper@mail.example.org  What is new in t…",
    ]
  `);
  expect(drawn(rows, 60)).toMatchInlineSnapshot(`
    [
      "  STATE      TO                             SUBJECT",
      "› delivered  ada@example.org                What is new in …",
      "  delivered  grace.hopper@mail.example.org  What is new in …",
    ]
  `);
});

it('names that leave no room for the other columns go below their rows, and the times are shown again', () => {
  expect(drawn([rowTo(LONG), rowTo(LONG)], 60)).toMatchInlineSnapshot(`
    [
      "  AT                 STATE      SUBJECT                 NOTE",
      "    TO",
      "› 2030-01-01 10:00Z  delivered  What is new in the te…",
      "    the.longest.name.of.them.all@department.example.org",
      "  2030-01-01 10:00Z  delivered  What is new in the te…",
      "    the.longest.name.of.them.all@department.example.org",
    ]
  `);
});

it('a single name that is longer than the others goes below its own row', () => {
  const rows = [rowTo(LONG), ...Array.from({ length: 9 }, (_, at) => rowTo(`n${at}@example.org`))];
  expect(drawn(rows, 80).slice(0, 4)).toMatchInlineSnapshot(`
    [
      "  AT                 STATE      TO              SUBJECT",
      "› 2030-01-01 10:00Z  delivered  …               What is new in the tenth week o…",
      "    the.longest.name.of.them.all@department.example.org",
      "  2030-01-01 10:00Z  delivered  n0@example.org  What is new in the tenth week o…",
    ]
  `);
});

it('next to a detail pane every row is one line: times are dropped before names, and long names are truncated', () => {
  const rows = [rowTo('ada@example.org'), rowTo(LONG), rowTo('grace.hopper@mail.example.org')];
  const beside = (width: number): string[] => {
    const { head, row } = layTable(
      terminal,
      { fields, rows, cursor: 0, isMarked: () => false, hasBeside: true },
      width,
    );
    return [...head, ...rows.flatMap((_, at) => row(at))].map((line) => unstyled(line).trimEnd());
  };
  expect(beside(54)).toMatchInlineSnapshot(`
    [
      "  STATE      TO                    SUBJECT",
      "› delivered  ada@example.org       What is new in the…",
      "  delivered  the.longest.name.of…  What is new in the…",
      "  delivered  grace.hopper@mail.e…  What is new in the…",
    ]
  `);
  expect(beside(90)).toMatchInlineSnapshot(`
    [
      "  AT                 STATE      TO                    SUBJECT",
      "› 2030-01-01 10:00Z  delivered  ada@example.org       What is new in the tenth week of th…",
      "  2030-01-01 10:00Z  delivered  the.longest.name.of…  What is new in the tenth week of th…",
      "  2030-01-01 10:00Z  delivered  grace.hopper@mail.e…  What is new in the tenth week of th…",
    ]
  `);
});

it('the longer one of two truncated texts gets the free space first', () => {
  const rows = [{ ...rowTo('ada@example.org'), note: 'a short note of it' }];
  const [head = ''] = drawn(rows, 90);
  const wide = head.indexOf('NOTE') - head.indexOf('SUBJECT') - 2;
  expect(wide).toBeGreaterThan(12);
  expect(drawn(rows, 90).join('\n')).toContain('a short not…');
});

it('the column that is truncated in the most rows gets the free space first', () => {
  const rows = [
    { ...rowTo('ada@example.org'), note: 'a very long note, far longer than any subject there is' },
    { ...rowTo('ada@example.org'), note: '' },
  ];
  expect(drawn(rows, 106).filter((line) => line.includes('the tenth week of the year'))).toHaveLength(2);
});

it('a name column is as wide as the longest name that fits, so that few rows need a second line', () => {
  const rows = [...Array<string>(14).fill('a@b.org'), 'longer@example.org', LONG].map(rowTo);
  const lines = drawn(rows, 79, fields.slice(0, 3));
  expect(lines.find((line) => line.includes('longer@example.org'))).toMatch(/delivered/);
  expect(lines.filter((line) => line.trim() === LONG)).toHaveLength(1);
});

it('a name that is longer than the terminal continues on the next line', () => {
  const name = `${'x'.repeat(60)}@${'y'.repeat(60)}.example`;
  const lines = drawn([rowTo(name)], 60);
  expect(
    lines
      .slice(3)
      .map((line) => line.trim())
      .join(''),
  ).toBe(name);
});

it('no line is wider than the table, whatever its width', () => {
  const rows = [rowTo(LONG), rowTo('ada@example.org'), rowTo('日本語日本語日本語@example.org')];
  for (let width = 40; width < 130; width++)
    for (const line of drawn(rows, width)) expect(line.length, `${width}: ${line}`).toBeLessThanOrEqual(width);
});

interface SortedRow {
  id: string;
  name: string;
  size: number | null;
  at: string;
}

const sortedFields = [
  { name: 'name', label: 'Name', kind: 'name', tone: () => 'bad' },
  { name: 'size', label: 'Size', kind: 'whole', words: ({ size }) => (size === null ? '' : `${size} B`) },
  { name: 'at', label: 'At', kind: 'time' },
] satisfies Field<SortedRow>[] as readonly Field<never>[];
const [byName, bySize, byTime] = sortedFields as [Field<never>, Field<never>, Field<never>];

const rows: SortedRow[] = [
  { id: 'a', name: 'item 10', size: 9, at: '2030-01-01T10:00:00+02:00' },
  { id: 'b', name: 'Item 2', size: null, at: '2030-01-01T09:00:00Z' },
  { id: 'c', name: 'ämter', size: 100, at: 'no time' },
];
const ids = (sorted: readonly SortedRow[]): string => sorted.map(({ id }) => id).join('');

it.each([
  [byName, false, 'cba'],
  [byName, true, 'abc'],
  [bySize, false, 'acb'],
  [bySize, true, 'cab'],
  [byTime, false, 'abc'],
  [byTime, true, 'bac'],
])(
  'a list sorts numbers by value, times by date, words alphabetically, and empty values last (%#)',
  (field, isDown, found) => {
    expect(ids(inOrder(rows, { field, isDown }))).toBe(found);
  },
);

it('the sort keys step through the columns and back to the original order', () => {
  const names: (string | undefined)[] = [];
  let order = orderBy('>', undefined, sortedFields)?.order;
  for (let steps = 0; steps < 4; steps++) {
    names.push(order?.field.name);
    order = orderBy('>', order, sortedFields)?.order;
  }
  expect(names).toEqual(['name', 'size', 'at', undefined]);
  expect(orderBy('<', undefined, sortedFields)?.order?.field.name).toBe('at');
  expect(orderBy('=', { field: byName, isDown: false }, sortedFields)).toEqual({
    order: { field: byName, isDown: true },
  });
  expect(orderBy('j', undefined, sortedFields)).toBeUndefined();
});

it('the titles show the sort order, and the selected row is highlighted to the edge with the color of its state', () => {
  const stream = { write: () => true, isTTY: true, columns: 60 };
  const body = new TableBody<SortedRow>(sortedFields, ({ id }) => id);
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
  // Red, then inverse again.
  expect(inHand).toMatch(/^\u001B\[7m›.*\u001B\[31m✗ ämter\u001B\[0m\u001B\[7m.* {2,}\u001B\[0m/);
  expect(drawn({ NO_COLOR: '1' })[1]).not.toContain('[31m');
});
