import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Client } from '../cli/client/index.ts';
import { watchClient } from './faults.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A server that takes each call and answers when it is told to. */
function hanging() {
  const told: string[] = [];
  const calls: { answer: (body: unknown) => void; fail: (error: unknown) => void }[] = [];
  const call = () => new Promise((answer, fail) => calls.push({ answer, fail }));
  const client = watchClient({ url: 'http://server', call } as unknown as Client, {
    heard: (operation) => told.push(`heard ${operation}`),
    silent: (since) => told.push(`silent since ${since}`),
  });
  return { client, calls, told };
}

it('a list that hangs for ten seconds is told with the time of its question, and that it came after all', async () => {
  const { client, calls, told } = hanging();
  const began = Date.now();
  const listed = client.call('listEmails', {});
  vi.advanceTimersByTime(9_999);
  expect(told).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(told).toEqual([`silent since ${began}`]);
  calls[0]?.answer({ data: [] });
  await listed;
  expect(told).toEqual([`silent since ${began}`, 'heard listEmails']);
});

it('what asks other machines may take longer; nothing is told of a question that was withdrawn', async () => {
  const { client, calls, told } = hanging();
  const verified = client.call('verifyDomain', { path: { domain_id: 'x' } } as never);
  vi.advanceTimersByTime(60_000);
  calls[0]?.answer({});
  await verified;
  const withdrawn = new AbortController();
  const listed = client.call('listEmails', {}, withdrawn.signal);
  withdrawn.abort();
  calls[1]?.fail(withdrawn.signal.reason);
  await expect(listed).rejects.toThrow('abort');
  vi.advanceTimersByTime(60_000);
  expect(told).toEqual(['heard verifyDomain']);
});
