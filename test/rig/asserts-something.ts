// Fails a file whose tests assert nothing, because it would pass whatever the program does.
import { afterAll, afterEach, expect } from 'vitest';

let tests = 0;
let assertions = 0;
afterEach(({ task }) => {
  const state = task.result?.state;
  if (state !== 'fail' && state !== 'skip' && task.mode !== 'skip') tests++;
  assertions += expect.getState().assertionCalls;
});
afterAll(() => {
  if (tests > 0) expect(assertions, 'no test of this file asserts anything').toBeGreaterThan(0);
});
