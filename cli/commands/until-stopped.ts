import type { CommandProcess } from '../output/index.ts';

export interface Stopped {
  /** Resolves to whether Ctrl-C came within this time; at once when it does. */
  within(ms: number): Promise<boolean>;
}

/** Makes Ctrl-C end the current work regularly, with status 0. */
export function untilStopped(process: CommandProcess): Stopped {
  let isStopped = false;
  let wake = (): void => undefined;
  process.once('SIGINT', () => {
    isStopped = true;
    wake();
  });
  return {
    async within(ms) {
      if (isStopped) return true;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      return isStopped;
    },
  };
}
