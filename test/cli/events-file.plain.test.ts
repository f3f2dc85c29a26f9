import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import type { Answer, Asked, Reply } from './contract-server.ts';
import { speak } from './spoken.ts';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'events-file-'));
afterAll(() => fs.rmSync(folder, { recursive: true }));

const written = (lines: string[]): string => {
  const file = path.join(folder, 'events.jsonl');
  fs.writeFileSync(file, lines.join('\n'));
  return file;
};
const line = (at: number): string => JSON.stringify({ event: 'order', email: `a${at}@example.org` });
const refused = (status: number, name: string, headers = {}): Reply => ({
  status,
  headers,
  body: { statusCode: status, name, message: `It is ${name}.` },
});
interface Event {
  event: string;
  email: string;
}
const readEvents = ({ body }: Asked): Event[] => body as Event[];
const readEmails = (asked: Asked): string[] => readEvents(asked).map(({ email }) => email);
/** Accepts all events but those for which `refusalOf` returns a message. */
const take = (asked: Asked, refusalOf: (event: Event) => string | undefined = () => undefined): Reply => {
  const all = readEvents(asked).map((event, index) => ({ index, event: event.event, message: refusalOf(event) }));
  const data = all.filter(({ message }) => message === undefined).map(({ index, event }) => ({ index, event }));
  const errors = all.flatMap(({ index, message }) =>
    message === undefined ? [] : [{ index, field: 'email', message }],
  );
  return { status: 202, body: { data, errors } };
};
const send = (file: string, answer: (asked: Asked, count: number) => Answer, ...more: string[]) =>
  speak(['events', 'send', ...more, '--file', file], answer);
const readJson = (stdout: string) => JSON.parse(stdout.split('\n', 1)[0] ?? '') as Record<string, unknown>;

it('rasket events send --file sends each line once, in permissive batches of up to 1,000 with a key each, and prints how many', async () => {
  const file = written(Array.from({ length: 2500 }, (_, at) => line(at)));
  const { code, stdout, asked } = await send(file, (one) => take(one));
  expect({ code, stdout }).toEqual({ code: 0, stdout: '2500 sent, 0 not sent\n' });
  expect(asked.flatMap(readEmails)).toEqual(Array.from({ length: 2500 }, (_, at) => `a${at}@example.org`));
  expect(
    asked.map(({ path: target, headers, body }) => [target, headers['x-batch-validation'], (body as unknown[]).length]),
  ).toEqual([
    ['/events/send/batch', 'permissive', 1000],
    ['/events/send/batch', 'permissive', 1000],
    ['/events/send/batch', 'permissive', 500],
  ]);
  expect(new Set(asked.map(({ headers }) => headers['idempotency-key'])).size).toBe(3);
});

it('rasket events send --file reports bad lines by number, and sends the others', async () => {
  const file = written([line(1), '{"event": ', '', '[1]', line(5), line(6)]);
  const answer = (asked: Asked) =>
    take(asked, ({ email }) => (email === 'a5@example.org' ? 'Contact not found.' : undefined));
  const { code, stdout, stderr } = await send(file, answer);
  expect({ code, stdout }).toEqual({ code: 65, stdout: '2 sent, 3 not sent\n' });
  const told = stderr.split('\n').filter((said) => said.includes('was not sent'));
  expect(told.map((said) => said.match(/line (\d+)/)?.[1])).toEqual(['2', '4', '5']);
  expect(told[2]).toContain('Contact not found.');
});

it('rasket events send --file splits a batch that the server refuses as a whole, until only the lines at fault are refused', async () => {
  const file = written(Array.from({ length: 100 }, (_, at) => line(at)));
  const answer = (asked: Asked): Reply =>
    readEmails(asked).includes('a37@example.org') ? refused(413, 'validation_error') : take(asked);
  const { code, stdout, stderr, asked } = await send(file, answer);
  expect({ code, stdout }).toEqual({ code: 65, stdout: '99 sent, 1 not sent\n' });
  expect(stderr).toContain('line 38 was not sent');
  expect(asked.length).toBeLessThan(20);
});

it('rasket events send --file sends fewer lines at once if they are large', async () => {
  const large = JSON.stringify({ event: 'order', email: 'a@example.org', payload: { text: 'x'.repeat(16_000) } });
  const { asked } = await send(written(Array.from({ length: 200 }, () => large)), (one) => take(one));
  expect(asked.length).toBeGreaterThan(3);
  for (const { body } of asked) expect(JSON.stringify(body).length).toBeLessThan(1024 * 1024);
});

