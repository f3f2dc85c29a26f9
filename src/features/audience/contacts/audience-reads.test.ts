import { expect, it } from 'vitest';
import { nextTurn } from '../../../platform/clock.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { mustBeBelowReaderLimit, readAudienceBatch } from './audience-reads.ts';

const sqlite = (): Executor => ({ dialect: 'sqlite' }) as Executor;

it('only one audience reader runs at a time, and the event loop turns between two batches', async () => {
  const db = sqlite();
  const turns: number[] = [];
  let turn = 0;
  let isOver = false;
  const reader = async (): Promise<void> => {
    for (let batch = 0; batch < 5; batch++) await readAudienceBatch(db, 'a', async () => turns.push(turn));
  };
  const reading = Promise.all(Array.from({ length: 10 }, reader)).finally(() => (isOver = true));
  for (; !isOver; turn++) await nextTurn();
  await reading;
  expect(turns).toHaveLength(50);
  expect(new Set(turns).size).toBeGreaterThanOrEqual(48);
});

it('a team waits for one batch of another team, not for all of its readers', async () => {
  const db = sqlite();
  const read: string[] = [];
  const reader = async (team: string): Promise<void> => {
    for (let batch = 0; batch < 4; batch++) await readAudienceBatch(db, team, async () => read.push(team));
  };
  const greedy = Array.from({ length: 15 }, () => reader('a'));
  await nextTurn();
  await reader('b');
  expect(read.filter((team) => team === 'a').length).toBeLessThanOrEqual(8);
  await Promise.all(greedy);
});

it('a batch that fails lets the next one run, and readers beyond the limit are refused', async () => {
  const db = sqlite();
  const failing = readAudienceBatch(db, 'a', () => Promise.reject(new Error('no')));
  const waiting = Array.from({ length: 20 }, () => readAudienceBatch(db, 'a', async () => 1));
  expect(() => mustBeBelowReaderLimit(db, 'a')).toThrow('are searching contacts');
  expect(() => mustBeBelowReaderLimit(db, 'b')).not.toThrow();
  await expect(failing).rejects.toThrow('no');
  expect((await Promise.all(waiting)).map(({ answer }) => answer)).toEqual(Array(20).fill(1));
  mustBeBelowReaderLimit(db, 'a');
});
