import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** A process of the bench that answers orders one after the other. It ends by itself when the bench does. */
export interface Helper {
  pid: number;
  ask<Answer>(order: Record<string, unknown>): Promise<Answer>;
  stop(): Promise<void>;
}

const alive = new Set<ChildProcess>();

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

export function watch(child: ChildProcess): void {
  alive.add(child);
  child.on('exit', () => alive.delete(child));
}

export async function stopChild(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((done) => child.once('exit', done));
  child.kill(signal);
  await ended;
}

/** For the end of the bench, however it comes. */
export function killChildren(): void {
  for (const child of alive) child.kill('SIGKILL');
}