it('rasket events send --file waits as often as the rate limit requires', async () => {
  const answer = (asked: Asked, count: number): Reply =>
    count <= 5 ? refused(429, 'rate_limit_exceeded', { 'retry-after': '0' }) : take(asked);
  const { code, stdout } = await send(written([line(1)]), answer);
  expect({ code, stdout }).toEqual({ code: 0, stdout: '1 sent, 0 not sent\n' });
});

it('rasket events send --file stops when no line would succeed, and prints how to continue', async () => {
  const file = written(Array.from({ length: 3000 }, (_, at) => line(at)));
  const answer = (asked: Asked): Reply =>
    readEmails(asked).includes('a1500@example.org') ? refused(401, 'invalid_api_key') : take(asked);
  const { code, stdout, stderr, asked } = await send(file, answer, '--json');
  expect([code, asked.length]).toEqual([77, 2]);
  expect(readJson(stdout)).toEqual({ sent: 1000, failed: 0, next_line: 1001, in_doubt: [] });
  expect(stderr).toContain('Continue with --from-line 1001:');
  expect(
    stderr
      .split('\n')
      .filter((said) => said.includes('--file'))
      .join('')
      .match(/--from-line/g),
  ).toHaveLength(1);
});

it('rasket events send --file starts at --from-line, and uses the event of the command for lines without one', async () => {
  const file = written([line(1), line(2), '{"email": "a3@example.org"}']);
  const { asked } = await send(file, (one) => take(one), 'paid', '--from-line', '3');
  expect(asked.map(({ body }) => body)).toEqual([[{ event: 'paid', email: 'a3@example.org' }]]);
});

it('rasket events send --file - reads standard input, and sends a last line without a line break too', async () => {
  const input = `${line(1)}\r\n\n${line(2)}\n${line(3)}`;
  const { code, stdout, asked } = await speak(['events', 'send', '--file', '-'], (one) => take(one), { input });
  expect({ code, stdout }).toEqual({ code: 0, stdout: '3 sent, 0 not sent\n' });
  expect(asked.flatMap(readEmails)).toEqual(['a1@example.org', 'a2@example.org', 'a3@example.org']);
});

it('rasket events send --file - sends lines that come one by one without waiting for a whole batch', async () => {
  let isSent = (): void => undefined;
  const firstIsSent = new Promise<void>((resolve) => (isSent = resolve));
  async function* input(): AsyncGenerator<Buffer> {
    yield Buffer.from(`${line(1)}\n`);
    await firstIsSent;
    yield Buffer.from(`${line(2)}\n`);
  }
  const answer = (asked: Asked): Reply => {
    isSent();
    return take(asked);
  };
  const { code, asked } = await speak(['events', 'send', '--file', '-'], answer, { input: input() });
  expect([code, asked.map(readEmails)]).toEqual([0, [['a1@example.org'], ['a2@example.org']]]);
});

it('rasket events send --file names the line to continue with after Ctrl-C: no line is sent twice or left out', async () => {
  const all = Array.from({ length: 5000 }, (_, at) => at + 1);
  const file = written(all.map(line));
  const sentTo: number[] = [];
  let from = 1;
  let stops = 0;
  for (; from <= all.length; stops++) {
    let interrupt = (): void => undefined;
    const heard = await speak(
      ['events', 'send', '--file', file, '--from-line', String(from), '--json'],
      (asked) => {
        sentTo.push(...readEmails(asked).map((email) => Number(email.match(/\d+/)?.[0])));
        interrupt();
        return take(asked);
      },
      { onStart: (press) => (interrupt = press) },
    );
    const told = readJson(heard.stdout);
    expect(told).toMatchObject({ failed: 0, in_doubt: [] });
    if (told['next_line'] === null) break;
    expect(heard.code).toBe(1);
    expect(heard.stderr).toContain(`Continue with --from-line ${String(told['next_line'])}:`);
    from = Number(told['next_line']);
  }
  expect(stops).toBeGreaterThan(2);
  expect(sentTo).toEqual(all);
});

