import http from 'node:http';
import type { Clock } from '../../platform/clock/index.ts';
import type { Authentication } from '../received-emails/index.ts';
import type { LoadedArrival } from './inbound-message.ts';

export type Spam = NonNullable<Authentication['spam']>;

export interface RspamdOptions {
  host: string;
  port: number;
  clock: Clock;
  timeoutMs: number;
}

const ANSWER_BYTES_MAX = 1024 * 1024;

/** The score of a message; rejects where rspamd has none to give. */
export function scoreOf(arrival: LoadedArrival, recipients: readonly string[], options: RspamdOptions): Promise<Spam> {
  const { host, port, clock, timeoutMs } = options;
  return new Promise((resolve, reject) => {
    const request = http.request({
      host,
      port,
      method: 'POST',
      path: '/checkv2',
      headers: headersFor(arrival, recipients),
    });
    const stop = clock.timer(timeoutMs, () =>
      request.destroy(new Error(`rspamd gave no answer in ${timeoutMs / 1000} s`)),
    );
    const fail = (error: Error): void => {
      stop();
      reject(error);
    };
    request.on('error', fail);
    request.on('response', (response) => {
      const pieces: Buffer[] = [];
      let size = 0;
      response.on('error', fail);
      response.on('data', (piece: Buffer) => {
        size += piece.length;
        if (size > ANSWER_BYTES_MAX) request.destroy(new Error('rspamd says too much'));
        else pieces.push(piece);
      });
      response.on('end', () => {
        stop();
        try {
          resolve(readScore(response.statusCode ?? 0, Buffer.concat(pieces).toString('utf8')));
        } catch (error) {
          reject(error as Error);
        }
      });
    });
    request.end(arrival.raw);
  });
}

function readScore(status: number, text: string): Spam {
  if (status !== 200) throw new Error(`rspamd answers ${status}: ${text.slice(0, 200)}`);
  const { score, required_score: required } = JSON.parse(text) as { score?: unknown; required_score?: unknown };
  if (typeof score !== 'number' || typeof required !== 'number') throw new Error('rspamd answers without a score');
  return { score, required_score: required, is_spam: score >= required };
}

/** HTTP headers hold printable ASCII only; rspamd reads everything else in the message. */
function headersFor(
  { client, mailFrom, raw }: LoadedArrival,
  recipients: readonly string[],
): Record<string, string | string[]> {
  const plain = (text: string): string => text.replaceAll(/[^\x21-\x7e]/g, '');
  return {
    'content-length': String(raw.length),
    ip: plain(client.address),
    helo: plain(client.name),
    from: plain(mailFrom),
    rcpt: recipients.map(plain),
  };
}
