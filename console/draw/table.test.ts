import { expect, it } from 'vitest';
import type { Field } from '../../cli/families/index.ts';
import { openTerminal } from '../../cli/output/index.ts';
import { layTable } from './table.ts';
import { unstyled } from './text.ts';

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

it('what is empty and then the times give way to a name, before a text does', () => {
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

it('names that leave no space for the rest stand below their rows, and the times are back', () => {
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

it('one name among many that is longer stands below its row alone', () => {
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

it('beside a row in full every row is one line: the times go before the names, and long names are cut', () => {
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

it('of two texts that are cut the longer one gets what is free first', () => {
  const rows = [{ ...rowTo('ada@example.org'), note: 'a short note of it' }];
  const [head = ''] = drawn(rows, 90);
  const wide = head.indexOf('NOTE') - head.indexOf('SUBJECT') - 2;
  expect(wide).toBeGreaterThan(12);
  expect(drawn(rows, 90).join('\n')).toContain('a short not…');
});

it('a text that is cut in more rows than another gets what is free before it', () => {
  const rows = [
    { ...rowTo('ada@example.org'), note: 'a very long note, far longer than any subject there is' },
    { ...rowTo('ada@example.org'), note: '' },
  ];
  expect(drawn(rows, 106).filter((line) => line.includes('the tenth week of the year'))).toHaveLength(2);
});

it('a name that is cut is as wide as the longest that fits, so that few rows go on below', () => {
  const rows = [...Array<string>(14).fill('a@b.org'), 'longer@example.org', LONG].map(rowTo);
  const lines = drawn(rows, 79, fields.slice(0, 3));
  expect(lines.find((line) => line.includes('longer@example.org'))).toMatch(/delivered/);
  expect(lines.filter((line) => line.trim() === LONG)).toHaveLength(1);
});

it('a name that is longer than the terminal goes on in the next line', () => {
  const name = `${'x'.repeat(60)}@${'y'.repeat(60)}.example`;
  const lines = drawn([rowTo(name)], 60);
  expect(
    lines
      .slice(3)
      .map((line) => line.trim())
      .join(''),
  ).toBe(name);
});

it('no line is wider than the table, whatever the width', () => {
  const rows = [rowTo(LONG), rowTo('ada@example.org'), rowTo('日本語日本語日本語@example.org')];
  for (let width = 40; width < 130; width++)
    for (const line of drawn(rows, width)) expect(line.length, `${width}: ${line}`).toBeLessThanOrEqual(width);
});
