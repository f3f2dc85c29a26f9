/** At most `max` at a time under each key; the others wait in the order in which they came. */
export function createWaitingLines(max: number): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const lines = new Map<string, { running: number; waiting: (() => void)[] }>();
  return async (key, work) => {
    const line = lines.get(key) ?? { running: 0, waiting: [] };
    lines.set(key, line);
    if (line.running >= max) await new Promise<void>((go) => line.waiting.push(go));
    else line.running++;
    try {
      return await work();
    } finally {
      // The place goes on to the next one in line, without being free in between.
      const next = line.waiting.shift();
      if (next) next();
      else if (--line.running === 0) lines.delete(key);
    }
  };
}
