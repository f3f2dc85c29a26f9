import { existsSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** Says in the data folder that the SQLite file is open, so that the next process knows when this one did not close it. */
export interface OpenFileMark {
  /** Whether the process before did not close it. */
  wasLeftOpen: boolean;
  close(): void;
}

export function noteOpenFile(runDir: string): OpenFileMark {
  const file = path.join(runDir, 'database-open');
  const wasLeftOpen = existsSync(file);
  // A disk that is full refuses the start later, and with more to say.
  if (!wasLeftOpen) writeMark(file);
  return { wasLeftOpen, close: () => rmSync(file, { force: true }) };
}

function writeMark(file: string): void {
  try {
    writeFileSync(file, '', { mode: 0o600 });
  } catch {
    return;
  }
}
