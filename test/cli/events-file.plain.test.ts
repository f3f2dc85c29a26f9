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
const taken: Reply = { status: 202, body: { object: 'event', event: 'order' } };
const refused = (status: number, name: string, headers = {}): Reply => ({
  status,
  headers,
  body: { statusCode: status, name, message: `It is ${name}.` },
});
const readEmail = ({ body }: Asked): string => (body as { email: string }).email;
const send = (file: string, answer: (asked: Asked, count: number) => Reply, ...more: string[]) =>
  speak(['events', 'send', ...more, '--file', file], answer);

it('rasket events send --file sends each line once, and prints how many', async () => {
  const file = written(Array.from({ length: 100 }, (_, at) => line(at)));
  const { code, stdout, asked } = await send(file, () => taken);
  expect({ code, stdout }).toEqual({ code: 0, stdout: '100 sent, 0 not sent\n' });
  expect(new Set(asked.map(readEmail)).size).toBe(100);
  expect(asked).toHaveLength(100);
});

it('rasket events send --file reports bad lines by number, and sends the others', async () => {
  const file = written([line(1), '{"event": ', '', '[1]', line(5), line(6)]);
  const answer = (asked: Asked): Reply => (readEmail(asked) === 'a5@example.org' ? refused(404, 'not_found') : taken);
  const { code, stdout, stderr } = await send(file, answer);
  expect({ code, stdout }).toEqual({ code: 65, stdout: '2 sent, 3 not sent\n' });
  const told = stderr.split('\n').filter((said) => said.includes('was not sent'));
  expect(told.map((said) => said.match(/line (\d+)/)?.[1]).toSorted()).toEqual(['2', '4', '5']);
});

it('rasket events send --file waits as often as the rate limit requires', async () => {
  const answer = (_: Asked, count: number): Reply =>
    count <= 5 ? refused(429, 'rate_limit_exceeded', { 'retry-after': '0' }) : taken;
  const { code, stdout } = await send(written([line(1)]), answer);
  expect({ code, stdout }).toEqual({ code: 0, stdout: '1 sent, 0 not sent\n' });
});

it('rasket events send --file stops when no line would succeed, and prints how to continue', async () => {
  const file = written(Array.from({ length: 100 }, (_, at) => line(at)));
  const { code, stdout, stderr, asked } = await send(file, () => refused(401, 'invalid_api_key'), '--json');
  expect(code).toBe(77);
  expect(asked.length).toBeLessThanOrEqual(8);
  expect(JSON.parse(stdout.split('\n', 1)[0] ?? '')).toMatchObject({ sent: 0, next_line: 1, apart: [] });
  expect(stderr).toContain('Continue with --from-line 1:');
});

it('rasket events send --file suggests to continue after the last line that was sent, and names earlier lines that were not', async () => {
  const file = written(Array.from({ length: 100 }, (_, at) => line(at + 1)));
  const isKept = (asked: Asked): boolean => ['a12@example.org', 'a14@example.org'].includes(readEmail(asked));
  const answer = (asked: Asked): Reply => (isKept(asked) ? refused(401, 'invalid_api_key') : taken);
  const { stdout, stderr, asked } = await send(file, answer, '--from-line', '11', '--json');
  const told = JSON.parse(stdout.split('\n', 1)[0] ?? '') as { sent: number; next_line: number; apart: number[] };
  const sent = asked.filter((one) => !isKept(one)).map((one) => Number(readEmail(one).match(/\d+/)?.[0]));
  expect(told.sent).toBe(sent.length);
  // Each line from the 11th on was sent, is named, or stands behind the line to go on with.
  const before = Array.from({ length: told.next_line - 11 }, (_, at) => 11 + at);
  expect([...sent, ...told.apart].toSorted((a, b) => a - b)).toEqual(before);
  expect(stderr.match(/--from-line \d+/g)?.at(-1)).toBe(`--from-line ${told.next_line}`);
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
  const { asked } = await send(file, () => taken, 'paid', '--from-line', '3');
  expect(asked.map(({ body }) => body)).toEqual([{ event: 'paid', email: 'a3@example.org' }]);
});

