import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createOwnConnections, type AcceptedConnection, type OwnConnections } from './own-connections.ts';

async function gone(socket: Socket): Promise<void> {
  if (socket.closed) return;
  const closed = once(socket, 'close');
  socket.destroy();
  await closed;
}

/** Opens a connection of ours, and returns it as its other side sees it. */
async function openOwn(
  own: OwnConnections,
  to = { isHome: false },
): Promise<{ socket: Socket; seen: AcceptedConnection }> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const accepting = once(server, 'connection') as Promise<[Socket]>;
  const socket = connect({ host: '127.0.0.1', port: (server.address() as AddressInfo).port });
  own.add(socket, to);
  const [[accepted]] = await Promise.all([accepting, once(socket, 'connect')]);
  onTestFinished(async () => {
    await gone(socket);
    await gone(accepted);
  });
  const { remoteAddress = '', remotePort = 0, localAddress = '', localPort = 0 } = accepted;
  return { socket, seen: { remoteAddress, remotePort, localAddress, localPort } };
}

test('a connection of our own is recognized on the accepting side until it is closed', async () => {
  const own = createOwnConnections();
  const { socket, seen } = await openOwn(own);
  expect(own.has(seen)).toBe(true);
  expect(own.has({ ...seen, remoteAddress: `::ffff:${seen.remoteAddress}` })).toBe(true);
  expect(own.has({ ...seen, remotePort: seen.remotePort - 1 })).toBe(false);
  await gone(socket);
  expect(own.has(seen)).toBe(false);
});

test('a connection of a local program with the same port to another server is not taken for our own', async () => {
  const own = createOwnConnections();
  const { seen } = await openOwn(own);
  expect(own.has({ ...seen, localPort: seen.localPort - 1 })).toBe(false);
});

test('a connection with the same address and port is not taken for ours while our own leads to another machine', async () => {
  const own = createOwnConnections();
  const { seen } = await openOwn(own);
  expect(own.has({ ...seen, localAddress: '127.0.0.2' })).toBe(false);
});

test('behind a translated address, a connection to our own names is recognized by its near end', async () => {
  const own = createOwnConnections();
  const { seen } = await openOwn(own, { isHome: true });
  expect(own.has({ ...seen, localAddress: '192.0.2.7', localPort: 2525 })).toBe(true);
});
