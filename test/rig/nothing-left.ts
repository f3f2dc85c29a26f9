import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll } from 'vitest';

/** Servers, connections, child processes and threads, as Node calls them. Timers are Vitest's own as well, so they are not asked for. */
const KINDS = ['TCPServerWrap', 'TCPSocketWrap', 'TLSWrap', 'PipeServerWrap', 'UDPWrap', 'ProcessWrap', 'Worker'];
/** What is being closed takes some turns. */
const CLOSING_MS_MAX = 5000;

// Runs before each file; what is told to run after it comes after all that the file itself does when it is over.
const before = process.getActiveResourcesInfo();
const usual = process.env['TMPDIR'];
const folder = mkdtempSync(path.join(os.tmpdir(), 'rasket-file-'));
process.env['TMPDIR'] = folder;

afterAll(async () => {
  const begin = performance.now();
  while (left().length > 0 && performance.now() - begin < CLOSING_MS_MAX) await new Promise(setImmediate);
  const what = left();
  if (usual === undefined) delete process.env['TMPDIR'];
  else process.env['TMPDIR'] = usual;
  rmSync(folder, { recursive: true, force: true });
  if (what.length > 0) throw new Error(`this file leaves behind: ${what.join(', ')}`);
});

/** What keeps the process alive that did not before, and what lies in the folder for temporary files. */
function left(): string[] {
  const now = process.getActiveResourcesInfo();
  const count = (kind: string, all: readonly string[]): number => all.filter((one) => one === kind).length;
  const more = KINDS.map((kind) => ({ kind, by: count(kind, now) - count(kind, before) }));
  return [...more.filter(({ by }) => by > 0).map(({ kind, by }) => `${by} ${kind}`), ...readdirSync(folder)];
}
