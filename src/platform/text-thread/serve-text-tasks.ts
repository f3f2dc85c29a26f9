import type { TextTask } from './text-task.ts';

export interface TextOrder {
  id: number;
  name: string;
  input: unknown;
}

export type TextAnswer = { id: number; output: unknown } | { id: number; fault: Error };

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
        (error: unknown) => answer({ id, fault: error instanceof Error ? error : new Error(String(error)) }),
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
