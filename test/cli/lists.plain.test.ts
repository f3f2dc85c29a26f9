import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Asked, Reply } from './contract-server.ts';
import { speak } from './spoken.ts';

const email = (at: number) => ({
  object: 'email',
  id: `id-${at}`,
  from: 'a@example.com',
  to: ['b@example.org'],
  cc: [],
  bcc: [],
  reply_to: [],
  subject: `Subject ${at}`,
  html: null,
  text: 'Text',
  message_id: `<${at}@x>`,
  topic_id: null,
  tags: [],
  created_at: '2026-11-20T09:30:00.000Z',
  scheduled_at: null,
  last_event: 'delivered',
});

/** So many emails, as many to a page as the API gives. */
const holding =
  (count: number) =>
  ({ query }: Asked): Reply => {
    const from = query.after === undefined ? 0 : Number(query.after.slice(3)) + 1;
    const size = Number(query.limit ?? 20);
    const data = Array.from({ length: Math.min(size, count - from) }, (_, at) => email(from + at));
    return { status: 200, body: { object: 'list', has_more: from + size < count, data } };
  };

const one = (): Reply => ({ status: 200, body: email(1) });
const LISTED_AND_MADE: [words: string, command: string][] = [
  ['contacts list', 'rasket contacts create'],
  ['contacts imports', 'rasket contacts import'],
  ['contact-properties list', 'rasket contact-properties create'],
  ['domains list', 'rasket domains create'],
  ['forms list', 'rasket forms create'],
  ['inbound-rules list', 'rasket inbound-rules create'],
  ['keys list', 'rasket keys create'],
  ['segments list', 'rasket segments create'],
  ['suppressions list', 'rasket suppressions add'],
  ['templates list', 'rasket templates create'],
  ['topics list', 'rasket topics create'],
  ['webhooks list', 'rasket webhooks create'],
];
const readLines = (text: string): string[] => text.split('\n').slice(0, -1);

afterEach(() => void vi.unstubAllEnvs());

