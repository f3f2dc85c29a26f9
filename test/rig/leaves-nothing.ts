// Checks that each file leaves its process as it found it: no server, socket, timer, watcher or child process. Anything
// left would serve, fire or fail in the middle of another file.
import { setImmediate } from 'node:timers/promises';
import { afterAll, expect, vi } from 'vitest';
import './direct-imports.ts';
import './patience.ts';
import './seed.ts';

/** After a file was read as a stream, Node.js keeps one of these for reuse. */
const KEPT = new Map([['FileHandleReadWrap', 1]]);

/** Closing takes a moment: sockets say goodbye, children are reaped. */
const CLOSING_MS_MAX = 20_000;

// This module runs before each file, so that what a file starts while it is imported counts too.
const before = alive();
// Registered before any hook of the file, so it runs after all of them.
afterAll(async () => {
  const until = performance.now() + CLOSING_MS_MAX;
  // A timer to wait with would add one more.
  while (left().length > 0 && performance.now() < until) await setImmediate();
  expect(left(), 'is left behind by this file').toEqual([]);
  // Frozen clocks would freeze the address by which this module is loaded anew.
  expect(vi.isFakeTimers(), 'clocks are left frozen by this file').toBe(false);
}, 2 * CLOSING_MS_MAX);

function alive(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

function left(): string[] {
  const more = [...alive()].map(([kind, count]) => ({
    kind,
    count: count - (before.get(kind) ?? KEPT.get(kind) ?? 0),
  }));
  return more.filter(({ count }) => count > 0).map(({ kind, count }) => `${count} ${kind}`);
}
