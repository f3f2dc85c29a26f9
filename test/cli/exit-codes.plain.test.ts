import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EXIT, EXIT_CODES } from '../../cli/index.ts';
import { startAnswering, type Asked, type Reply } from './contract-server.ts';
import { Desk, root } from './desk.ts';
import { speak } from './spoken.ts';

const refusal = (status: number, name: string) => ({ status, body: { statusCode: status, name, message: 'No.' } });

const LISTED = { object: 'list', has_more: false, data: [] };

const ENDINGS: [words: string, status: number, name: string, ending: keyof typeof EXIT][] = [
  ['emails list', 401, 'invalid_api_key', 'auth'],
  ['emails list', 401, 'restricted_api_key', 'auth'],
  ['emails list', 403, 'suspended_api_key', 'auth'],
  ['emails list', 403, 'invalid_permission', 'auth'],
  ['emails list', 403, 'validation_error', 'refused'],
  ['emails get 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77', 404, 'not_found', 'notFound'],
  ['emails cancel 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77', 409, 'resource_locked', 'refused'],
  ['emails list', 400, 'validation_error', 'refused'],
  ['emails list', 422, 'invalid_parameter', 'refused'],
  ['emails list', 500, 'application_error', 'server'],
  ['emails list', 503, 'service_unavailable', 'server'],
];

describe('the exit code of a command', () => {
  let desk: Desk;
  beforeEach(() => {
    desk = new Desk();
  });
  afterEach(() => desk.clear());

  it.each(ENDINGS)('for %s after the response %i %s is “%s”', async (words, status, name, ending) => {
    const { code, stderr } = await speak(words.split(' '), () => refusal(status, name));
    expect([code, stderr]).toEqual([EXIT[ending], expect.stringMatching(/^rasket: /)]);
  });

  it.each(['daily_quota_exceeded', 'monthly_quota_exceeded', 'rate_limit_exceeded'])(
    'for %s is the one of limits',
    async (name) => {
      const headers = { 'retry-after': '4000' };
      const { code } = await speak(['emails', 'list'], () => ({ ...refusal(429, name), headers }));
      expect(code).toBe(EXIT.limit);
    },
  );

  it('is the exit code of the process, class by class', async () => {
    const statuses: Record<string, number> = { sk: 200, auth: 401, none: 404, no: 422, fault: 500, limit: 429 };
    const server = await startAnswering(({ headers }) => {
      const status = statuses[headers.authorization?.split('_')[1] ?? ''] ?? 200;
      const name = status === 401 ? 'invalid_api_key' : status === 429 ? 'daily_quota_exceeded' : 'application_error';
      return status === 200 ? { status, body: LISTED } : refusal(status, name);
    });
    const list = ['emails', 'list'];
    const at = (key: string) => ({ env: { RASKET_URL: server.url, RASKET_API_KEY: `rk_${key}` } });
    const nobody = { env: { RASKET_URL: 'http://127.0.0.1:9', RASKET_API_KEY: 'rk_test' } };
    const ends = async (around: object, words = list) => (await desk.run(words, around)).code;
    expect({
      done: await ends(at('sk')),
      failed: await ends({}, ['backup', '/proc/none', '--data', '/nonexistent']),
      usage: await ends(nobody, ['emials']),
      refused: await ends(at('no')),
      notFound: await ends(at('none')),
      unreachable: await ends(nobody),
      server: await ends(at('fault')),
      limit: await ends(at('limit')),
      auth: await ends(at('auth')),
    }).toEqual(EXIT);
    server.close();
  });

  it('for an item that is not in the list of the server is notFound', async () => {
    const none = { status: 200, body: LISTED };
    expect((await speak(['domains', 'get', 'example.com'], () => none)).code).toBe(EXIT.notFound);
  });

  it('is the right one without a server, without a key and for wrong usage', async () => {
    const nobody = { env: { RASKET_URL: 'http://127.0.0.1:9', RASKET_API_KEY: 'rk_test' } };
    expect((await desk.rasket(['emails', 'list'], nobody)).code).toBe(EXIT.unreachable);
    expect((await desk.rasket(['emails', 'list'], { env: { RASKET_URL: 'http://127.0.0.1:9' } })).code).toBe(EXIT.auth);
    for (const words of [
      ['emials'],
      ['emails', 'batch', 'none.json', '--idempotency-key', 'Größe\u2028'],
      ['emails', 'get'],
      ['emails', 'list', '--limti', '3'],
      ['domains', 'delete', 'x'],
    ]) {
      expect((await desk.rasket(words, nobody)).code, words.join(' ')).toBe(EXIT.usage);
    }
  });

  it.each(['ready', 'status'])('of rasket %s is that of any other command on the same server', async (word) => {
    const checks = [{ name: 'database', ok: false, durationMs: 1, error: 'It is read-only.' }];
    const body = { statusCode: 503, name: 'service_unavailable', message: 'Not ready.', status: 'degraded', checks };
    const degraded = await speak([word], ({ path }) =>
      path === '/ready' ? { status: 503, body: { ...body, failed: ['database'] } } : { status: 200, body: LISTED },
    );
    expect(degraded.code).toBe(EXIT.server);
    const nobody = { env: { RASKET_URL: 'http://127.0.0.1:9', RASKET_API_KEY: 'rk_test' } };
    expect((await desk.rasket([word], nobody)).code).toBe(EXIT.unreachable);
  });

  it('of rasket status depends on the key', async () => {
    const answer = ({ path }: Asked): Reply =>
      path === '/ready'
        ? { status: 200, body: { object: 'ready', status: 'ok', checks: [], failed: [] } }
        : refusal(401, 'invalid_api_key');
    expect((await speak(['status'], answer)).code).toBe(EXIT.auth);
  });

  it('is stable, and equals the table in docs/command-line.md', () => {
    const numbers = {
      done: 0,
      failed: 1,
      usage: 64,
      refused: 65,
      notFound: 66,
      unreachable: 69,
      server: 70,
      limit: 75,
    };
    expect(EXIT).toEqual({ ...numbers, auth: 77 });
    const told = [...readFileSync(path.join(root, 'docs/command-line.md'), 'utf8').matchAll(/^\| (\d+) \|/gm)].map(
      ([, text]) => Number(text),
    );
    expect(told).toEqual(Object.values(EXIT));
  });

  it('is listed once in --help', async () => {
    const { code, stdout } = await desk.rasket(['--help']);
    expect(code).toBe(EXIT.done);
    // A text that is too long for a line continues on the next.
    const told = stdout.slice(stdout.indexOf('Exit codes:')).replaceAll(/\n {6}/g, ' ');
    for (const { code: number, says } of EXIT_CODES) {
      expect(told).toContain(`  ${String(number).padStart(2)}  ${says}`);
    }
    expect(EXIT_CODES.map((each) => each.code).sort((a, b) => a - b)).toEqual(Object.values(EXIT));
  });
});
