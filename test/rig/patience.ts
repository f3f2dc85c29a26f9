// How long a test waits for an expected event. vitest gives up after a second, which on a busy machine says nothing
// about the program; an event that never comes is found with any limit.
import { vi } from 'vitest';

/** Less than the limit of a test, which would not report what it waited for. */
export const PATIENCE_MS = 90_000;

interface Waiting {
  interval?: number;
  timeout?: number;
  message?: string;
}

const patient = (given: number | Waiting = {}): Waiting => {
  const options = typeof given === 'number' ? { timeout: given } : given;
  return { ...options, timeout: Math.max(PATIENCE_MS, options.timeout ?? 0) };
};

const { waitFor, waitUntil } = vi;
vi.waitFor = (check, given) => waitFor(check, patient(given));
vi.waitUntil = (check, given) => waitUntil(check, patient(given));
