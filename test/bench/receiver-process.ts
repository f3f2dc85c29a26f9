import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { makeCertificate } from '../rig/tls.ts';
import { answerOrders } from './children.ts';

export interface ReceiverCount {
  url: string;
  /** The certificate in PEM. */
  certificate: string;
  /** The number of requests answered since the last order to forget. */
  answered: number;
  /** Milliseconds from the last of those that warm up, or the first of all, to the last. */
  ms: number;
  /** The number of requests to /dead, which are never answered. */
  held: number;
  /** Requests whose id had come before. */
  repeated: number;
}

/** A local https receiver that reads a body and answers 200: what webhooks and their baseline are posted to. */
const { key, cert } = makeCertificate({ names: ['receiver.test', 'localhost'] });
let answered = 0;
let warmUp = 0;
let held = 0;
let repeated = 0;
let firstAt = 0;
let lastAt = 0;
const seen = new Set<string>();

const server = https.createServer({ key, cert, keepAliveTimeout: 60_000 }, (request, response) => {
  request.resume();
  request.on('end', () => {
    if (request.url === '/dead') return void held++;
    const id = request.headers['svix-id'];
    if (typeof id === 'string') {
      const known = `${request.url} ${id}`;
      if (seen.has(known)) repeated++;
      seen.add(known);
    }
    lastAt = performance.now();
    if (++answered === Math.max(1, warmUp)) firstAt = lastAt;
    response.writeHead(200, { 'content-type': 'text/plain', 'content-length': 2 }).end('ok');
  });
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const url = `https://receiver.test:${(server.address() as AddressInfo).port}`;

answerOrders<{ say?: 'forget'; warmUp?: number }>(({ say, ...order }) => {
  if (say === 'forget') {
    seen.clear();
    warmUp = order.warmUp ?? 0;
    answered = held = repeated = 0;
  }
  const ms = lastAt - firstAt;
  return { url, certificate: cert, answered, ms, held, repeated } satisfies ReceiverCount;
});
