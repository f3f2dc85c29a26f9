import { afterEach, describe, expect, it, vi } from 'vitest';
import { buildColumns, SHORT } from '../families/metrics.ts';
import { apiKeys } from '../families/api-keys.ts';
import { audit } from '../families/audit.ts';
import { contactActivity, contacts } from '../families/contacts.ts';
import { emailAttempts, emailEvents, emails } from '../families/emails.ts';
import { contactImports } from '../families/contact-imports.ts';
import { logs } from '../families/logs.ts';
import { receivedEmails } from '../families/received-emails.ts';
import { recordColumns } from '../families/domains.ts';
import { suppressions } from '../families/suppressions.ts';
import { parkedWebhookEvents, webhookAttempts, webhookEvents, webhooks } from '../families/webhooks.ts';
import { formatTime } from './time.ts';
import { cellText, listColumns, shownFields, tableColumns, type Fields } from './items.ts';
import { formatTable, openTable, type Column } from './table.ts';
import { openTerminal } from './terminal.ts';

const at = (columns: number | undefined) => {
  const stream = { write: () => true, isTTY: columns !== undefined, columns: columns ?? 0 };
  return openTerminal({ out: stream, err: stream, env: { NO_COLOR: '1' } });
};

const ID = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77';
const HEX = ID.replaceAll('-', '');
const ADDRESS = 'chiara.gallo@mail.example.org';
const CREATED = '2026-11-20T09:30:00.000Z';
const METRICS = { dimensions: ['period', 'domain'], metrics: SHORT.split(',') } as Parameters<typeof buildColumns>[0];
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
  it.each([40, 60, 80, 100, 160])('truncates no id, state or time at %i columns, and is no wider', (columns) => {
    vi.stubEnv('TZ', 'UTC');
    const lines = drawn(columns);
    const words = lines.join('\n');
    for (const whole of [ID, 'delivery_delayed', '2026-11-20 09:30Z']) expect(words).toContain(whole);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
  });

  it('puts a value that does not fit below its row, and its title below the titles', () => {
    vi.stubEnv('TZ', 'UTC');
    expect(drawn(60)).toEqual([
      'ID                                    CREATED',
      '  STATE             TO',
      '  SUBJECT',
      `${ID}  2026-11-20 09:30Z`,
      '  delivery_delayed  somebody@a-long-name.example.org',
      '  A subject that says a great deal more than fits',
    ]);
  });

  it('wraps its rows when nothing then has to be truncated', () => {
    const columns: Column<[string, string]>[] = [
      { title: 'ID', value: ([id]) => id, fit: 'whole' },
      { title: 'TEXT', value: ([, text]) => text },
      { title: 'STATE', value: () => 'delivery_delayed', fit: 'whole' },
    ];
    expect(
      formatTable(at(60), [[ID, 'Thirty letters and a few more.']], columns)
        .split('\n')
        .slice(2),
    ).toEqual([ID, '  Thirty letters and a few more.  delivery_delayed']);
  });

  it('wraps its rows before it truncates a value that must stay whole', () => {
    vi.stubEnv('TZ', 'UTC');
    const short = { ...email, to: ['b@example.org'], last_event: 'delivered', subject: 'Of no more than is needed' };
    const columns = tableColumns(at(80), shownFields(emails.list.columns));
    expect(formatTable(at(80), [short], columns).split('\n').slice(2)).toEqual([
      `${ID}  2026-11-20 09:30Z  delivered`,
      '  b@example.org  Of no more than is needed',
    ]);
  });

  const LISTS: Record<string, { list: { columns: Fields }; item: object; whole: string[] }> = {
    suppressions: {
      list: suppressions.list,
      item: { id: `sup_${HEX}`, email: ADDRESS, origin: 'bounce', created_at: CREATED, source_id: ID },
      whole: [`sup_${HEX}`, ADDRESS, ID],
    },
    contacts: {
      list: contacts.list,
      item: {
        id: ID,
        email: ADDRESS,
        first_name: 'Chiara',
        last_name: 'Gallo',
        unsubscribed: true,
        created_at: CREATED,
      },
      whole: [ID, ADDRESS, 'unsubscribed'],
    },
    received: {
      list: receivedEmails.list,
      item: { id: ID, from: ADDRESS, to: ['help@playground.test'], subject: 'A question', created_at: CREATED },
      whole: [ID, ADDRESS, 'help@playground.test'],
    },
    keys: {
      list: apiKeys.list,
      item: {
        id: ID,
        name: 'The shop, since it was moved',
        key_prefix: 'rk_abcdefg',
        permission: 'sending_access',
        status: 'active',
        last_used_at: CREATED,
      },
      whole: [ID, 'The shop, since it was moved', 'sending_access'],
    },
    logs: {
      list: logs.list,
      item: {
        id: ID,
        created_at: CREATED,
        response_status: 404,
        method: 'GET',
        endpoint: `/emails/${ID}`,
        user_agent: 'a-program/1.0 of a long name',
      },
      whole: [ID, `/emails/${ID}`],
    },
    webhooks: {
      list: webhooks.list,
      item: {
        id: `wh_${HEX}`,
        status: 'enabled',
        endpoint: 'https://hooks.example.com/from/rasket',
        created_at: CREATED,
        events: ['email.delivered', 'email.bounced'],
      },
      whole: [`wh_${HEX}`, 'https://hooks.example.com/from/rasket'],
    },
    metrics: {
      list: { columns: buildColumns(METRICS) },
      item: { period: '2026-11-20', domain_name: 'newsletters.example.com', sent: 1, delivered: 1, bounce_rate: 0 },
      whole: ['2026-11-20', 'newsletters.example.com'],
    },
  };
  const widths = [60, 80, 100];
  const cases = Object.keys(LISTS).flatMap((name) => widths.map((columns) => [name, columns] as const));

  it.each(cases)('never truncates what identifies a row of %s at %i columns', (name, columns) => {
    vi.stubEnv('TZ', 'UTC');
    const { list, item, whole } = LISTS[name] ?? expect.fail(name);
    const lines = formatTable(at(columns), [item], tableColumns(at(columns), shownFields(list.columns))).split('\n');
    for (const text of whole) expect(lines.join('\n')).toContain(text);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
  });

  const named: Column<[string, string]>[] = [
    { title: 'ID', value: ([id]) => id, fit: 'whole' },
    { title: 'NAME', value: ([, name]) => name, fit: 'name' },
    { title: 'STATE', value: () => 'active', fit: 'whole' },
  ];

  it('puts the one name that is longer than all others below its row', () => {
    const long = 'a name that is far longer than those of the others';
    const rows: [string, string][] = [
      ['1', 'one'],
      ['2', long],
      ['3', 'three'],
      ['4', ''],
    ];
    const table = openTable(at(30), named);
    expect(table.write(rows).split('\n')).toEqual([
      'ID  NAME   STATE',
      '1   one    active',
      '2   …      active',
      `  ${long}`,
      '3   three  active',
      '4          active',
    ]);
    expect(
      table
        .write([
          ['5', 'four and'],
          ['6', long],
        ])
        .split('\n'),
    ).toEqual(['5   four and  active', '6   …      active', `  ${long}`]);
    expect(table.hasCut()).toBe(false);
  });

  it('puts names that are all long on a line of their own', () => {
    const rows = ['first', 'second'].map((one): [string, string] => [one, `${one} name as long as a line`]);
    expect(formatTable(at(30), rows, named).split('\n')).toEqual([
      'ID',
      '  NAME',
      '  STATE',
      ...['first', 'second'].flatMap((one) => [one, `  ${one} name as long as a line`, '  active']),
    ]);
  });

  it('with --wide shows everything on one line', () => {
    const lines = drawn(60, true);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(/^ID +CREATED +STATE +TO +SUBJECT +FROM .* TOPIC$/);
    expect(lines[1]).toContain(`${email.to[0]}  ${email.subject}`);
  });

  const record = (value: string) => ({
    record: 'DKIM',
    name: 's._domainkey.example.com',
    type: 'TXT',
    ttl: 'Auto',
    status: 'pending',
    value,
    required: true,
  });

  it('puts a long value below its row, whole, and a short one next to it', () => {
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

  it('keeps its column widths from page to page, prints its titles once, and truncates no value that must stay whole', () => {
    const columns: Column<string>[] = [
      { title: 'ID', value: (text) => text, fit: 'whole' },
      { title: 'TEXT', value: (text) => text },
    ];
    const table = openTable(at(18), columns);
    expect(table.write(['aa', 'bbbb'])).toBe('ID    TEXT\naa    aa\nbbbb  bbbb');
    expect(table.hasCut()).toBe(false);
    expect(table.write(['c', 'ddddddddd'])).toBe('c     c\nddddddddd  dddddd…');
    expect(table.hasCut()).toBe(true);
  });
});

