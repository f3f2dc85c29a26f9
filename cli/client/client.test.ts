import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { expect, it, test } from 'vitest';
import { createClient, type Client, readFrames, type StreamFrame, exchange } from './client.ts';
import { ApiFault, noAnswer } from './faults.ts';

/** Hands `use` a client whose server refuses everything; returns the requests that the server received. */
async function refusing(use: (client: Client) => Promise<unknown>): Promise<{ asked: string[]; fault: unknown }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    request.resume().on('end', () => {
      response.writeHead(404, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ statusCode: 404, name: 'not_found', message: 'Attachment not found.' }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    const fault = await use(createClient({ url, version: '9.9.9' })).catch((error: unknown) => error);
    return { asked, fault };
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const PATH = { email_id: 'e', attachment_id: 'a' };
const LINK = 'https://mail.example.com/emails/e/attachments/a/download?expires=1&token=t';

it.each<[string, (client: Client) => Promise<unknown>, asked: string, path: object]>([
  [
    'downloadAttachment',
    (client) => client.download({ operation: 'downloadAttachment', path: PATH }, LINK),
    'GET /emails/e/attachments/a/download?expires=1&token=t',
    PATH,
  ],
  [
    'exportContacts',
    (client) => client.fetchFile('exportContacts', { format: 'csv' }),
    'GET /contacts/export?format=csv',
    {},
  ],
  [
    'createContactImport',
    (client) => client.upload('createContactImport', new FormData()),
    'POST /contacts/imports',
    {},
  ],
  [
    'listenWebhooks',
    (client) => {
      const { signal } = new AbortController();
      return client.stream('listenWebhooks', { query: { events: 'email.sent' }, signal, silenceMs: 20_000 });
    },
    'GET /webhooks/listen?events=email.sent',
    {},
  ],
  [
    'getEmail',
    (client) => client.call('getEmail', { path: { email_id: 'a/b' } }),
    'GET /emails/a%2Fb',
    { email_id: 'a/b' },
  ],
])('an error response to %s carries the operation and its path parameters', async (operation, use, asked, path) => {
  const refused = await refusing(use);
  expect(refused.asked).toEqual([asked]);
  expect(refused.fault).toBeInstanceOf(ApiFault);
  expect(refused.fault).toMatchObject({ operation, path });
});

it('a call that lacks a path parameter sends no request', async () => {
  const { asked, fault } = await refusing((client) => client.call('getEmail', { path: {} as { email_id: string } }));
  expect(asked).toEqual([]);
  expect(String(fault)).toBe('Error: getEmail was called without email_id, which its path needs');
});

async function readAllFrames(...chunks: (string | Uint8Array)[]): Promise<StreamFrame[]> {
  async function* bytes(): AsyncGenerator<Uint8Array> {
    for (const chunk of chunks) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
  }
  const frames: StreamFrame[] = [];
  for await (const frame of readFrames(bytes(), () => undefined)) frames.push(frame);
  return frames;
}

test('a server-sent event has its type, its data and the latest id', async () => {
  expect(await readAllFrames('id: 1\nevent: a\ndata: x\n\ndata: y\n\nid\ndata:z\n\n')).toEqual([
    { event: 'a', data: 'x', lastId: '1' },
    { event: 'message', data: 'y', lastId: '1' },
    { event: 'message', data: 'z', lastId: '' },
  ]);
});

// HTML §9.2.6: lines end with LF, CR or both, and several data lines are one text.
test('the event parser accepts every line ending and joins several data lines', async () => {
  expect(await readAllFrames('data: a\r\ndata: b\r\n\r\ndata: c\r\rdata: d\n\n')).toMatchObject([
    { data: 'a\nb' },
    { data: 'c' },
    { data: 'd' },
  ]);
});

test('the event parser skips comments, unknown fields and events without data', async () => {
  expect(await readAllFrames(':\n\n: beat\n\nretry: 2000\n\nevent: nothing\n\nfoo: bar\ndata: x\n\n')).toEqual([
    { event: 'message', data: 'x', lastId: '' },
  ]);
});

test('an event stream that arrives in pieces is parsed as one, and an unfinished event is dropped', async () => {
  const text = Buffer.from('id: 7\r\nevent: e\r\ndata: grüße 🎉\r\n\r\ndata: lost');
  const whole = await readAllFrames(text);
  expect(whole).toEqual([{ event: 'e', data: 'grüße 🎉', lastId: '7' }]);
  for (let cut = 1; cut < text.length; cut++) {
    expect(await readAllFrames(text.subarray(0, cut), text.subarray(cut)), `cut at ${cut}`).toEqual(whole);
  }
});

test('every byte of an event stream counts as a sign of life', async () => {
  let signs = 0;
  async function* bytes(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(':\n\n');
    yield Buffer.from(':\n\n');
  }
  for await (const _ of readFrames(bytes(), () => signs++)) throw new Error('no frame was sent');
  expect(signs).toBe(2);
});

/** Returns the outcome of a request whose response is this text. */
async function heard(answer: string): Promise<string> {
  const server = createTcpServer((socket) =>
    socket.on('error', () => undefined).once('data', () => socket.end(answer)),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    const asking = { url: `${url}/emails`, method: 'POST', headers: {}, body: '{}' };
    const { response, text } = await exchange(asking, AbortSignal.timeout(20_000));
    return `${response.status} ${text}`;
  } catch (error) {
    const { message, isInDoubt } = noAnswer({ url, method: 'POST', timeoutMs: 1000 }, error);
    return `${message.replace(url, 'URL')}${isInDoubt ? ' In doubt.' : ''}`;
  } finally {
    server.close();
  }
}

it.each([
  ['HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}', '200 {}'],
  ['HTTP/1.1 204 No Content\r\n\r\n', '204 '],
  [
    'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
    'The connection to URL was lost before the response arrived (ECONNRESET). In doubt.',
  ],
  [
    'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}',
    'The connection to URL was lost before the response arrived (ECONNRESET). In doubt.',
  ],
  [
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nno\r\n',
    'The program at URL does not speak HTTP (HPE_INVALID_CHUNK_SIZE). In doubt.',
  ],
  ['220 mail.example.com ESMTP\r\n', /^The program at URL does not speak HTTP/],
])('the client handles the response %j', async (answer, says) => {
  expect(await heard(answer)).toEqual(typeof says === 'string' ? says : expect.stringMatching(says));
});

const CHANGE = { url: 'http://x', method: 'POST', timeoutMs: 1 };

// `listen` ends its own stream when it falls silent, and connects again.
it('a request that the client itself aborts is not reported as a defect', () => {
  expect(noAnswer(CHANGE, AbortSignal.abort().reason)).toMatchObject({ isInDoubt: true });
});

it('the outcome of a request is in doubt when an established connection breaks, and not when none was established', () => {
  const gone = (syscall: string) => noAnswer(CHANGE, Object.assign(new Error('x'), { code: 'ETIMEDOUT', syscall }));
  expect([gone('connect').isInDoubt, gone('read').isInDoubt]).toEqual([false, true]);
  expect(noAnswer({ ...CHANGE, method: 'GET' }, new Error('x')).isInDoubt).toBe(false);
});
