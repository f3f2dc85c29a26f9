// Work that a loop carries, broken off at one of its steps and carried on.
import { MINUTE } from '../flow/mail.ts';
import type { Breakable } from '../rig/breakable.ts';
import type { Scene } from '../rig/scene.ts';

interface Loop {
  start(): Promise<void>;
  idle(): Promise<void>;
  stop(graceMs: number): Promise<unknown>;
}

/** A process that carries what is due, until nothing is or its database has failed it. */
export async function live(loop: Loop): Promise<void> {
  await loop.start().catch(() => undefined);
  await loop.idle();
  await loop.stop(0);
}

/** One life that is broken off at its n-th step, and another that goes on; answers whether the first came that far. */
export async function breakOff(
  scene: Scene,
  { failAt, steps }: Breakable,
  n: number,
  createLoop: () => Loop,
): Promise<boolean> {
  failAt(n);
  await live(createLoop());
  const isReached = steps() >= n;
  failAt(undefined);
  // This lasts as long as a lease that could not be released, and as the first pause after an internal error.
  scene.clock.advance(10 * MINUTE);
  await live(createLoop());
  return isReached;
}