it('rasket events send --file - reads standard input, and sends a last line without a line break too', async () => {
  const input = `${line(1)}\r\n\n${line(2)}\n${line(3)}`;
  const { code, stdout, asked } = await speak(['events', 'send', '--file', '-'], () => taken, { input });
  expect({ code, stdout }).toEqual({ code: 0, stdout: '3 sent, 0 not sent\n' });
  expect(asked.map(readEmail).toSorted()).toEqual(['a1@example.org', 'a2@example.org', 'a3@example.org']);
});

it('rasket events send --file names the line to continue with after Ctrl-C: no line is sent twice or left out', async () => {
  const file = written(Array.from({ length: 100 }, (_, at) => line(at + 1)));
  const sentTo: number[] = [];
  const answer = (asked: Asked): Reply => {
    sentTo.push(Number(readEmail(asked).match(/\d+/)?.[0]));
    return taken;
  };
  let from = 1;
  let stops = 0;
  for (; from <= 100; stops++) {
    let interrupt = (): void => undefined;
    const stopAt = sentTo.length + 20;
    const heard = await speak(
      ['events', 'send', '--file', file, '--from-line', String(from), '--json'],
      (asked) => {
        if (sentTo.length === stopAt) interrupt();
        return answer(asked);
      },
      { onStart: (press) => (interrupt = press) },
    );
    const told = JSON.parse(heard.stdout.split('\n', 1)[0] ?? '') as Record<string, number | null>;
    expect(told).toMatchObject({ failed: 0, apart: [] });
    if (told['next_line'] === null) break;
    expect(heard.code).toBe(1);
    expect(heard.stderr).toContain(`Continue with --from-line ${told['next_line']}:`);
    from = Number(told['next_line']);
  }
  expect(stops).toBeGreaterThan(2);
  expect(sentTo.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, at) => at + 1));
});

it('rasket events send --file continues with the waiting line when Ctrl-C interrupts the wait for the rate limit', async () => {
  const file = written([line(1), line(2), line(3)]);
  let interrupt = (): void => undefined;
  let refusals = 0;
  const answer = (asked: Asked): Reply => {
    if (readEmail(asked) === 'a1@example.org') return taken;
    // Both remaining lines wait.
    if (++refusals === 2) setImmediate(() => interrupt());
    return refused(429, 'rate_limit_exceeded', { 'retry-after': '3600' });
  };
  const { code, stdout } = await speak(['events', 'send', '--file', file, '--json'], answer, {
    onStart: (press) => (interrupt = press),
  });
  expect(code).toBe(1);
  expect(JSON.parse(stdout.split('\n', 1)[0] ?? '')).toMatchObject({ sent: 1, failed: 2, next_line: 2, apart: [] });
});

it('rasket events send --file names a line whose response was lost, and continues after it, because it may have been accepted', async () => {
  const file = written(Array.from({ length: 30 }, (_, at) => line(at + 1)));
  const answer = (asked: Asked): Answer => (readEmail(asked) === 'a12@example.org' ? 'hang up' : taken);
  const { code, stdout, stderr } = await speak(['events', 'send', '--file', file, '--json'], answer);
  const told = JSON.parse(stdout.split('\n', 1)[0] ?? '') as Record<string, unknown>;
  expect(code).toBe(69);
  expect(told).toMatchObject({ failed: 1, apart: [], in_doubt: [12], next_line: Number(told['sent']) + 2 });
  expect(stderr).toContain('Line 12 is in doubt');
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
  const answer = (): Reply => {
    if (++sent === 4000) interrupt();
    return taken;
  };
  const { code } = await speak(['events', 'send', '--file', '-', '--json'], answer, {
    input: input(),
    onStart: (press) => (interrupt = press),
  });
  expect({ code, isBounded: ahead <= 5000 }).toEqual({ code: 1, isBounded: true });
});

it.each([
  [['events', 'send']],
  [['events', 'send', 'order', '--from-line', '2', '--email', 'a@example.org']],
  [['events', 'send', 'order', '--file', 'x', '--email', 'a@example.org']],
])('rasket %j is refused', async (words) => {
  expect(await speak(words, () => taken)).toMatchObject({ code: 64, asked: [] });
});
