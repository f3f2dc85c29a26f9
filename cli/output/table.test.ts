import { afterEach, describe, expect, it, vi } from 'vitest';
import { emails } from '../families/emails.ts';
import { recordColumns } from '../families/domains.ts';
import { formatTime } from './time.ts';
import { shownFields, tableColumns } from './items.ts';
import { formatTable, openTable, type Column } from './table.ts';
import { openTerminal } from './terminal.ts';

const at = (columns: number | undefined) => {
  const stream = { write: () => true, isTTY: columns !== undefined, columns: columns ?? 0 };
  return openTerminal({ out: stream, err: stream, env: { NO_COLOR: '1' } });
};

const ID = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77';
const email = {
  id: ID,
  created_at: '2026-11-20T09:30:00.000Z',
  last_event: 'delivery_delayed',
  to: ['somebody@a-long-name.example.org'],
  tags: [],
  subject: 'A subject that says a great deal more than fits',
};

const drawn = (columns: number | undefined, isWide = false): string[] => {
  const terminal = at(columns);
  const shown = tableColumns(terminal, shownFields(emails.list.columns, isWide));
  return formatTable(terminal, [email], shown, { isWide }).split('\n');
};

afterEach(() => void vi.unstubAllEnvs());

describe('a table at a terminal', () => {
  it.each([40, 60, 80, 100, 160])('cuts no id, no state and no time at %i columns, and is no wider', (columns) => {
    vi.stubEnv('TZ', 'UTC');
    const lines = drawn(columns);
    const words = lines.join('\n');
    for (const whole of [ID, 'delivery_delayed', '2026-11-20 09:30Z']) expect(words).toContain(whole);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
  });

  it('puts what has no space below its row, and its title below the titles', () => {
    vi.stubEnv('TZ', 'UTC');
    expect(drawn(60)).toEqual([
      'ID                                    CREATED',
      '  STATE             TO                   SUBJECT',
      `${ID}  2026-11-20 09:30Z`,
      '  delivery_delayed  somebody@a-long-na…  A subject that say…',
    ]);
  });

  it('--wide shows everything on one line', () => {
    const lines = drawn(60, true);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(/^ID +CREATED +STATE +TO +SUBJECT +FROM .* TOPIC$/);
    expect(lines[1]).toContain(`${email.to[0]}  ${email.subject}`);
  });

  const record = (value: string) => ({
    ...{ record: 'DKIM', name: 's._domainkey.example.com', type: 'TXT', ttl: 'Auto', status: 'pending', value },
    ...{ required: true },
  });

  it('puts a long value below its row, whole, and a short one beside it', () => {
    const key = `v=DKIM1; k=rsa; p=${'A'.repeat(392)}`;
    const draw = (value: string): string[] =>
      formatTable(at(100), [record(value)], tableColumns(at(100), recordColumns)).split('\n');
    expect(draw(key)).toEqual([
      'FOR   STATUS   TYPE  NAME                      PRIORITY',
      '  VALUE',
      'DKIM  pending  TXT   s._domainkey.example.com',
      `  ${key}`,
    ]);
    expect(draw('v=short')[1]).toBe('DKIM  pending  TXT   s._domainkey.example.com            v=short');
  });

  it('keeps its widths from page to page, with one line of titles, and cuts nothing that is whole', () => {
    const columns: Column<string>[] = [
      { title: 'ID', value: (text) => text, fit: 'whole' },
      { title: 'TEXT', value: (text) => text },
    ];
    const write = openTable(at(30), columns);
    expect(write(['aa', 'bbbb'])).toBe('ID    TEXT\naa    aa\nbbbb  bbbb');
    expect(write(['c', 'dddddddd'])).toBe('c     c\ndddddddd  ddd…');
  });
});

describe('a table in a pipe', () => {
  it('has a line of titles, then whole values between tabs and times in UTC, whoever reads it', () => {
    vi.stubEnv('TZ', 'Asia/Kolkata');
    expect(drawn(undefined)).toEqual([
      'ID\tCREATED\tSTATE\tTO\tSUBJECT',
      [ID, email.created_at, 'delivery_delayed', email.to[0], email.subject].join('\t'),
    ]);
  });
});

describe('a time', () => {
  it.each([
    ['UTC', '2026-11-20 09:30Z'],
    ['Europe/Berlin', '2026-11-20 10:30+01:00'],
    ['Asia/Kolkata', '2026-11-20 15:00+05:30'],
    ['America/St_Johns', '2026-11-20 06:00-03:30'],
  ])('is that of %s at a terminal there', (zone, shown) => {
    vi.stubEnv('TZ', zone);
    expect(formatTime(at(80), '2026-11-20T09:30:00.000Z')).toBe(shown);
    expect(formatTime(at(undefined), '2026-11-20T09:30:00.000Z')).toBe('2026-11-20T09:30:00.000Z');
  });

  it('has its seconds where there is space', () => {
    vi.stubEnv('TZ', 'Europe/Berlin');
    expect(formatTime(at(80), '2026-07-20T22:30:05.000Z', 'second')).toBe('2026-07-21 00:30:05+02:00');
  });
});
