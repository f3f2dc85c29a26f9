import { Refusal, type RefusalText } from '../refusal/index.ts';
import type { TextTask } from './text-task.ts';

export interface TextOrder {
  id: number;
  name: string;
  input: unknown;
}

/** A refusal is a class of ours, of which a copy between threads would keep the message alone. */
export type TextAnswer =
  | { id: number; output: unknown }
  | { id: number; fault: Error }
  | { id: number; refused: { name: Refusal['errorName']; text: RefusalText } };

/** Loads the tasks of a group when the first of them is asked for: a thread is as light as what it works on. */
export type TextTaskLoaders = Record<string, () => Promise<readonly TextTask<never, unknown>[]>>;

/** Works on the orders that come from the main thread, in their order, for as long as the thread lives. */
export function serveTextTasks(loaders: TextTaskLoaders): void {
  // Loaded by the thread alone, not by everyone who imports this module.
  const { parentPort } = process.getBuiltinModule('node:worker_threads');
  const answer = (said: TextAnswer): void => parentPort?.postMessage(said);
  parentPort?.on('message', ({ id, name, input }: TextOrder) => {
    void findTask(loaders, name)
      .then((task) => task.work(input as never))
      .then(
        (output) => answer({ id, output }),
        (error: unknown) => answer(describeFault(id, error)),
      );
  });
}

async function findTask(loaders: TextTaskLoaders, name: string): Promise<TextTask<never, unknown>> {
  const group = name.slice(0, name.indexOf('.'));
  const tasks = (await loaders[group]?.()) ?? [];
  const task = tasks.find((one) => one.name === name);
  if (!task) throw new Error(`the thread for texts has no task ${name}`);
  return task;
}

function describeFault(id: number, error: unknown): TextAnswer {
  if (!(error instanceof Refusal)) return { id, fault: error instanceof Error ? error : new Error(String(error)) };
  const { errorName, message, status, errors, details } = error;
  const text = { say: message, status, ...(errors && { errors }), ...(details && { details }) };
  return { id, refused: { name: errorName, text } };
}
