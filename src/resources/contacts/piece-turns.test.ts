import { expect, it } from 'vitest';
import { nextTurn } from '../../platform/clock/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import { mayBeginPieces, takePiece } from './piece-turns.ts';

const sqlite = (): Executor => ({ dialect: 'sqlite' }) as Executor;

it('of many readers one reads at a time, and each turn of the loop comes between two pieces', async () => {
  const db = sqlite();
  const turns: number[] = [];
  let [turn, isOver] = [0, false];
  const reader = async (): Promise<void> => {
    for (let piece = 0; piece < 5; piece++) await takePiece(db, 'a', async () => turns.push(turn));
  };
  const reading = Promise.all(Array.from({ length: 10 }, reader)).finally(() => (isOver = true));
  for (; !isOver; turn++) await nextTurn();
  await reading;
  expect(turns).toHaveLength(50);
  expect(new Set(turns).size).toBeGreaterThanOrEqual(48);
});

it('a team waits for one piece of another team, not for all of its readers', async () => {
  const db = sqlite();
  const read: string[] = [];
  const reader = async (team: string): Promise<void> => {
    for (let piece = 0; piece < 4; piece++) await takePiece(db, team, async () => read.push(team));
  };
  const greedy = Array.from({ length: 15 }, () => reader('a'));
  await nextTurn();
  await reader('b');
  expect(read.filter((team) => team === 'a').length).toBeLessThanOrEqual(8);
  await Promise.all(greedy);
});

it('what fails gives its turn back, and what is too much is refused', async () => {
  const db = sqlite();
  const failing = takePiece(db, 'a', () => Promise.reject(new Error('no')));
  const waiting = Array.from({ length: 20 }, () => takePiece(db, 'a', async () => 1));
  expect(() => mayBeginPieces(db, 'a')).toThrow('look for contacts just now');
  expect(() => mayBeginPieces(db, 'b')).not.toThrow();
  await expect(failing).rejects.toThrow('no');
  expect((await Promise.all(waiting)).map(({ answer }) => answer)).toEqual(Array(20).fill(1));
  mayBeginPieces(db, 'a');
});
