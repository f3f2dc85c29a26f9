import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import { makeCertificate } from '../rig/tls.ts';
import { answerOrders } from './children.ts';

/**
 * Mail servers on all loopback addresses that answer each command after 50 ms, and an https endpoint for webhooks. Both record when
 * mail to each `reader…` was accepted and when its `email.delivered` arrived. `until` answers when so many have done both. If
 * the appliance captures mail, which then comes to no mail server, the event counts as both.
 */
export type SlowReceiversOrder =
  | { say: 'forget'; isCaptured?: boolean }
  | { say: 'until'; count: number }
  | { say: 'count' };
export interface SlowReceivers {
  smtpPort: number;
  url: string;
  /** The certificate in PEM. */
  certificate: string;
  /** Times by recipient, comparable between processes of one machine. */
  deliveredAt: Record<string, number>;
  reportedAt: Record<string, number>;
  /** Number of messages accepted since the start. */
  accepted: number;
}

const ANSWER_MS = 50;
const EHLO = '250-slow.test\r\n250-PIPELINING\r\n250 8BITMIME\r\n';

let [deliveredAt, reportedAt]: [Record<string, number>, Record<string, number>] = [{}, {}];
let accepted = 0;
let isCaptured = false;
let changed = (): void => undefined;
const now = (): number => performance.timeOrigin + performance.now();

function serve(socket: net.Socket): void {
  let buffered = '';
  let isContent = false;
  let recipient = '';
  const later = (answer: string, then?: () => void): void => {
    setTimeout(() => {
      socket.write(answer);
      then?.();
    }, ANSWER_MS);
  };
  later('220 slow.test ESMTP\r\n');
  socket.setNoDelay(true);
  socket.on('error', () => undefined);
  socket.setEncoding('latin1');
  socket.on('data', (chunk: string) => {
    buffered += chunk;
    for (;;) {
      const mark = isContent ? '\r\n.\r\n' : '\r\n';
      const at = buffered.indexOf(mark);
      if (at < 0) return;
      const part = buffered.slice(0, at);
      buffered = buffered.slice(at + mark.length);
      if (isContent) endOfContent();
      else answer(part);
    }
  });

  function answer(command: string): void {
    const verb = command.slice(0, 4).toUpperCase();
    if (verb === 'EHLO') return later(EHLO);
    if (verb === 'RCPT') recipient = /<([^>]*)>/.exec(command)?.[1] ?? '';
    if (verb === 'DATA') {
      isContent = true;
      return later('354 Go on\r\n');
    }
    if (verb === 'QUIT') return later('221 Bye\r\n', () => socket.end());
    later('250 OK\r\n');
  }

  function endOfContent(): void {
    isContent = false;
    const to = recipient;
    later('250 2.0.0 Taken\r\n', () => {
      accepted++;
      if (!to.startsWith('reader')) return;
      deliveredAt[to] = now();
      changed();
    });
  }
}

const smtp = net.createServer(serve);
await new Promise<void>((resolve) => smtp.listen(0, '0.0.0.0', resolve));
const { port: smtpPort } = smtp.address() as AddressInfo;

const { key, cert: certificate } = makeCertificate({ names: ['receiver.test', 'localhost'] });
const server = https.createServer({ key, cert: certificate, keepAliveTimeout: 60_000 }, (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { type, data } = JSON.parse(Buffer.concat(chunks).toString()) as { type: string; data: { to?: string[] } };
    const to = data.to?.[0] ?? '';
    if (type === 'email.delivered' && isCaptured) accepted++;
    if (type === 'email.delivered' && to.startsWith('reader')) {
      reportedAt[to] = now();
      if (isCaptured) deliveredAt[to] = now();
      changed();
    }
    response.writeHead(200, { 'content-length': 2 }).end('ok');
  });
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const url = `https://receiver.test:${(server.address() as AddressInfo).port}`;

answerOrders<SlowReceiversOrder>(async (order): Promise<SlowReceivers> => {
  if (order.say === 'forget') {
    [deliveredAt, reportedAt] = [{}, {}];
    isCaptured = order.isCaptured ?? isCaptured;
  }
  if (order.say === 'until') {
    const isDone = (): boolean => [deliveredAt, reportedAt].every((times) => Object.keys(times).length >= order.count);
    while (!isDone()) await new Promise<void>((resolve) => (changed = resolve));
  }
  return { smtpPort, url, certificate, deliveredAt, reportedAt, accepted };
});