describe('times within the same minute', () => {
  const two = (field: string, given: object): object[] =>
    ['09:30:05', '09:30:07'].map((time) => ({ id: ID, ...given, [field]: `2026-11-20T${time}.000Z` }));
  const actor = { kind: 'api_key', id: ID, name: 'First key' };

  it.each([
    ['the attempts of an email', emailAttempts.list, two('created_at', { recipients: [] })],
    ['the events of an email', emailEvents.list, two('created_at', { type: 'email.sent' })],
    ['the events of an endpoint', webhookEvents.list, two('created_at', { type: 'email.sent', status: 'failed' })],
    [
      'the events that an endpoint missed',
      parkedWebhookEvents.list,
      two('created_at', { type: 'email.sent', status: 'failed' }),
    ],
    ['the attempts at an event', webhookAttempts.list, two('sent_at', { attempt_number: 1 })],
    [
      'the activity of a contact',
      contactActivity.list,
      two('created_at', { type: 'email.opened', source: null, actor: null }),
    ],
    ['requests', logs.list, two('created_at', { response_status: 200, method: 'GET', endpoint: '/emails' })],
    ['changes', audit.list, two('created_at', { action: 'api_key.created', actor })],
  ])('show their seconds in %s', (_, { columns }: { columns: Fields }, rows) => {
    vi.stubEnv('TZ', 'UTC');
    const shown = formatTable(at(160), rows, tableColumns(at(160), shownFields(columns)));
    for (const time of ['2026-11-20 09:30:05Z', '2026-11-20 09:30:07Z']) expect(shown).toContain(time);
  });
});

