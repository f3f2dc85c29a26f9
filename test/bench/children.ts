import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** A process of the bench that answers orders one after the other. It ends by itself when the bench does. */
export interface Helper {
  pid: number;
  ask<Answer>(order: Record<string, unknown>): Promise<Answer>;
  stop(): Promise<void>;
}

const alive = new Map<ChildProcess, boolean>();

/** Baselines, load and sink are processes of their own, so that each one's processor time is its own. */
export async function startHelper(file: string): Promise<Helper> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), [], {
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  watch(child);
  let answered: { resolve: (answer: never) => void; reject: (error: Error) => void } | undefined;
  child.on('message', (message: { answer?: unknown; error?: string }) => {
    const waiting = answered;
    answered = undefined;
    if (message.error !== undefined) waiting?.reject(new Error(`${file}: ${message.error}`));
    else waiting?.resolve(message.answer as never);
  });
  child.on('exit', (code, signal) => answered?.reject(new Error(`${file} ended with ${signal ?? code}`)));
  const ask = <Answer>(order: Record<string, unknown>): Promise<Answer> =>
    new Promise<Answer>((resolve, reject) => {
      answered = { resolve, reject };
      child.send(order);
    });
  await ask({ are: 'you there' });
  return { pid: child.pid ?? 0, ask, stop: () => stopChild(child, 'SIGKILL') };
}

/** The other end: call it last in a helper's file. */
export function answerOrders<Order>(work: (order: Order) => unknown): void {
  process.on('message', (order: Order & { are?: string }) => {
    const answering = order.are === undefined ? Promise.resolve().then(() => work(order)) : Promise.resolve(null);
    answering.then(
      (answer) => process.send?.({ answer }),
      (error: unknown) =>
        process.send?.({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
    );
  });
  process.on('disconnect', () => process.exit(0));
}

/** Ended with the bench. One that leads a group of its own (spawned `detached`) takes the whole group along. */
export function watch(child: ChildProcess, { isGroup = false } = {}): void {
  alive.set(child, isGroup);
  child.on('exit', () => alive.delete(child));
}

export async function stopChild(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((done) => child.once('exit', done));
  end(child, signal);
  await ended;
}

/** Kills all processes at the end of the bench, however it comes. */
export function killChildren(): void {
  for (const child of alive.keys()) end(child, 'SIGKILL');
}

function end(child: ChildProcess, signal: NodeJS.Signals): void {
  if (alive.get(child) !== true || child.pid === undefined) return void child.kill(signal);
  try {
    process.kill(-child.pid, signal);
  } catch {
    // The last of the group has ended since.
  }
}
