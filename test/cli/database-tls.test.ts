// rasket --to postgres://…?sslmode=… --> a server that speaks TLS with a certificate that is not trusted, or none at all
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { makeBadCertificate, makeCertificate, type Certificate } from '../rig/tls.ts';
import { Desk, expectOneLine } from './desk.ts';

let desk: Desk;
beforeEach(() => void (desk = new Desk()));
afterEach(() => desk.clear());

/** Answers the request for TLS as PostgreSQL does, and says no word behind the handshake. */
async function serverWith(certificate: Certificate | undefined): Promise<string> {
  const server = createServer((socket) => void answer(socket, certificate));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `postgres://rasket:secret@127.0.0.1:${(server.address() as AddressInfo).port}/rasket`;
}

async function answer(socket: Socket, certificate: Certificate | undefined): Promise<void> {
  socket.on('error', () => socket.destroy());
  await once(socket, 'data');
  socket.write(certificate ? 'S' : 'N');
  if (!certificate) return void socket.end();
  new TLSSocket(socket, { isServer: true, ...certificate }).on('error', () => socket.destroy());
}

it.each([
  { why: 'no TLS', certificate: undefined, says: /PostgreSQL offers no TLS; .* remove sslmode from the URL/ },
  {
    why: 'a certificate of its own',
    certificate: makeCertificate(),
    says: /the certificate of PostgreSQL is not signed by an authority that Node\.js trusts \(DEPTH_ZERO_SELF_SIGNED_CERT\); .*sslrootcert=/,
  },
])('a PostgreSQL server with $why is reported in one line', async ({ certificate, says }) => {
  expect(await desk.rasket(['init', '--data', 'data'])).toMatchObject({ code: 0 });
  const to = `${await serverWith(certificate)}?sslmode=require`;
  expectOneLine(await desk.rasket(['migrate-to-postgres', '--data', 'data', '--to', to]), says, 1);
});

it.each([
  { why: 'for another name', certificate: makeCertificate({ names: ['db.example.com'] }), says: /is for another name/ },
  { why: 'that has expired', certificate: makeBadCertificate(), says: /has expired; renew it/ },
])('a PostgreSQL certificate $why is reported in one line', async ({ certificate, says }) => {
  expect(await desk.rasket(['init', '--data', 'data'])).toMatchObject({ code: 0 });
  desk.write('ca.pem', certificate.cert);
  const to = `${await serverWith(certificate)}?sslmode=verify-full&sslrootcert=${desk.at('ca.pem')}`;
  expectOneLine(await desk.rasket(['migrate-to-postgres', '--data', 'data', '--to', to]), says, 1);
});
