import type { Clock } from '../../platform/clock/index.ts';
import type { World } from '../../platform/world/index.ts';

export interface ContentLimits {
  clock: Clock;
  /** Content must come at `bytesPerSecond`, and may fall behind by this much. */
  timeoutMs: number;
  bytesPerSecond: number;
  bytesMax: number;
}

export const contentLimitsOf = ({ clock, config: { smtp } }: World): ContentLimits => ({
  clock,
  timeoutMs: smtp.content_timeout_seconds * 1000,
  bytesPerSecond: smtp.content_bytes_per_second,
  bytesMax: smtp.message_bytes,
});

/**
 * Calls `tooSlow` once when fewer bytes have come than should have by then. Credit is at most `timeoutMs`: content that
 * came fast at first does not pay for hours of silence.
 */
export function watchRate(
  { clock, timeoutMs, bytesPerSecond }: Omit<ContentLimits, 'bytesMax'>,
  tooSlow: () => void,
): { came(bytes: number): void; stop(): void } {
  let deadline = clock.now() + timeoutMs;
  let cancel = (): void => undefined;
  const look = (): void => {
    const left = deadline - clock.now();
    if (left <= 0) tooSlow();
    else cancel = clock.timer(left, look);
  };
  look();
  return {
    came: (bytes) => void (deadline = Math.min(clock.now() + timeoutMs, deadline + (bytes / bytesPerSecond) * 1000)),
    stop: () => cancel(),
  };
}
