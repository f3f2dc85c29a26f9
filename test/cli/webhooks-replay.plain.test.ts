import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startAnswering, type Asked, type Reply } from './contract-server.ts';
import { Desk, expectOneLine, type Ended } from './desk.ts';

vi.setConfig({ testTimeout: 180_000 });

const hook = (at: number): string => `wh_${String(at).padStart(32, '0')}`;
const event = (at: number): string => `msg_${String(at).padStart(32, '0')}`;
const toTime = (at: number): string => new Date(Date.UTC(2026, 0, 1, 0, at)).toISOString();

/** A server with two endpoints, of which the second is disabled, and failed events at both. */
function office(
  failed: Record<string, number[]>,
  replay: (asked: Asked, count: number) => Reply,
  parked: Record<string, number[]> = {},
  retrying: Record<string, number[]> = {},
) {
  let replays = 0;
  return startAnswering((asked) => {
    const [, , id = '', , , isReplay] = asked.path.split('/');
    if (isReplay) return replay(asked, ++replays);
    const endpoint = (at: number) => ({
      object: 'webhook',
      id: hook(at),
      endpoint: `https://example.com/${at}`,
      events: ['email.sent'],
      status: at === 2 ? 'disabled' : 'enabled',
      signing_secret: 'whsec_****abcd',
      created_at: toTime(0),
    });
    if (id === '') return list([endpoint(1), endpoint(2)], 2, asked);
    const isParked = asked.path.endsWith('/parked');
    if (asked.query.status === 'attempting') return list(retried(retrying[id] ?? []), 100, asked);
    if (!isParked && !asked.path.endsWith('/events')) return { status: 200, body: endpoint(Number(id.slice(-1))) };
    const numbers = (isParked ? parked : failed)[id] ?? [];
    const items = numbers.map((at) => ({
      id: event(at),
      type: 'email.sent',
      status: isParked ? 'attempting' : 'failed',
      attempt_count: 10,
      last_http_status: 500,
      created_at: toTime(at),
    }));
    return list(isParked ? items : items.reverse(), 2, asked);
  });
}

const retried = (numbers: number[]) =>
  numbers.map((at) => ({
    id: event(at),
    type: 'email.sent',
    status: 'attempting',
    attempt_count: 3,
    last_http_status: 500,
    created_at: toTime(at),
  }));

/** Two to a page, so that pages are turned. */
function list(items: { id: string }[], size: number, { query }: Asked): Reply {
  const from = query.after === undefined ? 0 : items.findIndex((item) => item.id === query.after) + 1;
  const data = items.slice(from, from + size);
  return { status: 200, body: { object: 'list', has_more: from + size < items.length, data } };
}

const done = (asked: Asked): Reply => ({
  status: 200,
  body: { object: 'webhook_event', id: asked.path.split('/')[4] },
});
const refused = (status: number, name: string, message: string, headers = {}): Reply => ({
  status,
  body: { statusCode: status, name, message },
  headers,
});

