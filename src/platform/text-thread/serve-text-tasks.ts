import { Refusal, type RefusalText } from '../refusal/index.ts';
import type { TextTask } from './text-task.ts';

export interface TextOrder {
  id: number;
  name: string;
  input: unknown;
}

/**
 * The result of a task. A refusal is sent as its fields, because a copy between threads keeps only the message of a
 * class of ours.
 */
export type TextAnswer =
  | { id: number; output: unknown }
  | { id: number; fault: Error }
  | { id: number; refused: { name: Refusal['errorName']; text: RefusalText } };

/** Loaders of tasks, by group. A group loads on first use, so that a thread loads only what it needs. */
export type TextTaskLoaders = Record<string, () => Promise<readonly TextTask<never, unknown>[]>>;

/** Processes the jobs that the main thread sends, in order, as long as the thread lives. */
export function serveTextTasks(loaders: TextTaskLoaders): void {
  // Only the thread loads this, not every importer of this module.
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