describe('a list command with --limit or --all', () => {
  it('prints one page of the API’s default length without either', async () => {
    const { asked, stdout } = await speak(['emails', 'list'], holding(30));
    expect(asked.map(({ query }) => query)).toEqual([{}]);
    expect(readLines(stdout)).toHaveLength(1 + 20);
  });

  it('requests several pages for a limit beyond one page, and stops at the limit', async () => {
    const { asked, stdout } = await speak(['emails', 'list', '--limit', '250'], holding(1000));
    expect(asked.map(({ query }) => query)).toEqual([
      { limit: '100' },
      { limit: '100', after: 'id-99' },
      { limit: '50', after: 'id-199' },
    ]);
    expect(readLines(stdout)).toHaveLength(1 + 250);
  });

  it('continues to the end with --all and the same filters, under one line of titles', async () => {
    const { asked, stdout } = await speak(['emails', 'list', '--all', '--status', 'delivered'], holding(230));
    expect(asked.map(({ query }) => query.status)).toEqual(['delivered', 'delivered', 'delivered']);
    const lines = readLines(stdout);
    expect(lines).toHaveLength(1 + 230);
    expect(lines.filter((line) => line.startsWith('ID\t'))).toHaveLength(1);
    expect(lines.at(-1)).toMatch(/^id-229\t/);
  });

  it('prints a page before it requests the next one', async () => {
    const printed: number[] = [];
    let pieces = 0;
    const { stdout } = await speak(
      ['emails', 'list', '--all', '--json'],
      (asked) => {
        printed.push(pieces);
        return holding(230)(asked);
      },
      { onOutput: () => void pieces++ },
    );
    expect(printed).toEqual([0, 1, 2]);
    // Each page is what the API answered, on a line of its own.
    const pages = readLines(stdout).map((line) => JSON.parse(line) as { data: unknown[] });
    expect(pages.map(({ data }) => data.length)).toEqual([100, 100, 30]);
  });

  it.each([
    [['--all', '--limit', '5'], /--all and --limit cannot be used together/],
    [['--all', '--before', 'id-5'], /--before lists one page/],
    [['--limit', '101', '--before', 'id-5'], /--before lists one page/],
    [['--since', '2h', '--start-date', '2026-01-01'], /--since and --start-date mean the same/],
    [['--since', 'yesterday'], /--since must be a number and s, m, h or d/],
    [['--limit', '0'], /whole number of at least 1/],
  ])('refuses %j and sends no request', async (words, says) => {
    const { code, stderr, asked } = await speak(['emails', 'list', ...words], holding(5));
    expect({ code, asked }).toEqual({ code: 64, asked: [] });
    expect(stderr).toMatch(says);
  });

  it('takes --since as another form of --start-date', async () => {
    const { asked } = await speak(['emails', 'list', '--since', '2h'], holding(5));
    const backMs = Date.now() - Date.parse(asked[0]?.query.start_date ?? '');
    expect(Math.abs(backMs - 2 * 3_600_000)).toBeLessThan(60_000);
  });

  it('tells a person how to continue with the same filters', async () => {
    const words = ['emails', 'list', '--status', 'delivered', '--search', 'two words', '--limit', '2'];
    const { stderr, url } = await speak(words, holding(30), { columns: 500 });
    expect(stderr).toBe(
      `There are more; continue with: rasket emails list --url ${url} --limit 2 --status delivered --search 'two words' --after id-1 (with the key of RASKET_API_KEY)\n`,
    );
  });

  it('tells a program that gave no limit that the list is incomplete', async () => {
    const words = ['emails', 'list', '--status', 'delivered'];
    const { stderr, url } = await speak(words, holding(21));
    expect(stderr).toBe(
      `There are more than these 20; all of them: rasket emails list --url ${url} --status delivered --all (with the key of RASKET_API_KEY)\n`,
    );
    for (const more of [['--limit', '20'], ['--all'], ['--json'], ['--before', 'id-20']])
      expect((await speak([...words, ...more], holding(21))).stderr, more.join(' ')).toBe('');
    expect((await speak(words, holding(20))).stderr).toBe('');
  });

  it('takes a list without has_more as finished when its last page is not full', async () => {
    const holds =
      (count: number) =>
      (asked: Asked): Reply => {
        const { data } = holding(count)(asked).body as { data: { id: string }[] };
        return { status: 200, body: { object: 'list', data } };
      };
    const all = await speak(['contacts', 'list', '--all'], holds(126));
    expect([all.code, all.stderr, readLines(all.stdout).length]).toEqual([0, '', 127]);
    const words = ['contacts', 'list', '--limit', '150'];
    expect((await speak(words, holds(126), { columns: 500 })).stderr).not.toContain('more');
    expect((await speak(words, holds(160), { columns: 500 })).stderr).toContain('There may be more; continue with');
  });

  it.each(LISTED_AND_MADE)(
    'explains how to create the first item when the list is empty: rasket %s',
    async (words, command) => {
      const none = { status: 200, body: { object: 'list', has_more: false, data: [] } };
      const { stderr, url } = await speak(words.split(' '), () => none, { columns: 500 });
      expect(stderr).toMatch(/^[^\n]+\n$/);
      expect(stderr).toContain(`${command} --url ${url} `);
    },
  );

  it('tells a person about an empty list, and prints only the titles for a program', async () => {
    const person = await speak(['emails', 'list'], holding(0), { columns: 500 });
    expect(person).toMatchObject({ stdout: '' });
    expect(person.stderr).toMatch(
      /^There are no emails yet\. Send one with: rasket send --url \S+ --from .*'It works\.'\n$/,
    );
    const narrowed = await speak(['emails', 'list', '--status', 'bounced'], holding(0), { columns: 500 });
    expect(narrowed.stderr).toBe(`Nothing matches. List all with: rasket emails list --url ${narrowed.url}\n`);
    const { stdout, stderr } = await speak(['emails', 'list'], holding(0));
    expect({ stdout, stderr }).toEqual({ stdout: 'ID\tCREATED\tSTATE\tTO\tSUBJECT\n', stderr: '' });
  });
});

