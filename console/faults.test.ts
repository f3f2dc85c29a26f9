import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, expect, it, afterEach, beforeEach, vi } from 'vitest';
import { ApiFault, NoAnswer, type Client } from '../cli/client/index.ts';
import { CliFault } from '../cli/output/index.ts';
import { createConsoleFormatter } from './advice.ts';
import { Faults, watchClient } from './faults.ts';

const folders: string[] = [];
const makeFolder = (): string => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rasket-faults-'));
  folders.push(folder);
  return folder;
};
afterAll(() => folders.forEach((folder) => fs.rmSync(folder, { recursive: true })));

const KEYS = { object: 'list', has_more: false, data: [] };

async function faultsAfter(answer: unknown, env = { XDG_STATE_HOME: makeFolder() }) {
  const faults = new Faults({ version: '1.2.3', onReady: () => undefined, env });
  faults.heard('listApiKeys', { body: answer });
  await faults.ready(new Error('of no kind'));
  return { faults, folder: env.XDG_STATE_HOME };
}

it('a fault that has a message of its own is shown with it, and no response is examined', () => {
  const faults = new Faults({ version: '1.2.3', onReady: () => expect.unreachable(), env: {} });
  expect(faults.inWords(new CliFault('The file is empty.'))).toBe('The file is empty.');
});

it.each([{ object: 'list', has_more: false, data: [{}] }, null, { wrong: true }, [KEYS]])(
  'a crash after the response %j is reported as a fault of the server',
  async (answer) => {
    const { faults, folder } = await faultsAfter(answer);
    expect(faults.inWords(new TypeError('x is undefined'))).toBe(
      'The server sent a response that is not from rasket (x is undefined).',
    );
    expect(fs.readdirSync(folder)).toEqual([]);
  },
);

it('a crash after valid responses is reported as a defect of the console, and its trace is saved once', async () => {
  const { faults, folder } = await faultsAfter(KEYS);
  const file = path.join(folder, 'rasket', 'console.log');
  const defect = new TypeError('x is undefined');
  const said = `This is a bug in the console, not in the server (x is undefined). The stack trace is in ${file}; the console keeps running.`;
  expect([faults.inWords(defect), faults.inWords(defect)]).toEqual([said, said]);
  const kept = fs.readFileSync(file, 'utf8');
  expect(kept).toMatch(/^\S+Z rasket 1\.2\.3, Node\.js v24.*\nTypeError: x is undefined\n {4}at /);
  expect(kept.match(/TypeError/g)).toHaveLength(1);
  expect(fs.statSync(file).mode & 0o077).toBe(0);
});

it('a trace that cannot be saved is reported', async () => {
  const folder = makeFolder();
  fs.writeFileSync(path.join(folder, 'rasket'), '');
  const { faults } = await faultsAfter(KEYS, { XDG_STATE_HOME: folder });
  expect(faults.inWords(new Error('planted'))).toMatch(
    /\(planted\)\. The stack trace could not be saved: .*EEXIST|ENOTDIR/,
  );
});

it('a drawing error before the contract is loaded is shown again after it is loaded', async () => {
  const { promise: isReady, resolve: onReady } = Promise.withResolvers<void>();
  const env = { XDG_STATE_HOME: makeFolder() };
  const faults = new Faults({ version: '1.2.3', onReady, env });
  const draw = (): string =>
    faults.orInWords(
      () => {
        throw new RangeError('planted');
      },
      (fault) => fault,
    );
  expect(draw()).toBe('Something cannot be shown; finding the reason …');
  await isReady;
  expect(faults.waiting()).toContain('a bug in the console');
  expect(draw()).toContain('(planted)');
});

it('a fault of an unreachable server gives no advice that cannot be followed in the console', () => {
  const say = () => createConsoleFormatter({ sections: [], actions: [] });
  const faults = new Faults({ version: '1.2.3', onReady: () => expect.unreachable(), env: {}, say });
  const gone = { url: 'https://mail.example.com', cause: 'Nothing answers there.' };
  const another = { words: 'Or name another server with --url or --profile.', isForLine: true } as const;
  for (const [advice, said] of [
    [{ words: 'Next: start the server there.' }, 'Next: start the server there.'],
    [{ words: 'Next: start it with', command: ['dev'] as const }, 'Next: start it with: rasket dev'],
  ] as const)
    expect(faults.inWords(new NoAnswer({ ...gone, advice: [advice, another] }))).toBe(`Nothing answers there. ${said}`);
});

it('a refused key is reported with the source it was read from, also after the server moved', () => {
  let url = 'https://mail.example.com';
  const key = () => ({ url, keyFrom: 'RASKET_API_KEY' });
  const faults = new Faults({ version: '1.2.3', onReady: () => expect.unreachable(), env: {}, key });
  const refused = new ApiFault({
    operation: 'listApiKeys',
    status: 401,
    requestId: 'one',
    retryAfterSeconds: undefined,
    body: { name: 'invalid_api_key', message: 'API key is invalid' } as never,
  });
  expect(faults.inWords(refused)).toMatch(
    /^The API key in RASKET_API_KEY was not accepted by https:\/\/mail\.example\.com /,
  );
  url = 'https://other.example.com';
  expect(faults.inWords(refused)).toContain('was not accepted by https://other.example.com');
});

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A server that accepts each call and responds on request. */
function hanging() {
  const told: string[] = [];
  const calls: { answer: (body: unknown) => void; fail: (error: unknown) => void }[] = [];
  const call = () => new Promise((answer, fail) => calls.push({ answer, fail }));
  const client = watchClient({ url: 'http://server', call } as unknown as Client, {
    heard: (operation) => told.push(`heard ${operation}`),
    silent: (since) => told.push(`silent since ${since}`),
  });
  return { client, calls, told };
}

it('a list without a response for ten seconds is reported with the time of its request, and so is its late response', async () => {
  const { client, calls, told } = hanging();
  const began = Date.now();
  const listed = client.call('listEmails', {});
  vi.advanceTimersByTime(9_999);
  expect(told).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(told).toEqual([`silent since ${began}`]);
  calls[0]?.answer({ data: [] });
  await listed;
  expect(told).toEqual([`silent since ${began}`, 'heard listEmails']);
});

it('a call that checks other machines may take longer, and an aborted call is not reported', async () => {
  const { client, calls, told } = hanging();
  const verified = client.call('verifyDomain', { path: { domain_id: 'x' } } as never);
  vi.advanceTimersByTime(60_000);
  calls[0]?.answer({});
  await verified;
  const withdrawn = new AbortController();
  const listed = client.call('listEmails', {}, withdrawn.signal);
  withdrawn.abort();
  calls[1]?.fail(withdrawn.signal.reason);
  await expect(listed).rejects.toThrow('abort');
  vi.advanceTimersByTime(60_000);
  expect(told).toEqual(['heard verifyDomain']);
});
