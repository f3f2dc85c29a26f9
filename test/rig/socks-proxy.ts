import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface SocksProxy extends AsyncDisposable {
  port: number;
  /** The addresses and ports that were asked for, as `address:port`. */
  asked: string[];
  /** Refuses each request with this reply of RFC 1928. */
  refuseWith: number | undefined;
  close(): Promise<void>;
}

/** Starts a SOCKS5 proxy on loopback, whose connections leave from an address of loopback. It knows IPv4 addresses. */
export async function startSocksProxy({
  localAddress,
  login,
}: {
  localAddress: string;
  login?: { user: string; password: string };
}): Promise<SocksProxy> {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    keep(client);
    void serve(client);
  });

  async function serve(client: Socket): Promise<void> {
    const [, count = 0] = await read(client, 2);
    const methods = await read(client, count);
    const method = login ? 2 : 0;
    if (!methods.includes(method)) return void client.end(Buffer.from([5, 255]));
    client.write(Buffer.from([5, method]));
    if (login) {
      const [, userLength = 0] = await read(client, 2);
      const user = (await read(client, userLength)).toString();
      const [passwordLength = 0] = await read(client, 1);
      const password = (await read(client, passwordLength)).toString();
      const isGood = user === login.user && password === login.password;
      client.write(Buffer.from([1, isGood ? 0 : 1]));
      if (!isGood) return void client.end();
    }
    const request = await read(client, 10);
    const address = request.subarray(4, 8).join('.');
    const port = request.readUInt16BE(8);
    proxy.asked.push(`${address}:${port}`);
    const answer = (reply: number): Buffer =>
      Buffer.from([5, reply, 0, 1, ...localAddress.split('.').map(Number), 0, 0]);
    if (proxy.refuseWith !== undefined) return void client.end(answer(proxy.refuseWith));
    const upstream = connect({ host: address, port, localAddress });
    keep(upstream);
    upstream.once('error', () => client.end(answer(5)));
    upstream.once('connect', () => {
      client.write(answer(0));
      client.pipe(upstream).pipe(client);
    });
  }

  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const proxy: SocksProxy = {
    port: (server.address() as AddressInfo).port,
    asked: [],
    refuseWith: undefined,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
    [Symbol.asyncDispose]: () => proxy.close(),
  };
  return proxy;
}

/** Reads so many bytes; never resolves if the client leaves. */
function read(socket: Socket, size: number): Promise<Buffer> {
  return new Promise((resolve) => {
    const tryNow = (): void => {
      const chunk = size === 0 ? Buffer.alloc(0) : (socket.read(size) as Buffer | null);
      if (chunk === null) return void socket.once('readable', tryNow);
      resolve(chunk);
    };
    tryNow();
  });
}
