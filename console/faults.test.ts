import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, expect, it, afterEach, beforeEach, vi } from 'vitest';
import { ApiFault, NoAnswer, type Client } from '../cli/client/index.ts';
import { CliFault } from '../cli/output/index.ts';
import { sayHere } from './advice.ts';
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

it('what has words of its own is told in them, and nothing is looked into', () => {
  const faults = new Faults({ version: '1.2.3', onReady: () => expect.unreachable(), env: {} });
  expect(faults.inWords(new CliFault('The file is empty.'))).toBe('The file is empty.');
});

it.each([{ object: 'list', has_more: false, data: [{}] }, null, { wrong: true }, [KEYS]])(
  'where %j was answered, the server is at fault',
  async (answer) => {
    const { faults, folder } = await faultsAfter(answer);
    expect(faults.inWords(new TypeError('x is undefined'))).toBe(
      'The server sent a response that is not from rasket (x is undefined).',
    );
    expect(fs.readdirSync(folder)).toEqual([]);
  },
);

it('where all answers are as the contract says, the console is, and keeps the trace once', async () => {
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

it('a trace that cannot be kept is told as such', async () => {
  const folder = makeFolder();
  fs.writeFileSync(path.join(folder, 'rasket'), '');
  const { faults } = await faultsAfter(KEYS, { XDG_STATE_HOME: folder });
  expect(faults.inWords(new Error('planted'))).toMatch(
    /\(planted\)\. The stack trace could not be saved: .*EEXIST|ENOTDIR/,
  );
});

it('a drawing that fails before the contract is there is told again once it is', async () => {
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

it('a server that is gone is not to be replaced by what cannot be typed here', () => {
  const say = () => sayHere({ sections: [], actions: [] });
  const faults = new Faults({ version: '1.2.3', onReady: () => expect.unreachable(), env: {}, say });
  const gone = { url: 'https://mail.example.com', cause: 'Nothing answers there.' };
  const another = { words: 'Or name another server with --url or --profile.', isForLine: true } as const;
  for (const [advice, said] of [
    [{ words: 'Next: start the server there.' }, 'Next: start the server there.'],
    [{ words: 'Next: start it with', command: ['dev'] as const }, 'Next: start it with: rasket dev'],
  ] as const)
    expect(faults.inWords(new NoAnswer({ ...gone, advice: [advice, another] }))).toBe(`Nothing answers there. ${said}`);
});

it('a refused key is named by where it stands, also where the server moved', () => {
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

it('a list that hangs for ten seconds is told with the time of its question, and that it came after all', async () => {
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

it('a call that asks other machines may take longer, and no fault is shown for a withdrawn call', async () => {
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
