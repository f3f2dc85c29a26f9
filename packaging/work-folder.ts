/** The signals by which a person or a system calls a build off. */
const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const;

/** Calls `cleanUp` at the end of the scope, and also if a signal ends the process before. */
export function endWithCleanUp(cleanUp: () => void): Disposable {
  const end = (signal: NodeJS.Signals): void => {
    cleanUp();
    stop();
    process.kill(process.pid, signal);
  };
  const stop = (): void => SIGNALS.forEach((signal) => void process.off(signal, end));
  for (const signal of SIGNALS) process.on(signal, end);
  return {
    [Symbol.dispose]() {
      stop();
      cleanUp();
    },
  };
}
