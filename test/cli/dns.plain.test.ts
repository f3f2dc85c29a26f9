import { spawnSync } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startAnswering, type Asked, type Reply } from './contract-server.ts';
import { Desk, expectOneLine, type Surroundings } from './desk.ts';

vi.setConfig({ testTimeout: 180_000 });

const ID = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77';
const CONFIGURE = `/domains/${ID}/dns/configure`;
const changes = [
  { action: 'create', name: 'send.example.com', type: 'MX', value: 'mx.example.net', ttl: 300, priority: 10 },
  { action: 'delete', name: 'old._domainkey.example.com', type: 'TXT', value: 'v=DKIM1; p=abc', ttl: 300 },
];

let desk: Desk;
let server: Awaited<ReturnType<typeof startAnswering>> | undefined;
beforeEach(() => {
  desk = new Desk();
});
afterEach(async () => {
  server?.close();
  await desk.clear();
});

async function answering(answer: (asked: Asked) => Reply): Promise<Surroundings> {
  server = await startAnswering((asked) => answer(asked));
  return { env: { RASKET_URL: server.url, RASKET_API_KEY: 'rk_test' } };
}

const configured = (): Promise<Surroundings> =>
  answering(({ body }) => {
    const { dry_run } = body as { dry_run: boolean };
    const answer = {
      object: 'dns_configuration',
      domain_id: ID,
      provider: 'office',
      zone: 'example.com',
      dry_run,
      changes,
    };
    return { status: 200, body: answer };
  });

const bodies = (): unknown[] | undefined =>
  server?.asked.filter(({ path }) => path === CONFIGURE).map(({ body }) => body);

describe('rasket domains zone', () => {
  it('prints the text unchanged, without control characters', async () => {
    const text = '; What example.com has to publish.\nsend.example.com. 300 IN TXT "a\u001B[2J"\n';
    const around = await answering(() => ({
      status: 200,
      body: text,
      headers: { 'content-type': 'text/plain; charset=utf-8' },
    }));
    const { stdout } = await desk.rasket(['domains', 'zone', ID], around);
    expect(stdout).toBe(text.replace('\u001B', '\uFFFD'));
  });
});

describe('rasket domains configure', () => {
  it('asks and changes nothing without a terminal', async () => {
    const around = await configured();
    expectOneLine(await desk.rasket(['domains', 'configure', ID], around), /give --yes .* or --dry-run/, 64);
    expectOneLine(await desk.rasket(['domains', 'configure', ID, '--json'], around), /give --yes/, 64);
    expect(bodies()).toEqual([]);
  });

  it('--dry-run only makes a dry run, even with --yes', async () => {
    const around = await configured();
    const { stdout } = await desk.rasket(['domains', 'configure', ID, '--dry-run', '--yes'], around);
    expect(stdout).toBe(
      'ACTION\tTYPE\tNAME\tPRIORITY\tTTL\tVALUE\ncreate\tMX\tsend.example.com\t10\t300\tmx.example.net\ndelete\tTXT\told._domainkey.example.com\t\t300\tv=DKIM1; p=abc\n',
    );
    expect(bodies()).toEqual([{ dry_run: true }]);
  });

  it('--yes makes the change at once', async () => {
    const around = await configured();
    const { stdout } = await desk.rasket(['domains', 'configure', ID, '--yes', '--remove', '--json'], around);
    expect(JSON.parse(stdout)).toMatchObject({ object: 'dns_configuration', zone: 'example.com', changes });
    expect(bodies()).toEqual([{ remove: true, dry_run: false }]);
  });

  it('reads a token from the environment or standard input, and never from a flag', async () => {
    const around = await configured();
    const words = ['domains', 'configure', ID, '--yes', '--with-token'];
    await desk.rasket(words, { env: { ...around.env, CLOUDFLARE_API_TOKEN: 'from-env' } });
    await desk.rasket(words, { ...around, input: 'from-input\n' });
    expect(bodies()).toEqual([
      { api_token: 'from-env', dry_run: false },
      { api_token: 'from-input', dry_run: false },
    ]);
    expectOneLine(await desk.rasket(words, { ...around, input: '' }), /no token was given/, 64);
  });
});

// skipped because a terminal is made by script(1) of util-linux, which is not everywhere
describe.skipIf(spawnSync('script', ['--version']).status !== 0)('rasket domains configure at a terminal', () => {
  it.each([
    { typed: 'y\n', asked: 2 },
    { typed: 'YES\n', asked: 2 },
    { typed: 'n\n', asked: 1 },
    { typed: '\n', asked: 1 },
    { typed: '\u0004', asked: 1 },
  ])('shows the change, asks, and accepts the answer $typed', async ({ typed, asked }) => {
    const around = await configured();
    const line = `stty cols 100; NO_COLOR=1 rasket domains configure ${ID}`;
    const running = desk.start('script', ['-qec', line, '/dev/null'], { isOpen: true, ...around });
    await vi.waitFor(() => expect(running.stdout).toContain('Change example.com? [y/N]'));
    expect(running.stdout).toContain('send.example.com');
    expect(running.stdout).toContain('This would change the zone example.com at the provider office.');
    expect(bodies()).toEqual([{ dry_run: true }]);
    running.write(typed);
    const { stdout } = await running.ended;
    expect(bodies()).toHaveLength(asked);
    expect(stdout).toContain(asked === 2 ? 'Done: 2 changes in example.com.' : 'nothing was changed');
  });
});
