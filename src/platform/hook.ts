/**
 * A place where a lower part of the program runs what an upper part adds to it, mostly in the same transaction. The lower
 * part defines the hook and calls it; `src/connect-stores.ts` and `src/connect-features.ts` connect every hook when the
 * program starts, so that imports go one way.
 */
export interface Hook<Work extends (...args: never[]) => unknown> {
  /** Does what was connected; throws where nothing was. */
  call: Work;
  connect(work: Work): void;
}

export function defineHook<Work extends (...args: never[]) => unknown>(name: string): Hook<Work> {
  let connected: Work | undefined;
  const call = (...args: Parameters<Work>): unknown => {
    if (!connected)
      throw new Error(`hook ${name} is not connected; import src/connect-stores.ts or src/connect-features.ts first`);
    return connected(...args);
  };
  return {
    call: call as Work,
    connect(work) {
      connected = work;
    },
  };
}
