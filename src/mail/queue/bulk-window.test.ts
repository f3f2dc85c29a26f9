import { expect, test } from 'vitest';
import { BulkWindow } from './bulk-window.ts';

function setOut(sizeMax = 1000) {
  const state = { delayMs: 0, now: 0 };
  const window = new BulkWindow(sizeMax, { recentMs: () => state.delayMs }, () => state.now);
  const begin = (count: number): void => Array.from({ length: count }).forEach(() => window.begin());
  /** Lets a fifth of a second pass, so that the window is adjusted. */
  const pass = (delayMs: number): number => {
    state.now += 200;
    state.delayMs = delayMs;
    return window.admit(1);
  };
  return { window, state, begin, pass };
}

test('bulk mail may fill the window while the event loop is on time', () => {
  const { window } = setOut();
  expect(window.admit(100)).toBe(100);
  expect(window.size).toBe(1000);
});

test('the window shrinks while the event loop is late, but not below 16, and grows again when it is on time', () => {
  const { window, begin, pass } = setOut();
  begin(400);
  pass(25);
  expect(window.size).toBe(300);
  for (let n = 0; n < 50; n++) pass(25);
  expect(window.size).toBe(16);
  pass(15);
  expect(window.size).toBe(16);
  for (let n = 0; n < 50; n++) pass(1);
  expect(window.size).toBe(1000);
});

test('more is claimed when a part of the window is free, and the end of a delivery says when', () => {
  const { window, state, begin } = setOut(100);
  begin(100);
  state.now = 1000;
  window.admit(50);
  state.now = 1100;
  expect(window.admit(50)).toBe(0);
  const ends = Array.from({ length: 31 }, () => window.end());
  expect(ends.indexOf(true)).toBe(29);
  expect(ends.filter(Boolean)).toHaveLength(1);
  expect(window.admit(50)).toBe(31);
});

test('a few more may begin each second while the window is full of slow deliveries', () => {
  const { window, state, begin } = setOut(100);
  begin(100);
  const admitted = [0, 500, 999, 1000, 1500, 2000].map((now) => {
    state.now = now;
    return window.admit(50);
  });
  expect(admitted).toEqual([16, 0, 0, 16, 0, 16]);
});

test('a window smaller than its least size is never exceeded by it', () => {
  const { window, begin, pass } = setOut(3);
  begin(3);
  pass(100);
  expect(window.size).toBe(3);
});
