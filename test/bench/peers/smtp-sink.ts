import { spawn } from 'node:child_process';
import { pause, type Bench } from '../bench.ts';
import { stopChild, watch } from '../children.ts';

/** Postfix's smtp-sink, which accepts everything, keeps nothing, and costs every peer the same. */
export interface SmtpSink {
  taken(): number;
  /** Returns the instant at which that many messages had their 250, on the clock of performance.now(). */
  until(taken: number, withinMs: number): Promise<number>;
}

export async function startSmtpSink(bench: Bench, port: number): Promise<SmtpSink> {
  const child = spawn('/usr/sbin/smtp-sink', ['-c', '-u', 'nobody', `127.0.0.1:${port}`, '1000'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  watch(child);
  bench.stopLater(() => stopChild(child, 'SIGKILL'));
  let taken = 0;
  let waiting: { wanted: number; done: (at: number) => void } | undefined;
  // The program rewrites one line after each message: sess=7 quit=2 mesg=120
  child.stdout.on('data', (chunk: Buffer) => {
    const counts = [...chunk.toString('latin1').matchAll(/mesg=(\d+)(?!\d)/g)];
    taken = Math.max(taken, Number(counts.at(-1)?.[1] ?? 0));
    if (waiting && taken >= waiting.wanted) waiting.done(performance.now());
  });
  await pause(200);
  if (child.exitCode !== null) throw new Error(`smtp-sink ended with ${child.exitCode} on port ${port}`);
  return {
    taken: () => taken,
    until: (wanted, withinMs) =>
      new Promise((resolve, reject) => {
        if (taken >= wanted) return resolve(performance.now());
        const late = (): void =>
          reject(new Error(`after ${withinMs} ms ${wanted - taken} messages had not reached the sink`));
        const timer = setTimeout(late, withinMs);
        waiting = {
          wanted,
          done: (at) => {
            waiting = undefined;
            clearTimeout(timer);
            resolve(at);
          },
        };
      }),
  };
}