describe('rasket webhooks replay', () => {
  let desk: Desk;
  let server: Awaited<ReturnType<typeof office>> | undefined;
  beforeEach(() => void (desk = new Desk()));
  afterEach(async () => {
    server?.close();
    await desk.clear();
  });
  const replay = async (words: string[], answering = server): Promise<Ended> =>
    desk.rasket([
      'webhooks',
      'replay',
      ...words,
      '--url',
      answering?.url ?? 'http://127.0.0.1:9999',
      '--api-key',
      'rk_1',
    ]);
  const replayed = (): string[] =>
    (server?.asked ?? []).filter(({ method }) => method === 'POST').map(({ path }) => path.split('/')[4] ?? '');

  it('replays failed events, oldest first over all pages, and skips disabled endpoints', async () => {
    server = await office({ [hook(1)]: [1, 2, 3, 4, 5], [hook(2)]: [6] }, done);
    const ended = await replay(['--failed', '--since', '2h']);
    expect(ended).toMatchObject({ code: 0 });
    expect(replayed()).toEqual([1, 2, 3, 4, 5].map(event));
    expect(ended.stdout.split('\n').slice(0, -1)).toEqual(
      [1, 2, 3, 4, 5].map((at) => [hook(1), event(at), 'email.sent', 'replayed'].join('\t')),
    );
    expect(ended.stderr).toBe(
      `rasket: ${hook(2)} (https://example.com/2) is disabled, 1 failed event not replayed. Enable it first: rasket webhooks update --url ${server?.url} ${hook(2)} --status enabled (with the key of --api-key)\n`,
    );
    const asked = server.asked.find(({ path }) => path.endsWith('/events'));
    expect(asked?.query).toMatchObject({ status: 'failed', limit: '100' });
    const backMs = Date.now() - Date.parse(asked?.query.start_date ?? '');
    expect(Math.abs(backMs - 2 * 3_600_000)).toBeLessThan(60_000);
  });

  it('says that a disabled endpoint must be enabled first, and fails because nothing was replayed', async () => {
    server = await office({ [hook(2)]: [6] }, done);
    const ended = await replay(['--failed', '--webhook', hook(2)]);
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(ended.stderr).toBe(
      `rasket: ${hook(2)} (https://example.com/2) is disabled, 1 failed event not replayed. Enable it first: rasket webhooks update --url ${server?.url} ${hook(2)} --status enabled (with the key of --api-key)\n`,
    );
    expect(replayed()).toEqual([]);
    expect(await replay(['--failed'])).toMatchObject({ code: 1, stdout: '', stderr: ended.stderr });
  });

  it('waits as long as the rate limit requires and continues', async () => {
    const limited = refused(429, 'rate_limit_exceeded', 'Wait.', { 'retry-after': '1' });
    // The client itself tries once more; only the third answer is good.
    server = await office({ [hook(1)]: [1, 2] }, (asked, count) => ([2, 3].includes(count) ? limited : done(asked)));
    expect(await replay(['--failed', '--webhook', hook(1)])).toMatchObject({ code: 0, stderr: '' });
    expect(replayed()).toEqual([event(1), event(2), event(2), event(2)]);
  });

  it('with --dry-run shows the events and replays none', async () => {
    server = await office({ [hook(1)]: [1, 2, 3] }, done);
    const ended = await replay(['--failed', '--dry-run']);
    const lines = [1, 2, 3].map((at) => `${hook(1)}\t${event(at)}\temail.sent\t${toTime(at)}\n`);
    expect(ended.stdout).toBe(['ENDPOINT\tEVENT\tTYPE\tCREATED\n', ...lines].join(''));
    const json = await replay(['--failed', '--dry-run', '--json']);
    expect(JSON.parse(json.stdout)).toEqual(
      [1, 2, 3].map((at) => ({ webhook_id: hook(1), id: event(at), type: 'email.sent' })),
    );
    expect(replayed()).toEqual([]);
  });

  it('names a missing event, replays the others, and fails because not all were replayed', async () => {
    const gone = refused(404, 'not_found', 'Webhook event not found.');
    server = await office({ [hook(1)]: [1, 2, 3] }, (asked, count) => (count === 2 ? gone : done(asked)));
    const ended = await replay(['--failed', '--json']);
    expect(ended).toMatchObject({
      code: 1,
      stderr: `rasket: ${event(2)} was not replayed: Webhook event not found.\n`,
    });
    expect(
      ended.stdout
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([1, 3].map((at) => ({ object: 'webhook_event', id: event(at) })));
  });

  it('with --parked replays events parked by a disabled endpoint, and with --failed both kinds, oldest first', async () => {
    server = await office({ [hook(1)]: [2, 5], [hook(2)]: [7] }, done, { [hook(1)]: [1, 3, 4], [hook(2)]: [6] });
    const alone = await replay(['--parked', '--since', '2h']);
    expect(alone).toMatchObject({ code: 0 });
    expect(replayed()).toEqual([1, 3, 4].map(event));
    expect(alone.stderr).toBe(
      `rasket: ${hook(2)} (https://example.com/2) is disabled, 1 parked event not replayed. Enable it first: rasket webhooks update --url ${server?.url} ${hook(2)} --status enabled (with the key of --api-key)\n`,
    );
    const asked = server.asked.filter(({ path }) => path.endsWith('/parked'));
    expect(asked.map(({ query }) => query.after)).toEqual([undefined, event(3), undefined]);
    expect(asked[0]?.query).toMatchObject({ limit: '100', start_date: expect.stringMatching(/Z$/) as string });
    const both = await replay(['--parked', '--failed', '--dry-run']);
    expect(both.stdout.split('\n').map((line) => line.split('\t')[1])).toEqual([
      'EVENT',
      ...[1, 2, 3, 4, 5].map(event),
      undefined,
    ]);
  });

  it('with --parked replays all parked events, however old, and with --failed those of one day', async () => {
    server = await office({ [hook(1)]: [4] }, done, { [hook(1)]: [1, 2, 3] });
    expect(await replay(['--parked'])).toMatchObject({ code: 0, stderr: '' });
    expect(replayed()).toEqual([1, 2, 3].map(event));
    await replay(['--parked', '--failed', '--dry-run']);
    const starts = server.asked
      .filter(({ path }) => /\/(events|parked)$/.test(path))
      .map(({ path, query }) => [path.split('/').at(-1), query.start_date !== undefined]);
    expect(starts).toContainEqual(['events', true]);
    expect(starts).toContainEqual(['parked', false]);
    expect(starts).not.toContainEqual(['parked', true]);
    server.close();
    server = await office({}, done);
    expect(await replay(['--parked', '--webhook', hook(1)])).toMatchObject({
      code: 0,
      stderr: `rasket: Nothing to replay: no parked events at ${hook(1)}.\n`,
    });
  });

  it('says when there is nothing to replay', async () => {
    server = await office({}, done);
    expect(await replay(['--failed', '--since', '2026-01-01T00:00:00Z'])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'rasket: Nothing to replay: no failed events since 2026-01-01T00:00:00.000Z at any enabled endpoint.\n',
    });
    expect(server.asked.at(-1)?.query.start_date).toBe('2026-01-01T00:00:00.000Z');
  });

  it.each([
    [[1, 2], '2 events are'],
    [[1], '1 event is'],
  ])('names the events that are still being retried: %j', async (numbers, says) => {
    server = await office({}, done, {}, { [hook(1)]: numbers });
    const { code, stdout, stderr } = await replay(['--failed']);
    expect([code, stdout]).toEqual([0, '']);
    const [nothing, still] = stderr.trimEnd().split('\n');
    expect(nothing).toMatch(/^rasket: Nothing to replay: no failed events since /);
    expect(still).toContain(`rasket: ${says} being retried at ${hook(1)} and not replayed.`);
    expect(still).toMatch(/ rasket webhooks events .*--status attempting/);
    expect((await replay(['--parked'])).stderr).not.toContain('retried');
    server.close();
    server = await office({ [hook(1)]: [4] }, done, {}, { [hook(1)]: numbers });
    expect((await replay(['--failed', '--dry-run'])).stderr).toContain(says);
  });

  it('ends when the server fails', async () => {
    const broken = refused(503, 'service_unavailable', 'Not now.');
    server = await office({ [hook(1)]: [1, 2] }, () => broken);
    expectOneLine(await replay(['--failed']), /Not now.*service_unavailable/);
    expect(replayed()).toEqual([event(1)]);
  });

  it('replays one event by its ids', async () => {
    server = await office({}, done);
    expect(await replay([hook(1), event(1)])).toMatchObject({ code: 0, stdout: `${event(1)}\n` });
    expect(server.asked.map(({ method, path }) => `${method} ${path}`)).toEqual([
      `POST /webhooks/${hook(1)}/events/${event(1)}/replay`,
    ]);
  });

  it.each([
    [[], /Name an event/],
    [[hook(1)], /Name an event/],
    [[hook(1), event(1), '--failed'], /--failed does not take an event/],
    [[hook(1), '--parked'], /--parked does not take an event/],
    [[hook(1), event(1), '--since', '2h'], /need --failed or --parked/],
    [[hook(1), event(1), '--dry-run'], /need --failed/],
    [['--failed', '--since', 'yesterday'], /--since must be a number and s, m, h or d.*"yesterday"/],
    [['--failed', '--since', '0h'], /--since must be/],
    [['--failed', '--since', '2026-01-01'], /with its zone/],
  ])('refuses %j', async (words, line) => {
    expectOneLine(await replay(words), line, 64);
  });
});
