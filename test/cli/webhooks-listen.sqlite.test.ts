import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { freePort } from '../rig/free-port.ts';
import { Desk, expectOneLine, type Running, type Server } from './desk.ts';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 60_000 });

interface Got {
  headers: Record<string, string>;
  body: string;
}

/** A developer's program on this machine. */
async function startProgram() {
  const got: Got[] = [];
  const answers = { status: 200 };
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      got.push({ headers: request.headers as Record<string, string>, body: Buffer.concat(chunks).toString() });
      response.writeHead(answers.status, { location: 'http://127.0.0.1:1/' }).end('an answer nobody reads');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { got, answers, url, close };
}

const emailIn = ({ body }: Got): string => (JSON.parse(body) as { data: { email: string } }).data.email;

describe('rasket webhooks listen', () => {
  const desk = new Desk();
  let database: Record<string, string>;
  let server: Server;
  let program: Awaited<ReturnType<typeof startProgram>>;
  let port: number;
  const serve = (): Promise<Server> =>
    desk.serve(['dev', '--data', 'dev'], { env: { ...database, RASKET_HTTP_PORT: String(port) } });
  beforeAll(async () => {
    database = await desk.database();
    port = await freePort();
    server = await serve();
    program = await startProgram();
  });
  afterAll(async () => {
    program.close();
    await desk.clear();
  });

  const env = () => ({ RASKET_DATA: desk.at('dev') });
  const suppress = async (email: string): Promise<void> => {
    const ended = await desk.rasket(['suppressions', 'add', email], { env: env() });
    expect(ended, ended.stderr).toMatchObject({ code: 0 });
  };
  const listen = async (...words: string[]): Promise<Running & { secret: string }> => {
    const running = desk.start(desk.at('path/rasket'), ['webhooks', 'listen', ...words], { env: env() });
    await vi.waitFor(() => expect(running.stdout + running.stderr).toContain('\n'));
    return Object.assign(running, { secret: /whsec_\S{32}/.exec(running.stdout)?.[0] ?? '' });
  };
  const listLines = (running: Running): string[][] =>
    running.stdout
      .split('\n')
      .filter((line) => line.includes('\t'))
      .map((line) => line.split('\t'));

  it('posts each event with valid signatures, prints a line for it, and ends with Ctrl-C', async () => {
    const running = await listen('--forward-to', program.url, '--events', 'suppression.added');
    expect(running.stdout).toBe(`Signing secret  ${running.secret}\n`);
    await suppress('a@example.org');
    await vi.waitFor(() => expect(program.got).toHaveLength(1));
    const [{ headers, body }] = program.got as [Got];
    expect(headers).toMatchObject({ 'content-type': 'application/json', 'user-agent': 'rasket-Webhooks/1.0' });
    expect(() => new SvixWebhook(running.secret).verify(body, headers)).not.toThrow();
    expect(new StandardWebhook(running.secret).verify(body, headers)).toMatchObject({
      type: 'suppression.added',
      data: { email: 'a@example.org' },
    });
    await vi.waitFor(() => expect(listLines(running)).toHaveLength(1));
    const id = headers['svix-id'] ?? '';
    expect(listLines(running)).toEqual([['suppression.added', id, '200', expect.stringMatching(/^\d+ ms$/) as string]]);

    // The status that the program answers is reported, and a redirect is not followed.
    for (const status of [500, 302]) {
      program.answers.status = status;
      await suppress(`s${status}@example.org`);
      await vi.waitFor(() => expect(listLines(running).at(-1)?.[2]).toBe(String(status)));
    }
    program.answers.status = 200;
    running.kill('SIGINT');
    expect(await running.ended).toMatchObject({ code: 0, stderr: '' });
  });

  it('distinguishes a program that is not running from one that refuses an event', async () => {
    const gone = await startProgram();
    gone.close();
    const running = await listen('--forward-to', gone.url);
    await suppress('b@example.org');
    await vi.waitFor(() => expect(listLines(running)[0]?.[2]).toBe('connection refused'));
    await suppress('b2@example.org');
    await vi.waitFor(() => expect(listLines(running)).toHaveLength(2));
    running.kill('SIGTERM');
    const { code, stderr } = await running.ended;
    expect(code).toBe(0);
    // Explained once, however many there are.
    expect(stderr).toMatch(
      /^rasket: http:\/\/127\.0\.0\.1:\d+\/hook did not accept msg_[0-9a-f]{32}: connection refused\. .* not sent again: .*\n$/,
    );
  });

  it('with --json prints the received events byte for byte for another program', async () => {
    const running = await listen('--json');
    await suppress('c@example.org');
    await vi.waitFor(() => expect(running.stdout.split('\n')).toHaveLength(3));
    const [listening, event] = running.stdout.split('\n').map((line) => (line === '' ? {} : JSON.parse(line))) as [
      { object: string; signing_secret: string },
      { id: string; payload: string; headers: Record<string, string> },
    ];
    expect(listening.object).toBe('webhook_listener');
    expect(new StandardWebhook(listening.signing_secret).verify(event.payload, event.headers)).toMatchObject({
      data: { email: 'c@example.org' },
    });
    running.kill('SIGINT');
    await running.ended;
  });

  it('reconnects to a restarted server, and receives missed events with the same secret', async () => {
    const running = await listen('--forward-to', program.url);
    program.got.length = 0;
    await suppress('d@example.org');
    await vi.waitFor(() => expect(program.got).toHaveLength(1));
    expect(await server.stop()).toMatchObject({ code: 0 });
    server = await serve();
    // Nobody listens to this one yet: it waits.
    await suppress('e@example.org');
    await vi.waitFor(() => expect(program.got).toHaveLength(2));
    expect(program.got.map(emailIn)).toEqual(['d@example.org', 'e@example.org']);
    const [, { body, headers }] = program.got as [Got, Got];
    expect(new StandardWebhook(running.secret).verify(body, headers)).toBeTruthy();
    expect(running.stderr).toMatch(/^rasket: The stream was interrupted; connecting again in \d+ s\.\n/);
    running.kill('SIGINT');
    expect(await running.ended).toMatchObject({ code: 0 });
  });

  it('ends with a message when its key is revoked', async () => {
    const made = await desk.rasket(['keys', 'create', 'Listener', '--json'], { env: env() });
    const { id, token } = JSON.parse(made.stdout) as { id: string; token: string };
    const running = desk.start(desk.at('path/rasket'), ['webhooks', 'listen'], {
      env: { RASKET_URL: server.url, RASKET_API_KEY: token },
    });
    await vi.waitFor(() => expect(running.stdout).toContain('whsec_'));
    await desk.rasket(['keys', 'revoke', id, '--yes'], { env: env() });
    await suppress('f@example.org');
    const ended = await running.ended;
    expect(ended).toMatchObject({ code: 77, stderr: 'rasket: The API key is no longer valid. (key_revoked)\n' });
  });

  it.each([
    ['--forward-to', 'localhost:3000', 64, /--forward-to must be an http or https URL.*"localhost:3000"/],
    ['--forward-to', 'ftp://localhost/', 64, /--forward-to must be an http or https URL/],
    ['--events', 'email.delivred', 64, /"email\.delivred" is not an event type\. Did you mean email\.delivered\?/],
  ])('refuses %s %s in one line', async (flag, value, code, line) => {
    expectOneLine(await desk.rasket(['webhooks', 'listen', flag, value], { env: env() }), line, code);
  });

  it.each(['http://localhost', 'http://127.0.0.1'])('refuses to forward to the server itself as %s', async (host) => {
    const { port } = new URL(server.url);
    const ended = await desk.rasket(['webhooks', 'listen', '--forward-to', `${host}:${port}/hook`], { env: env() });
    expectOneLine(ended, /--forward-to \S+ is this server itself; give the port that your program listens on/, 64);
  });

  it('does not wait for a server that is not there', async () => {
    const ended = await desk.rasket(['webhooks', 'listen', '--url', 'http://127.0.0.1:1', '--api-key', 'rk_x']);
    expectOneLine(ended, /Port 1 belongs to another protocol|No server is listening/);
  });
});