describe('the flag --fields', () => {
  it('shows the named fields of a list in the given order', async () => {
    const { stdout } = await speak(['emails', 'list', '--fields', 'last_event,id'], holding(2));
    expect(stdout).toBe('STATE\tID\ndelivered\tid-0\ndelivered\tid-1\n');
  });

  it.each(['status', 'state', 'STATE', 'last_event', 'state,status'])(
    'accepts a field by its name, its title or its filter: %s',
    async (word) => {
      const { stdout } = await speak(['emails', 'list', '--fields', `id,${word}`], holding(1));
      expect(stdout).toBe('ID\tSTATE\nid-0\tdelivered\n');
      const json = await speak(['emails', 'get', 'id-1', '--json', '--fields', word], one);
      expect(JSON.parse(json.stdout)).toEqual({ last_event: 'delivered' });
    },
  );

  it('accepts fields that no table shows by default', async () => {
    const { stdout } = await speak(['emails', 'list', '--fields', 'id,text'], holding(1));
    expect(stdout).toBe('ID\tTEXT\nid-0\tText\n');
  });

  it('reduces the JSON response to these fields', async () => {
    const { stdout } = await speak(['emails', 'list', '--fields', 'id,to', '--json'], holding(1));
    expect(JSON.parse(stdout)).toEqual({
      object: 'list',
      has_more: false,
      data: [{ id: 'id-0', to: ['b@example.org'] }],
    });
  });

  it('shows the named fields of an item, and nested fields', async () => {
    const item = await speak(['emails', 'get', 'id-1', '--fields', 'id,text'], one);
    expect(item.stdout).toBe('Id  id-1\n\nText\n');
    const json = await speak(['emails', 'get', 'id-1', '--fields', 'id,to', '--json'], one);
    expect(JSON.parse(json.stdout)).toEqual({ id: 'id-1', to: ['b@example.org'] });
    const domain = { id: 'd', name: 'example.com', capabilities: { sending: 'enabled' } };
    const words = ['domains', 'get', '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77', '--fields', 'capabilities.sending'];
    const part = await speak([...words, '--json'], () => ({ status: 200, body: domain }));
    expect(JSON.parse(part.stdout)).toEqual({ 'capabilities.sending': 'enabled' });
  });

  it.each([
    ['emails', 'list'],
    ['emails', 'get', 'id-1'],
    ['domains', 'get', '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77'],
  ])('lists the known fields for an unknown one before any request: rasket %s %s', async (...words) => {
    const { code, stderr, asked } = await speak([...words, '--fields', 'id,stauts'], one);
    expect({ code, asked }).toEqual({ code: 64, asked: [] });
    expect(stderr).toMatch(/^rasket: --fields: an? (email|domain) has no "stauts"; it has .*\bid\b/);
    expect(stderr).toContain(words[0] === 'domains' ? 'Did you mean status?' : 'Did you mean last_event?');
  });

  it('refuses empty names', async () => {
    expect(await speak(['emails', 'list', '--fields', 'id,,to'], one)).toMatchObject({ code: 64, asked: [] });
  });
});

describe('an item at a terminal', () => {
  it('shows its times in the time zone of its reader', async () => {
    vi.stubEnv('TZ', 'Europe/Berlin');
    const { stdout } = await speak(['emails', 'get', 'id-1', '--fields', 'created_at'], one, { columns: 80 });
    expect(stdout).toContain('2026-11-20 10:30:00+01:00');
    vi.stubEnv('TZ', 'Europe/Berlin');
    const piped = await speak(['emails', 'get', 'id-1', '--fields', 'created_at'], one);
    expect(piped.stdout).toBe('Created  2026-11-20T09:30:00.000Z\n');
  });
});

