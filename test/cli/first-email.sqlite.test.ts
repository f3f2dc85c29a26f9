import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Desk } from './desk.ts';

const { dkimVerify } = createRequire(import.meta.url)('mailauth/lib/dkim/verify') as {
  dkimVerify: (
    message: Buffer,
    options: { resolver: (name: string, type: string) => Promise<string[][]> },
  ) => Promise<{ results: { status: { result: string }; signingDomain: string }[] }>;
};

let desk: Desk;
beforeEach(() => {
  desk = new Desk();
});
afterEach(() => desk[Symbol.asyncDispose]());

const hasCurl = ((): boolean => {
  try {
    execFileSync('curl', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

// skipped because the panel's line cannot be pasted where there is no curl; .ci/run installs it.
it.skipIf(!hasCurl)(
  'the curl command in the panel sends the first email, and the playground shows it with a valid signature',
  async () => {
    const env = await desk.database();
    const server = await desk.serve(['dev', '--data', 'dev'], { env: { ...env, RASKET_HTTP_PORT: '0' } });
    await vi.waitFor(() => expect(server.stdout).toContain('Ctrl-C stops it'));
    const curl = /curl [\s\S]*?\}'\n/.exec(server.stdout)?.[0] ?? '';
    const apiKey = /Bearer (rk_\S+)'/.exec(curl)?.[1] ?? '';
    const call = async <Body>(path: string): Promise<Body> => {
      const headers = { authorization: `Bearer ${apiKey}`, 'user-agent': 'first-email/1' };
      return (await fetch(server.url + path, { headers })).json() as Promise<Body>;
    };

    const sent = await desk.type(curl.replace('curl ', 'curl --silent --show-error '));
    const { id } = JSON.parse(sent.stdout) as { id: string };
    await vi.waitFor(async () => expect(await call(`/emails/${id}`)).toMatchObject({ last_event: 'delivered' }), 2000);

    const shown = await desk.rasket(['playground', '--data', 'dev', 'latest', '--raw'], { env });
    expect(shown, shown.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining('Subject: Hello') });
    const listed = await call<{ data: { id: string }[] }>('/domains');
    const { records } = await call<{ records: { name: string; value: string }[] }>(`/domains/${listed.data[0]?.id}`);
    const resolver = (name: string) =>
      Promise.resolve(records.filter((record) => record.name === name).map((record) => [record.value]));
    const { results } = await dkimVerify(Buffer.from(shown.stdout), { resolver });
    const passed = { status: { result: 'pass' }, signingDomain: 'playground.test' };
    expect(results).toMatchObject([passed, passed]);

    const read = await desk.rasket(['playground', '--data', 'dev', 'latest'], { env });
    expect(read, read.stderr).toMatchObject({ code: 0 });
    expect(read.stdout).toMatch(/^From +You <you@playground\.test>$/m);
    expect(read.stdout).toMatch(/^Subject +Hello$/m);
    expect(read.stdout.match(/^Signed +by playground\.test with \S+ \((rsa|ed25519)-sha256\)$/gm)).toHaveLength(2);
    expect(read.stdout).toContain('\n\nIt works.\n\n');
    expect(read.stdout).not.toMatch(/DKIM-Signature|<p>/);
    await server.stop();
  },
);

it('rasket login without a server uses the development server while that runs', async () => {
  const env = { ...(await desk.database()), RASKET_DATA: 'dev' };
  const server = await desk.serve(['dev', '--data', 'dev'], { env: { ...env, RASKET_HTTP_PORT: '0' } });
  const { api_key: key } = JSON.parse(readFileSync(desk.at('dev/run/dev.json'), 'utf8')) as { api_key: string };
  const login = await desk.rasket(['login', '--api-key', key], { env });
  expect(login, login.stderr).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`The key for ${server.url} is`),
  });
  await server.stop();
  const after = await desk.rasket(['login', '--api-key', key], { env });
  expect(after.stderr).not.toContain(server.url);
});
