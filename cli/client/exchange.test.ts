import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { exchange } from './client.ts';
import { noAnswer } from './faults.ts';

/** What becomes of a request whose answer is this text. */
async function heard(answer: string): Promise<string> {
  const server = createServer((socket) => socket.on('error', () => undefined).once('data', () => socket.end(answer)));
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
    'The connection to URL broke before the answer came (ECONNRESET). In doubt.',
  ],
  [
    'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}',
    'The connection to URL broke before the answer came (ECONNRESET). In doubt.',
  ],
  [
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nno\r\n',
    'What listens at URL speaks another protocol than HTTP (HPE_INVALID_CHUNK_SIZE). In doubt.',
  ],
  ['220 mail.example.com ESMTP\r\n', /^What listens at URL speaks another protocol than HTTP/],
])('an answer of %j', async (answer, says) => {
  expect(await heard(answer)).toEqual(typeof says === 'string' ? says : expect.stringMatching(says));
});

const CHANGE = { url: 'http://x', method: 'POST', timeoutMs: 1 };

// Of a stream that has fallen silent: `listen` connects again.
it('an end of our own is no defect', () => {
  expect(noAnswer(CHANGE, AbortSignal.abort().reason)).toMatchObject({ isInDoubt: true });
});

it('a connection that stood and is gone is in doubt, one that never stood is not', () => {
  const gone = (syscall: string) => noAnswer(CHANGE, Object.assign(new Error('x'), { code: 'ETIMEDOUT', syscall }));
  expect([gone('connect').isInDoubt, gone('read').isInDoubt]).toEqual([false, true]);
  expect(noAnswer({ ...CHANGE, method: 'GET' }, new Error('x')).isInDoubt).toBe(false);
});
