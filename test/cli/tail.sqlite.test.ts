import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { Desk, type Server } from './desk.ts';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

let desk: Desk;
let server: Server;
beforeAll(async () => {
  desk = new Desk();
  server = await desk.serve(['dev', '--data', 'data']);
});
afterAll(() => desk.clear());

const data = ['--data', 'data'];
const send = (subject: string) =>
  desk.rasket([
    'send',
    ...data,
    '--from',
    'a@playground.test',
    '--to',
    'b@example.com',
    '--subject',
    subject,
    '--text',
    'x',
  ]);

it('rasket emails tail starts with the last emails, follows new ones, and exits with 0 at Ctrl-C', async () => {
  for (const subject of ['One', 'Two', 'Three']) await send(subject);
  const tail = desk.start(desk.at('path/rasket'), ['emails', 'tail', '--lines', '2', '--json', ...data]);
  const subjects = () =>
    tail.stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => (JSON.parse(line) as { subject: string }).subject);
  await vi.waitFor(() => expect(subjects()).toEqual(['Two', 'Three']), { timeout: 60_000 });
  await send('Four');
  await send('Five');
  await vi.waitFor(() => expect(subjects()).toEqual(['Two', 'Three', 'Four', 'Five']), { timeout: 60_000 });
  tail.kill('SIGINT');
  expect(await tail.ended).toMatchObject({ code: 0, stderr: '' });
});

it('rasket emails tail --since starts with every email since then', async () => {
  const tail = desk.start(desk.at('path/rasket'), ['emails', 'tail', '--since', '1h', '--json', ...data]);
  const count = () => tail.stdout.split('\n').filter(Boolean).length;
  await vi.waitFor(() => expect(count()).toBe(5), { timeout: 60_000 });
  const since = new Date().toISOString();
  await send('Six');
  await vi.waitFor(() => expect(count()).toBe(6), { timeout: 60_000 });
  tail.kill('SIGINT');
  expect(await tail.ended).toMatchObject({ code: 0, stderr: '' });

  const later = desk.start(desk.at('path/rasket'), ['emails', 'tail', '--since', since, '--json', ...data]);
  await vi.waitFor(() => expect(later.stdout).toContain('Six'), { timeout: 60_000 });
  later.kill('SIGINT');
  await later.ended;
  expect(later.stdout.split('\n').filter(Boolean)).toHaveLength(1);
  const both = await desk.rasket(['emails', 'tail', '--since', '1h', '--lines', '2', ...data]);
  expect(both).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('--since and --lines cannot be used together'),
  });
});

it('the request log contains the changes and refusals of the command line, and not its reads', async () => {
  await desk.rasket(['domains', 'list', ...data]);
  await desk.rasket(['emails', 'get', '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2eff', ...data]);
  const seen = async (): Promise<string[]> => {
    const { stdout } = await desk.rasket(['logs', 'list', '--json', ...data]);
    const { data: logs } = JSON.parse(stdout) as {
      data: { method: string; endpoint: string; response_status: number }[];
    };
    return logs.map(({ method, endpoint, response_status: status }) => `${method} ${endpoint} ${status}`);
  };
  await vi.waitFor(async () => expect(await seen()).toContain('GET /emails/019a9c1e-7d52-7c3a-9a54-0b8f4c1f2eff 404'), {
    timeout: 60_000,
  });
  const all = await seen();
  expect(all.filter((line) => line.startsWith('POST /emails'))).toHaveLength(6);
  expect(all.filter((line) => line.startsWith('GET') && line.endsWith(' 200'))).toEqual([]);
  expect(server.url).toMatch(/^http/);
});
