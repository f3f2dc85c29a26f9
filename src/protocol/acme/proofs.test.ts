import { Duplex } from 'node:stream';
import tls from 'node:tls';
import { expect, test } from 'vitest';
import { readClientHello } from './index.ts';

/** Captures the ClientHello that Node's own TLS client sends. */
function captureHello(options: tls.ConnectionOptions): Promise<Buffer> {
  return new Promise((resolve) => {
    const wire = new Duplex({
      read: () => undefined,
      write(bytes: Buffer, _encoding, done) {
        resolve(bytes);
        done();
      },
    });
    tls.connect({ socket: wire, ...options }).on('error', () => undefined);
  });
}

test('the server name and the protocols of a ClientHello are read, however it is cut', async () => {
  const bytes = await captureHello({ servername: 'Mail.example.com', ALPNProtocols: ['acme-tls/1', 'h2'] });
  const read = { serverName: 'mail.example.com', protocols: ['acme-tls/1', 'h2'] };
  expect(readClientHello(bytes)).toEqual(read);
  for (let length = 0; length < bytes.length; length++)
    expect(readClientHello(bytes.subarray(0, length))).toBeUndefined();
});

test('a ClientHello without a name and protocols is read too, and other bytes are recognized at once', async () => {
  expect(readClientHello(await captureHello({ host: '127.0.0.1' }))).toEqual({ serverName: undefined, protocols: [] });
  expect(readClientHello(Buffer.from('GET / HTTP/1.1'))).toBeNull();
});

test('a ClientHello with lengths beyond its end is refused without an exception', async () => {
  const bytes = await captureHello({ servername: 'mail.example.com', ALPNProtocols: ['h2'] });
  for (let at = 5; at < bytes.length; at++) {
    const damaged = Buffer.from(bytes);
    damaged[at] = 0xff;
    expect(() => readClientHello(damaged)).not.toThrow();
  }
});
