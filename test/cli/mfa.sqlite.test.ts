// A person at a terminal with a password: login, and the second factor.
import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createAccount, codeFor, PASSWORD } from '../rig/page-people.ts';
import { pixelsOfLines, readQrCode } from '../rig/qr-code.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { scratchFolder } from '../rig/scratch.ts';
import { runInProcess, type Ended } from './in-process.ts';

type Typed = readonly [prompt: string, text: string | ((shown: string) => string)];
type Seen = Ended & { shown: string };

let [scene, team]: [Scene, Team] = [undefined, undefined] as never;
let home: string;
beforeAll(async () => {
  scene = await startScene();
  team = await scene.team('Engines');
});
afterAll(() => scene.close());
beforeEach(() => {
  home = scratchFolder('rasket-mfa-');
});
afterEach(() => {
  scene.clock.advance(16 * 60_000);
  fs.rmSync(home, { recursive: true, force: true });
});

const around = (url: string) => ({ cwd: home, env: { HOME: home, RASKET_URL: url } });
const kept = () => path.join(home, '.config/rasket/credentials.json');
const tokenKept = (): string => (JSON.parse(fs.readFileSync(kept(), 'utf8')) as { api_key: string }).api_key;
const fetchStatus = async (key: string): Promise<number> => (await scene.api('GET', '/auth/session', { key })).status;

/** Runs rasket at a terminal: each answer is typed once its prompt is there. */
async function rasket(
  line: string,
  answers: readonly Typed[] = [],
  { columns = 100, url = scene.url } = {},
): Promise<Seen> {
  let shown = '';
  let from = 0;
  let wake = Promise.withResolvers<void>();
  async function* typing(): AsyncIterable<Buffer> {
    for (const [prompt, text] of answers) {
      while (!shown.includes(prompt, from)) await wake.promise;
      from = shown.indexOf(prompt, from) + prompt.length;
      yield Buffer.from(`${typeof text === 'string' ? text : text(shown)}\r`);
    }
  }
  const onOutput = (text: string): void => {
    shown += text;
    wake.resolve();
    wake = Promise.withResolvers();
  };
  return runInProcess(line.split(' '), { ...around(url), columns, input: typing(), onOutput });
}

