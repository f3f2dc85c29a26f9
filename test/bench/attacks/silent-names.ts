import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import type { Attack } from '../accept-under-attack.ts';
import { postBatches } from './attack.ts';

const HOST = '127.0.3.1';
const MX = 'mx.silent.test';

/** Two batch calls to two hundred names that share one mail server, which takes connections and never says a word. */
export const silentNames: Attack = {
  name: '200 names before one silent mail server',
  async start(field) {
    const { bench, smtpPort } = field;
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
    });
    await new Promise<void>((done) => server.listen(smtpPort, HOST, done));
    if ((server.address() as AddressInfo).address !== HOST) throw new Error('the silent mail server is elsewhere');
    bench.dns.set(MX, 'A', [HOST]);
    const names = Array.from({ length: 200 }, (_, n) => `silent${n}.test`);
    for (const name of names) bench.dns.set(name, 'MX', [`10 ${MX}`]);
    await postBatches(
      field,
      names.map((name) => `x@${name}`),
    );
    return async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((done) => server.close(() => done()));
    };
  },
};
