import { existsSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/**
 * Records in the data folder that the SQLite file is open, so that the next process knows if this one did not close it.
 */
export interface OpenFileMark {
  /** Whether the previous process did not close the file. */
  wasLeftOpen: boolean;
  close(): void;
}

export function noteOpenFile(runDir: string): OpenFileMark {
  const file = path.join(runDir, 'database-open');
  const wasLeftOpen = existsSync(file);
  // A full disk refuses the start later, with a better message.
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
