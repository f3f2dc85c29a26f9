/** Checks messages, many at a time (`message-worker.ts`). It makes no DNS queries, and asks the main thread instead. */
import { parentPort } from 'node:worker_threads';
import { authenticate, type CheckOrder, type DnsAnswer, type DnsQuestion } from './authenticate.ts';
import { collectAfter, letGo, rawOf, type ContentSource } from './message-content.ts';
import type { Said } from './message-worker.ts';

type Heard = { id: number; order: CheckOrder & { source: ContentSource } } | { question: number; told: DnsAnswer };

const asked = new Map<number, (told: DnsAnswer) => void>();
let questions = 0;

const say = (said: Said): void => parentPort?.postMessage(said);

async function resolve(name: string, type: string): Promise<unknown> {
  const question = ++questions;
  const told = await new Promise<DnsAnswer>((tell) => {
    asked.set(question, tell);
    say({ question, asked: { name, type } satisfies DnsQuestion });
  });
  asked.delete(question);
  if ('code' in told) throw Object.assign(new Error(`DNS: ${told.code}`), { code: told.code });
  return told.records;
}

parentPort?.on('message', (heard: Heard) => {
  if ('question' in heard) return asked.get(heard.question)?.(heard.told);
  const { id, order } = heard;
  const raw = rawOf(order.source);
  const bytes = raw.length;
  void authenticate({ ...order, raw }, resolve)
    .then(
      (checks) => say({ id, answer: { checks } }),
      (error: Error) => say({ id, answer: { failed: error.message } }),
    )
    .finally(() => {
      letGo(raw);
      collectAfter(bytes);
    });
});
