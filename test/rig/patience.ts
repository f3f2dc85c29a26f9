// How long a test waits for what has to come. vitest gives up after a second, which on a busy machine says nothing about the
// program; what never comes is found by any limit.
import { vi } from 'vitest';

/** Less than the limit of a test, which would not say what it waited for. */
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
