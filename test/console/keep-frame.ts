import { checkFrame } from './golden.ts';
import { expect, vi } from 'vitest';
import { normalise } from './normalise.ts';
import type { Screen } from './screen.ts';

const SIZES = [
  [200, 50],
  [120, 40],
  [80, 24],
] as const;

/** Checks what is on the screen at each size once it is drawn whole and stays; a golden screen is compared with its frame. */
export async function keepFrame(
  seat: Screen,
  name: string,
  sees: string,
  sizes: readonly (readonly [columns: number, rows: number])[] = SIZES,
): Promise<void> {
  for (const [columns, rows] of sizes) {
    await seat.resize(columns, rows);
    const frame = await vi.waitFor(
      async () => {
        const before = await seat.frame();
        const now = await seat.frame();
        expect(now).toBe(before);
        expect(now).not.toMatch(/loading/i);
        expect(now).toMatch(/^ rasket /);
        expect(now).toContain(sees);
        expect(now.trimEnd().split('\n')).toHaveLength(rows);
        return now;
      },
      { interval: 50 },
    );
    const named = normalise(frame)
      .replaceAll(/127\.0\.0\.1:\d{5}/g, '127.0.0.1:30000')
      // The folder's length differs from machine to machine: what stands behind it stays in its column.
      .replaceAll(/\/\S*rasket-seat-\w{6}(\/\S+) */g, (found, file: string) => `/seat${file}`.padEnd(found.length));
    await checkFrame(name, { columns, rows }, frame, named);
  }
}
