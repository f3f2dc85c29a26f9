import { stopwatch } from '../../../platform/clock/index.ts';

const LONG_LOOK_MS = 100;
const RESTS_PER_LOOK = 10;

/** Looking past a crowded destination reads what its teams have waiting: a long backlog is not read again and again. */
export function createRest(): { isOn(): boolean; after(tookMs: number): void } {
  let isOn = (): boolean => false;
  return {
    isOn: () => isOn(),
    after(tookMs) {
      if (tookMs <= LONG_LOOK_MS) return;
      const elapsedMs = stopwatch();
      isOn = () => elapsedMs() < tookMs * RESTS_PER_LOOK;
    },
  };
}
