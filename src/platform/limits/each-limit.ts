/**
 * Does the work for every item, at most `max` at a time. Begins nothing more once one has failed, and ends when the last that
 * had begun has.
 */
export async function eachLimit<T>(
  items: Iterable<T>,
  max: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const left = items[Symbol.iterator]();
  let failure: { error: unknown } | undefined;
  const worker = async (): Promise<void> => {
    for (let next = left.next(); !next.done && !failure; next = left.next()) {
      try {
        await work(next.value);
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: max }, worker));
  if (failure) throw failure.error;
}