const plain = (text: string): string => text.replaceAll(/\u001B\[[\d;]*m/g, '');
const keyIn = (shown: string): string =>
  /this key in (?:the|your authenticator) app: ([A-Z2-7 ]+)/.exec(shown)?.[1] ?? '';
const emailAnd = (email: string, ...more: Typed[]): Typed[] => [
  ['Email: ', email],
  [`Password of ${email}: `, PASSWORD],
  ...more,
];

/** Switches it on; answers the key and the recovery codes. */
async function enable(email: string): Promise<Seen & { key: string; codes: string[] }> {
  const done = await rasket(
    'account mfa enable',
    emailAnd(email, ['from the app: ', (shown) => codeFor(scene, keyIn(shown))]),
  );
  expect(done, done.shown).toMatchObject({ code: 0 });
  return { ...done, key: keyIn(done.shown), codes: done.stdout.trim().split('\n') };
}

const CODE = 'Code from your app, or a recovery code: ';
const NEXT = 'because each code works only once';

describe('rasket login --password', () => {
  it('saves a session of the command line, and leaves no browser session', async () => {
    const { email } = await createAccount(scene, { team });
    const done = await rasket('login --password', emailAnd(email));
    expect(done, done.shown).toMatchObject({ code: 0 });
    expect(done.shown).toContain(`Signed in as ${email}, in the team Engines.`);
    expect(await fetchStatus(tokenKept())).toBe(200);
    const { body } = await scene.api('GET', '/auth/sessions', { key: tokenKept() });
    expect(body.data.map((one: { kind: string }) => one.kind)).toEqual(['device']);
    expect(done.shown).not.toContain(PASSWORD);
  });

  it('asks for a code when there is a second factor, and again when it is wrong', async () => {
    const { email } = await createAccount(scene, { team });
    const { key, codes } = await enable(email);
    scene.clock.advance(60_000);
    const right = codeFor(scene, key);
    const wrong = right === '000000' ? '000001' : '000000';
    const done = await rasket('login --password', emailAnd(email, [CODE, wrong], [CODE, right]));
    expect(done, done.shown).toMatchObject({ code: 0 });
    expect(done.stderr).toContain('The code is wrong or was already used; wait for the next one.');
    for (const secret of [PASSWORD, right, key]) expect(done.shown).not.toContain(secret);
    const again = await rasket('login --password', emailAnd(email, [CODE, codes[0] ?? '']));
    expect(again, again.shown).toMatchObject({ code: 0 });
    expect(await fetchStatus(tokenKept())).toBe(200);
    const twice = await rasket('login --password', emailAnd(email, ...Array<Typed>(3).fill([CODE, codes[0] ?? ''])));
    expect(twice.code).not.toBe(0);
    expect(twice.stderr).toMatch(/rasket: The recovery code is wrong or was already used/);
  });

  it('is refused with a wrong password, and keeps the saved credentials', async () => {
    const { email } = await createAccount(scene, { team });
    await rasket('login --password', emailAnd(email));
    const before = tokenKept();
    const done = await rasket('login --password', [
      ['Email: ', email],
      ['Password of ', 'not this one'],
    ]);
    expect(done.stderr).toContain('The email or the password is wrong (validation_error).');
    expect([done.code === 0, tokenKept(), await fetchStatus(before)]).toEqual([false, before, 200]);
  });

  it('asks for no password when another program listens at the address', async () => {
    const heard: string[] = [];
    const other = http.createServer((request, response) => {
      request.on('data', (chunk: Buffer) => void heard.push(chunk.toString()));
      const isMetadata = request.url === '/.well-known/oauth-authorization-server';
      response.writeHead(isMetadata ? 200 : 404, { 'content-type': 'application/json' });
      response.end(JSON.stringify(isMetadata ? { issuer: 'https://id.example.com' } : { error: 'nothing here' }));
    });
    await new Promise<void>((done) => other.listen(0, '127.0.0.1', done));
    onTestFinished(() => void other.close());
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const done = await rasket('login --password', emailAnd('ada@people.example'), { url });
    expect(done.code).not.toBe(0);
    expect(done.stderr.replaceAll(/\s+/g, ' ')).toContain(`${url} returned 404, but not in the format of this API`);
    expect(heard).toEqual([]);
    expect(done.shown).not.toContain('Email: ');
  });

  it('asks for nothing without a terminal, and sends no password in clear text', async () => {
    const piped = await runInProcess(['login', '--password'], {
      ...around(scene.url),
      input: 'ada@people.example\nx\n',
    });
    expect(piped).toMatchObject({
      code: 64,
      stderr: 'rasket: a password can only be typed at a terminal, and there is none.\n',
    });
    const clear = await rasket('login --password', [], { url: 'http://mail.example.com' });
    expect(clear).toMatchObject({ code: 64, stderr: expect.stringMatching(/could read the\s+password\. Use\s+https/) });
    expect((await rasket('login --password --api-key x')).code).toBe(64);
  });
});

describe('rasket account mfa', () => {
  it('is set up with a QR code or a key, and prints the recovery codes to standard output', async () => {
    const { email } = await createAccount(scene, { team });
    await rasket('login --password', emailAnd(email));
    const token = tokenKept();
    expect((await rasket('account mfa')).stdout).toMatch(/Second factor\S* +off/);
    const done = await rasket('account mfa enable', [
      [`Password of ${email}: `, PASSWORD],
      ['from the app: ', (shown) => codeFor(scene, keyIn(shown))],
    ]);
    expect(done, done.shown).toMatchObject({ code: 0 });
    const picture = done.stderr.split('\n').filter((line) => /[█▀▄]/.test(line));
    const lines = picture.map(plain);
    expect(picture[0]).toMatch(/^\u001B\[97;40m/);
    const link = new URL(readQrCode(pixelsOfLines(lines)) ?? '');
    expect([link.protocol, link.searchParams.get('secret')]).toEqual([
      'otpauth:',
      keyIn(done.shown).replaceAll(' ', ''),
    ]);
    expect(decodeURIComponent(link.pathname)).toContain(email);
    expect(done.stdout.trim().split('\n')).toEqual(Array(10).fill(expect.stringMatching(/^\w{4}(-\w{4}){3}$/)));
    expect(plain(done.stderr)).toContain(`rasket login --url ${scene.url} --password`);
    // The session of before was begun with the password alone.
    expect(await fetchStatus(token)).toBe(401);
    expect(scene.log.join('\n')).not.toContain(keyIn(done.shown).replaceAll(' ', ''));
  });

  it('shows only the key on a narrow terminal', async () => {
    const { email } = await createAccount(scene, { team });
    const answers = emailAnd(email, ['from the app: ', '']);
    const done = await rasket('account mfa enable', answers, { columns: 40 });
    expect(done.stderr).toMatch(/this key in your authenticator app: [A-Z2-7 ]{39}/);
    expect(done.stderr).not.toMatch(/[█▀▄]/);
    expect(done.stderr).toMatch(/nothing was typed;\s+nothing\s+was\s+changed/);
  });

  it('takes unused codes for new recovery codes and for switching it off', async () => {
    const { email } = await createAccount(scene, { team });
    const { key, codes } = await enable(email);
    const code = (shown: string, prompt: string): string => {
      scene.clock.advance(30_000);
      return shown.includes(prompt) ? codeFor(scene, key) : '';
    };
    const made = await rasket(
      'account mfa codes',
      emailAnd(
        email,
        [CODE, (shown) => code(shown, CODE)],
        [NEXT, codeFor(scene, key)],
        [NEXT, (shown) => code(shown, NEXT)],
      ),
    );
    expect(made, made.shown).toMatchObject({ code: 0 });
    const fresh = made.stdout.trim().split('\n');
    expect(fresh).toHaveLength(10);
    expect(fresh).not.toContain(codes[0]);
    const off = await rasket('account mfa disable', emailAnd(email, [CODE, fresh[0] ?? ''], [NEXT, fresh[1] ?? '']));
    expect(off, off.shown).toMatchObject({ code: 0, stdout: 'Your second factor is off.\n' });
    expect((await rasket('login --password', emailAnd(email))).code).toBe(0);
  });

  it('prints the response of the API with --json', async () => {
    const { email } = await createAccount(scene, { team });
    const answers = emailAnd(email, ['from the app: ', (shown) => codeFor(scene, keyIn(shown))]);
    const done = await rasket('account mfa enable --json', answers);
    expect(JSON.parse(done.stdout)).toMatchObject({
      object: 'mfa',
      enabled: true,
      recovery_codes: Array(10).fill(expect.any(String)),
    });
  });

  it('is refused with an API key, which belongs to no person', async () => {
    const env = { HOME: home, RASKET_URL: scene.url, RASKET_API_KEY: team.key };
    const done = await runInProcess(['account', 'mfa'], { cwd: home, env });
    expect(done).toMatchObject({ code: 77, stderr: expect.stringContaining('sign in as a person') });
  });
});
