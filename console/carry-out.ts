import { setTimeout as sleep } from 'node:timers/promises';
import { ApiFault, type CallOf, type Client, type OperationId } from '../cli/client/index.ts';
import type { Action } from '../cli/families/index.ts';
import { callOf } from '../cli/input/index.ts';

export type Path = Readonly<Record<string, string>>;

export interface Work {
  action: Action;
  paths: readonly Path[];
  body: Readonly<Record<string, unknown>>;
}

export interface Progress {
  /** How many are done; why nothing moves, where that is so. */
  tell: (done: number, waits?: string) => void;
  signal: AbortSignal;
}

/** Does an action to each of these, one after the other, as fast as the server lets; answers what was answered. */
export async function carryOut(
  client: Client,
  { action, paths, body }: Work,
  { tell, signal }: Progress,
): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (const path of paths) {
    tell(answers.length);
    const call = callOf(action, path, body);
    for (;;) {
      try {
        answers.push(await client.call(...call, signal));
        break;
      } catch (error) {
        // A limit longer than the client waits for by itself, such as the one on replays.
        if (
          !(error instanceof ApiFault) ||
          error.status !== 429 ||
          error.retryAfterSeconds === undefined ||
          paths.length === 1
        )
          throw error;
        for (let left = error.retryAfterSeconds; left > 0; left--) {
          tell(answers.length, `the limit lets go on in ${left} s`);
          await sleep(1000, undefined, { signal });
        }
      }
    }
  }
  const { seen } = action;
  if (!seen) return answers;
  const told: string[] = [];
  for (const path of paths)
    told.push(seen.tell((await client.call(seen.operation, { path } as CallOf<OperationId>, signal)) as never));
  return told;
}