describe('a table in a pipe', () => {
  it('has a line of titles, then untruncated values between tabs and times in UTC, whatever the time zone', () => {
    vi.stubEnv('TZ', 'Asia/Kolkata');
    expect(drawn(undefined)).toEqual([
      'ID\tCREATED\tSTATE\tTO\tSUBJECT',
      [ID, email.created_at, 'delivery_delayed', email.to[0], email.subject].join('\t'),
    ]);
  });
});

describe('a time at a terminal', () => {
  it.each([
    ['UTC', '2026-11-20 09:30Z'],
    ['Europe/Berlin', '2026-11-20 10:30+01:00'],
    ['Asia/Kolkata', '2026-11-20 15:00+05:30'],
    ['America/St_Johns', '2026-11-20 06:00-03:30'],
  ])('is shown in the time zone %s', (zone, shown) => {
    vi.stubEnv('TZ', zone);
    expect(formatTime(at(80), '2026-11-20T09:30:00.000Z')).toBe(shown);
    expect(formatTime(at(undefined), '2026-11-20T09:30:00.000Z')).toBe('2026-11-20T09:30:00.000Z');
  });

  it('shows its seconds where there is space', () => {
    vi.stubEnv('TZ', 'Europe/Berlin');
    expect(formatTime(at(80), '2026-07-20T22:30:05.000Z', 'second')).toBe('2026-07-21 00:30:05+02:00');
  });
});

describe('a number', () => {
  const fields = [
    { name: 'name', label: 'Name', kind: 'name' },
    { name: 'count', label: 'Contacts', kind: 'number' },
    { name: 'note', label: 'Note' },
  ] as never as Fields;
  const rows = [
    { name: 'Everybody', count: 1_234_567, note: 'all' },
    { name: 'Some', count: 42, note: 'few' },
  ];

  it('is right-aligned at a terminal, with its digits grouped', () => {
    expect(formatTable(at(80), rows, listColumns(at(80), fields)).split('\n')).toEqual([
      'NAME        CONTACTS  NOTE',
      'Everybody  1,234,567  all',
      'Some              42  few',
    ]);
  });

  it('has its digits grouped in a sentence too', () => {
    const counts = { total: 20_001, created: 12_408, updated: 0, skipped: 7593, failed: 0 };
    const [field] = contactImports.list.columns.filter(({ name }) => name === 'counts');
    expect(cellText(at(80), field as never, { counts })).toBe(
      '20,001 rows: 12,408 created, 0 updated, 7,593 skipped, 0 failed',
    );
    expect(cellText(at(undefined), field as never, { counts })).toBe(
      '20001 rows: 12408 created, 0 updated, 7593 skipped, 0 failed',
    );
  });

  it('has no grouping in a pipe', () => {
    const pipe = at(undefined);
    expect(formatTable(pipe, rows, listColumns(pipe, fields)).split('\n')).toEqual([
      'NAME\tCONTACTS\tNOTE',
      'Everybody\t1234567\tall',
      'Some\t42\tfew',
    ]);
  });
});
