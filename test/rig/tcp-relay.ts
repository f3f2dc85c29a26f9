import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/**
 * How the network between two machines behaves. `cut`: connections are reset, and so is every new one. `silent`:
 * nothing passes and nobody is notified, as with a pulled plug. `slow`: each piece comes late.
 */
export type Passage = 'open' | 'cut' | 'silent' | 'slow';

export interface TcpRelay {
  port: number;
  set(passage: Passage): void;
  close(): Promise<void>;
}

const LATE_MS = 50;

interface Pair {
  near: Socket;
  far: Socket | undefined;
}

/**
 * Relays between a program and a server on loopback. When a silence ends, what was sent meanwhile arrives, as from a
 * network that sends again; but a server whose client gave up in the silence never learns that, and keeps what that
 * client held.
 */
export async function startTcpRelay(target: { host: string; port: number }): Promise<TcpRelay> {
  const pairs = new Set<Pair>();
  let passage: Passage = 'open';

  const pass = (to: () => Socket | undefined, bytes: Buffer): void => {
    if (passage === 'slow') setTimeout(() => to()?.write(bytes), LATE_MS);
    else to()?.write(bytes);
  };
  const join = (pair: Pair): void => {
    const { near } = pair;
    const far = connect({ ...target, noDelay: true });
    pair.far = far;
    far.on('error', () => far.destroy());
    far.on('data', (bytes: Buffer) => pass(() => near, bytes));
    far.on('close', () => {
      near.destroy();
      pairs.delete(pair);
    });
    near.on('data', (bytes: Buffer) => pass(() => far, bytes));
    near.resume();
  };
  const leave = (pair: Pair): void => {
    // During a silence the server is not notified.
    if (passage !== 'silent') pair.far?.end();
    if (!pair.far) pairs.delete(pair);
  };
  const server = createServer({ noDelay: true, pauseOnConnect: true }, (near) => {
    if (passage === 'cut') return void near.resetAndDestroy();
    const pair: Pair = { near, far: undefined };
    pairs.add(pair);
    near.on('error', () => near.destroy());
    near.on('close', () => leave(pair));
    if (passage !== 'silent') join(pair);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));

  const reset = ({ near, far }: Pair): void => {
    near.resetAndDestroy();
    far?.destroy();
  };
  const wakeUp = (pair: Pair): void => {
    if (pair.near.destroyed) return;
    if (!pair.far) return join(pair);
    pair.near.resume();
    pair.far.resume();
  };
  return {
    port: (server.address() as AddressInfo).port,
    set(next) {
      const before = passage;
      passage = next;
      if (next === 'cut') for (const pair of pairs) reset(pair);
      if (next === 'silent') for (const { near, far } of pairs) for (const socket of [near, far]) socket?.pause();
      else if (before === 'silent') for (const pair of pairs) wakeUp(pair);
    },
    async close() {
      for (const pair of pairs) reset(pair);
      await new Promise<void>((done) => server.close(() => done()));
    },
  };
}