describe('mail without a sender or recipients in its header', () => {
  const said = async (words: string[], item: object): Promise<string | undefined> => {
    const data = [{ ...email(1), ...item }];
    const { stdout } = await speak(words, () => ({ status: 200, body: { object: 'list', has_more: false, data } }));
    return readLines(stdout)[1];
  };
  const received = (item: object): Promise<string | undefined> => {
    const rest = { dropped_reason: null, attachments: [] };
    return said(['received', 'list', '--fields', 'from,to'], { ...rest, ...item });
  };

  it('is shown with its envelope, marked as such', async () => {
    const envelope = { from: 'bounce@example.org', to: ['in@example.com', 'on@example.com'] };
    expect(await received({ from: 'Ann <a@example.org>', to: ['team@example.com'], envelope })).toBe(
      'Ann <a@example.org>\tteam@example.com',
    );
    expect(await received({ from: '', to: [], envelope })).toBe(
      '<bounce@example.org> (envelope)\tin@example.com (envelope), on@example.com (envelope)',
    );
    expect(await received({ from: '', to: [], envelope: { ...envelope, from: '' } })).toMatch(/^<> \(envelope\)\t/);
  });

  it('is shown with its other recipients when it was sent', async () => {
    const words = ['emails', 'list', '--fields', 'to'];
    expect(await said(words, { to: [], cc: ['c@example.org'], bcc: ['b@example.org'] })).toBe(
      'c@example.org (cc), b@example.org (bcc)',
    );
    expect(await said(words, { bcc: ['b@example.org'] })).toBe('b@example.org');
  });
});

describe('the queue', () => {
  const held = { hold_id: 'hold-1', hold_reason: 'Their server moves', last_attempt: { reply: '450 4.2.0 Later' } };
  const free = { hold_id: null, hold_reason: null, last_attempt: { reply: '450 4.2.0 Later' } };
  const states = {
    waiting: 1,
    scheduled: 0,
    retrying: 0,
    awaits_domain: 0,
    held: 0,
    team_suspended: 0,
    under_way: 0,
    in_doubt: 0,
  };
  const times = { oldest_at: '2026-11-20T09:30:00.000Z', next_attempt_at: null };
  const whole = {
    object: 'queue',
    as_of: times.oldest_at,
    deliveries: 2,
    destination_count: 2,
    holds: 1,
    sending: { is_on: true, reason: null },
    destinations: [held, free].map((why, at) => ({
      destination: `d${at}.example`,
      deliveries: 1,
      states,
      ...times,
      ...why,
    })),
  };
  const deliveries = [held, free].map((why, at) => ({
    id: `id-${at}`,
    email_id: `mail-${at}`,
    team_id: 'team',
    destination: `d${at}.example`,
    recipients: [],
    team: 'my-team',
    from: 'a@example.com',
    subject: null,
    subject_hash: '9f2c4a7be01d3358',
    size: 18_204,
    state: 'held',
    attempts: 1,
    since: times.oldest_at,
    until: times.oldest_at,
    ...why,
  }));

  it.each([
    [['queue'], whole],
    [['queue', 'list'], { object: 'list', has_more: false, data: deliveries }],
  ])('shows the reason of a hold, and the last reply for other deliveries: rasket %j', async (words, body) => {
    const { stdout } = await speak(words, () => ({ status: 200, body }));
    const [first, second] = readLines(stdout).slice(-2);
    expect(first).toMatch(/d0\.example.*Held: Their server moves/);
    expect(second).toMatch(/d1\.example.*450 4\.2\.0 Later/);
  });
});

describe('an emoji of joined characters', () => {
  // A family of one character, and a Persian word that has a joiner inside.
  const subject = '\u{1F468}\u200D\u{1F469}\u200D\u{1F467} \u0645\u06CC\u200C\u0631\u0648\u0645';

  it.each([
    [['emails', 'get', 'id-1'], undefined],
    [['emails', 'get', 'id-1'], 100],
    [['emails', 'list'], undefined],
    [['emails', 'list'], 160],
  ])('is printed unchanged: rasket %j at %s columns', async (words, columns) => {
    const page = { object: 'list', has_more: false, data: [{ ...email(1), subject }] };
    const body = words[1] === 'get' ? page.data[0] : page;
    const { stdout } = await speak(words, () => ({ status: 200, body }), columns === undefined ? {} : { columns });
    expect(stdout).toContain(subject);
    expect(stdout).not.toContain('\uFFFD');
  });
});
