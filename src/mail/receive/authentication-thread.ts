/** Checks messages, many at a time (`message-worker.ts`). It makes no DNS queries, and asks the main thread instead. */
import { parentPort } from 'node:worker_threads';
import { authenticate, type CheckOrder, type DnsAnswer, type DnsQuestion } from './authenticate.ts';
import { collectAfter, freeMemory, readRaw, type ContentSource } from './message-content.ts';
import type { ThreadMessage } from './message-worker.ts';

type Heard = { id: number; order: CheckOrder & { source: ContentSource } } | { question: number; told: DnsAnswer };

const asked = new Map<number, (told: DnsAnswer) => void>();
let questions = 0;

const post = (said: ThreadMessage): void => parentPort?.postMessage(said);

async function resolve(name: string, type: string): Promise<unknown> {
  const question = ++questions;
  const told = await new Promise<DnsAnswer>((tell) => {
    asked.set(question, tell);
    post({ question, asked: { name, type } satisfies DnsQuestion });
  });
  asked.delete(question);
  if ('code' in told) throw Object.assign(new Error(`DNS: ${told.code}`), { code: told.code });
  return told.records;
}

parentPort?.on('message', (heard: Heard) => {
  if ('question' in heard) return asked.get(heard.question)?.(heard.told);
  const { id, order } = heard;
  const raw = readRaw(order.source);
  const bytes = raw.length;
  void authenticate({ ...order, raw }, resolve)
    .then(
      (checks) => post({ id, answer: { checks } }),
      (error: Error) => post({ id, answer: { failed: error.message } }),
    )
    .finally(() => {
      freeMemory(raw);
      collectAfter(bytes);
    });
});
