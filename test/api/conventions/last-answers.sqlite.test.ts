// clients that keep their connections --> a server that is told to stop while it answers them
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { connectRaw } from '../../rig/raw-http.ts';
import { startScene, type Scene } from '../../rig/scene.ts';
import { sendOne } from '../shares/shared.ts';

/** Longer than any test: a stop that waits for it, with a clock that stands still, never ends. */
const GRACE_MS = 3_600_000;
/** More than the socket buffers of both ends hold. */
const FILE_BYTES = 12_000_000;

const isListening = ({ url }: Scene): Promise<boolean> =>
  fetch(url).then(
    () => true,
    () => false,
  );

/** Starts to stop the server; resolves once its port is closed. */
async function stop(scene: Scene): Promise<{ stopped: Promise<void> }> {
  const { app, url } = scene;
  const stopped = app.close(GRACE_MS);
  await expect.poll(() => isListening({ ...scene, url })).toBe(false);
  return { stopped };
}

it('a call that arrived before the stop is answered after it, and a keep-alive connection does not delay the stop', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const team = await scene.team();
  const connection = await connectRaw(scene.url);
  const body = JSON.stringify({ name: 'Everybody' });
  const head = [`POST /segments HTTP/1.1`, 'Host: x', 'User-Agent: stop/1', `Authorization: Bearer ${team.key}`];
  // A first call is answered, so that the server knows the connection before the second.
  connection.write(`GET /segments HTTP/1.1\r\n${head.slice(1).join('\r\n')}\r\n\r\n`);
  expect((await connection.answer()).headers).toMatchObject({ connection: 'keep-alive' });
  const more = ['Content-Type: application/json', `Content-Length: ${body.length}`, 'Expect: 100-continue'];
  connection.write(`${[...head, ...more].join('\r\n')}\r\n\r\n`);
  // The server has the head once it asks for the body.
  await once(connection.socket, 'data');

  const { stopped } = await stop(scene);
  connection.write(body);
  const answer = await connection.answer();
  expect([answer.status, answer.headers['connection']]).toEqual([201, 'close']);
  expect(await connection.closed()).toBe('');
  await stopped;
});

it('a file being downloaded is sent whole during a stop, and its connection is closed after it', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const team = await scene.team();
  const attachments = [{ filename: 'a.bin', content: Buffer.alloc(FILE_BYTES, 'a').toString('base64') }];
  const { id } = await sendOne(scene, team, { attachments });
  const { body } = await scene.api('GET', `/emails/${id}/attachments`, { key: team.key });
  const { pathname, search } = new URL(body.data[0].download_url as string);
  const { hostname, port } = new URL(scene.url);
  const socket = connect(Number(port), hostname);
  socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: x\r\nUser-Agent: stop/1\r\n\r\n`);
  const [first] = (await once(socket, 'data')) as [Buffer];
  socket.pause();
  let bytes = first.length - first.indexOf('\r\n\r\n') - 4;

  const { stopped } = await stop(scene);
  const closed = once(socket, 'close');
  socket.on('data', (chunk: Buffer) => void (bytes += chunk.length)).resume();
  await closed;
  expect(bytes).toBe(FILE_BYTES);
  expect(first.toString('latin1')).toMatch(/^HTTP\/1\.1 200 [^]*\r\nconnection: keep-alive\r\n/i);
  await stopped;
});
