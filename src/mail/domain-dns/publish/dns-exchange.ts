import { createSocket } from 'node:dgram';
import { connect, isIPv6 } from 'node:net';
import type { Clock } from '../../../platform/clock/index.ts';

export interface DnsServer {
  address: string;
  port: number;
}

export interface Patience {
  timeoutMs: number;
  clock: Pick<Clock, 'timer'>;
}

export class NoDnsAnswer extends Error {
  override readonly name = 'NoDnsAnswer';
}

/**
 * One message and the first answer over UDP that `isAnswer` takes; whatever else arrives, from whomever, is passed over. The
 * message is sent `tries` times, `timeoutMs` apart.
 */
export function askOverUdp(
  { address, port }: DnsServer,
  message: Buffer,
  isAnswer: (bytes: Buffer) => boolean,
  { timeoutMs, tries, clock }: Patience & { tries: number },
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
    let sent = 0;
    let cancel = (): void => {};
    let isOver = false;
    const finish = (done: () => void): void => {
      if (isOver) return;
      isOver = true;
      cancel();
      socket.removeAllListeners('message');
      socket.close();
      done();
    };
    const fail = (error: Error): void => finish(() => reject(error));
    const send = (): void => {
      if (sent++ === tries) {
        return fail(new NoDnsAnswer(`it did not answer over UDP within ${tries} × ${timeoutMs} ms`));
      }
      socket.send(message);
      cancel = clock.timer(timeoutMs, send);
    };
    // A port without a listener answers at once where ICMP comes through.
    socket.on('error', (error) => fail(new NoDnsAnswer(`UDP failed: ${error.message}`)));
    socket.on('message', (bytes) => {
      if (isAnswer(bytes)) finish(() => resolve(bytes));
    });
    // Connected, the socket hears this server only. Without a route, the callback is what is told.
    socket.connect(port, address, (error?: Error) => {
      if (error) fail(new NoDnsAnswer(`UDP failed: ${error.message}`));
      else send();
    });
  });
}

/** One message and its answer over a connection of their own (RFC 7766 §8: two bytes of length before each). */
export function askOverTcp(
  { address, port }: DnsServer,
  message: Buffer,
  { timeoutMs, clock }: Patience,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port });
    const chunks: Buffer[] = [];
    let received = 0;
    const cancel = clock.timer(timeoutMs, () =>
      fail(new NoDnsAnswer(`it did not answer over TCP within ${timeoutMs} ms`)),
    );
    const finish = (done: () => void): void => {
      cancel();
      socket.destroy();
      done();
    };
    const fail = (error: Error): void => finish(() => reject(error));
    socket.once('connect', () => socket.write(framed(message)));
    socket.on('error', (error) => fail(new NoDnsAnswer(`TCP failed: ${error.message}`)));
    socket.on('end', () => fail(new NoDnsAnswer('it closed the connection without an answer')));
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      received += chunk.length;
      if (received < 2) return;
      const all = Buffer.concat(chunks);
      const length = all.readUInt16BE(0);
      if (received >= 2 + length) finish(() => resolve(all.subarray(2, 2 + length)));
    });
  });
}

function framed(message: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
}
