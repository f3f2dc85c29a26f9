import type { FastifyRequest } from 'fastify';
import { expect, it } from 'vitest';
import { createSemaphore } from '../../platform/limits/index.ts';
import { beginAnswer } from './costly-work.ts';

const email = { from: 'a@example.org', to: 'b@example.org', subject: 'Hello', text: 'It works.' };
const buildBatch = (count: number): Buffer => Buffer.from(JSON.stringify(Array.from({ length: count }, () => email)));

it.each([
  ['a batch of a hundred small emails takes one turn of the executor', buildBatch(100), 1],
  ['a batch of ten small emails takes no turn of the executor', buildBatch(10), 0],
  ['one small email takes no turn of the executor', Buffer.from(JSON.stringify(email)), 0],
  [
    'one large email takes one turn of the executor',
    Buffer.from(JSON.stringify({ ...email, text: 'x'.repeat(70_000) })),
    1,
  ],
])('%s', async (_what, body, turns) => {
  let taken = 0;
  const executor = createSemaphore(1, async () => void taken++);
  const request = { body, raw: { socket: { destroyed: false } } } as unknown as FastifyRequest;
  expect(await beginAnswer(executor, { request, teamId: 'team' }, () => 'answered')).toBe('answered');
  expect(taken).toBe(turns);
});
