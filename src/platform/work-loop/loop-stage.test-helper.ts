import { nextTurn } from '../clock.ts';
import { createWorkLoop, type Claim, type Claimed, type WorkLoop, type WorkLoopOptions } from './index.ts';

export const POLL_MS = 1000;
export const NOTHING: Claimed<string> = { items: [], left: 'nothing' };

/** Creates a clock and timers that the test moves; `set` changes only the time, in either direction. */
export function handClock() {
  let now = 1_000_000;
  let timers: { at: number; fire: () => void }[] = [];
  return {
    now: () => now,
    steady: () => now,
    set: (to: number) => void (now = to),
    timer(delayMs: number, fire: () => void) {
      const timer = { at: now + Math.max(0, delayMs), fire };
      timers.push(timer);
      return () => void (timers = timers.filter((other) => other !== timer));
    },
    pending: () => timers.map(({ at }) => at - now).sort((a, b) => a - b),
    async pass(ms: number): Promise<void> {
      const until = now + ms;
      for (;;) {
        const [next] = timers.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at);
        if (!next) break;
        timers = timers.filter((timer) => timer !== next);
        now = Math.max(now, next.at);
        next.fire();
        await settle();
      }
      now = until;
    },
  };
}

/** Lets all pending promises settle. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await nextTurn();
}

/** Creates a loop over the items in `due`, each in progress until the test ends it. */
export function stage(wishes: Partial<WorkLoopOptions<string>> = {}) {
  const clock = handClock();
  const due: string[] = [];
  const claims: Claim<string>[] = [];
  const carried: string[] = [];
  const logged: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<void>>();
  const options: WorkLoopOptions<string> = {
    name: 'test',
    clock,
    log: { error: (...said: unknown[]) => void logged.push(String(said.at(-1))) },
    pollMs: POLL_MS,
    claim: async (request) => {
      claims.push(request);
      const items = due.splice(0, request.limit);
      return { items, left: items.length === request.limit ? 'more' : 'nothing' };
    },
    process(item, signal) {
      carried.push(item);
      const end = Promise.withResolvers<void>();
      ends.set(item, end);
      signal.addEventListener('abort', () => end.resolve());
      return end.promise;
    },
    ...wishes,
  };
  const loop: WorkLoop = createWorkLoop(options);
  const end = async (item: string): Promise<void> => {
    ends.get(item)?.resolve();
    await settle();
  };
  return { loop, clock, due, claims, carried, logged, ends, end };
}

/** Creates a claim that waits until the test resolves it. */
export function heldClaim() {
  const asked: PromiseWithResolvers<Claimed<string>>[] = [];
  const claim = (): Promise<Claimed<string>> => {
    const answer = Promise.withResolvers<Claimed<string>>();
    asked.push(answer);
    return answer.promise;
  };
  return { asked, claim };
}
