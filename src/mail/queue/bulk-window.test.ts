import { expect, test } from 'vitest';
import { BulkWindow } from './bulk-window.ts';

function setOut(sizeMax = 1000) {
  const state = { delayMs: 0, now: 0 };
  const window = new BulkWindow(sizeMax, { recentMs: () => state.delayMs }, () => state.now);
  const begin = (count: number): (() => boolean)[] => Array.from({ length: count }, () => window.begin());
  /** Lets time pass, a fifth of a second by default, after which the window is adjusted. */
  const pass = (delayMs: number, ms = 200): number => {
    state.now += ms;
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
  pass(1);
  expect(window.size).toBe(19);
  pass(1, 60_000);
  expect(window.size).toBe(1000);
});

test('more is claimed when a part of the window is free, and the end of a delivery says when', () => {
  const { window, begin } = setOut(100);
  const ends = begin(100);
  expect(window.admit(50)).toBe(0);
  const areEnough = ends.slice(0, 31).map((end) => end());
  expect(areEnough.indexOf(true)).toBe(29);
  expect(areEnough.filter(Boolean)).toHaveLength(1);
  expect(window.admit(50)).toBe(31);
});

test('deliveries that have taken a second leave room for others', () => {
  const { window, state, begin } = setOut(100);
  const slow = begin(60);
  state.now = 500;
  begin(40);
  state.now = 999;
  expect(window.admit(50)).toBe(0);
  state.now = 1000;
  expect(window.admit(50)).toBe(50);
  for (const end of slow) end();
  expect(window.admit(100)).toBe(60);
});

test('a window smaller than its least size is never exceeded', () => {
  const { window, begin, pass } = setOut(3);
  begin(3);
  pass(100);
  expect(window.size).toBe(3);
});