it('rasket events send --file continues with the waiting line when Ctrl-C interrupts the wait for the rate limit', async () => {
  const file = written(Array.from({ length: 1002 }, (_, at) => line(at + 1)));
  let interrupt = (): void => undefined;
  const answer = (asked: Asked): Reply => {
    if (readEmails(asked)[0] === 'a1@example.org') return take(asked);
    setImmediate(() => interrupt());
    return refused(429, 'rate_limit_exceeded', { 'retry-after': '3600' });
  };
  const { code, stdout } = await speak(['events', 'send', '--file', file, '--json'], answer, {
    onStart: (press) => (interrupt = press),
  });
  expect(code).toBe(1);
  expect(readJson(stdout)).toEqual({ sent: 1000, failed: 0, next_line: 1001, in_doubt: [] });
});

it('rasket events send --file asks again with the same key for a response that was lost, so that nothing is sent twice', async () => {
  const file = written([line(1), line(2)]);
  const { code, stdout, asked } = await send(file, (one, count) => (count === 1 ? 'hang up' : take(one)));
  expect({ code, stdout }).toEqual({ code: 0, stdout: '2 sent, 0 not sent\n' });
  expect(asked).toHaveLength(2);
  expect(new Set(asked.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
});

it('rasket events send --file names lines whose response stays lost, and continues after them, because they may have been accepted', async () => {
  const file = written(Array.from({ length: 2003 }, (_, at) => line(at + 1)));
  const answer = (asked: Asked): Answer => (readEmails(asked)[0] === 'a1001@example.org' ? 'hang up' : take(asked));
  const { code, stdout, stderr } = await send(file, answer, '--json');
  const { in_doubt: inDoubt, ...told } = readJson(stdout);
  expect([code, told]).toEqual([69, { sent: 1000, failed: 0, next_line: 2001 }]);
  expect(inDoubt).toEqual(Array.from({ length: 1000 }, (_, at) => 1001 + at));
  expect(stderr).toContain('Lines 1001 to 2000 are in doubt');
});

it('rasket events send --file reads ahead only a bounded number of lines', async () => {
  const all = 20_000;
  let read = 0;
  let sent = 0;
  let ahead = 0;
  async function* input(): AsyncGenerator<Buffer> {
    while (read < all) {
      read += 100;
      ahead = Math.max(ahead, read - sent);
      yield Buffer.from(`${line(1)}\n`.repeat(100));
    }
  }
  let interrupt = (): void => undefined;
  const answer = (asked: Asked): Reply => {
    sent += readEvents(asked).length;
    if (sent >= 4000) interrupt();
    return take(asked);
  };
  const { code } = await speak(['events', 'send', '--file', '-', '--json'], answer, {
    input: input(),
    onStart: (press) => (interrupt = press),
  });
  expect({ code, isBounded: ahead <= 5000 }).toEqual({ code: 1, isBounded: true });
});

it('rasket contacts create --file sends the contacts of a file, and each address once in a batch', async () => {
  const file = written([
    '{"email": "a@example.org"}',
    '{"email": "b@example.org"}',
    '{"email": "A@example.org", "first_name": "Ada"}',
  ]);
  const answer = (asked: Asked): Reply => {
    const data = readEvents(asked).map((_, index) => {
      return { index, id: '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e30', status: index === 0 ? 'created' : 'updated' };
    });
    return { status: 201, body: { data, errors: [] } };
  };
  const { code, stdout, asked } = await speak(['contacts', 'create', '--file', file], answer);
  expect({ code, stdout }).toEqual({ code: 0, stdout: '2 created, 1 updated, 0 not sent\n' });
  expect(asked.map(({ path: target }) => target)).toEqual(['/contacts/batch', '/contacts/batch']);
  expect(asked.map(readEmails)).toEqual([['a@example.org', 'b@example.org'], ['A@example.org']]);
});

it.each([
  [['events', 'send']],
  [['events', 'send', 'order', '--from-line', '2', '--email', 'a@example.org']],
  [['events', 'send', 'order', '--file', 'x', '--email', 'a@example.org']],
  [['contacts', 'create']],
  [['contacts', 'create', 'a@example.org', '--file', 'x']],
  [['contacts', 'create', '--file', 'x', '--first-name', 'Ada']],
])('rasket %j is refused', async (words) => {
  expect(await speak(words, (asked) => take(asked))).toMatchObject({ code: 64, asked: [] });
});
