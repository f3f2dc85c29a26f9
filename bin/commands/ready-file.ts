/** The file in the data folder that names the server running on it and its address. */
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Config } from '../../src/platform/config/index.ts';

const readyFile = (dataDir: string): string => path.join(dataDir, 'run', 'ready.json');

/** Removes the file of a process that was killed, so that a script does not mistake it for ours. */
export function forgetDeadReady(dataDir: string): void {
  if (!isRunning(dataDir)) rmSync(readyFile(dataDir), { force: true });
}

/** Returns the address of the server that runs on this folder; undefined if none does. */
export const runningUrl = (dataDir: string): string | undefined => runningListener(dataDir)?.url;

/**
 * Returns the local address of the API of the server on this folder; its public address may not work yet, or belong to
 * somebody else.
 */
export function runningListener(dataDir: string): { host: string; port: number; url: string } | undefined {
  if (!isRunning(dataDir)) return undefined;
  const { listeners } = JSON.parse(readFileSync(readyFile(dataDir), 'utf8')) as {
    listeners: { http?: { host: string; port: number; url: string } };
  };
  return listeners.http;
}

/**
 * Returns the server's address, or the configured one if no server runs; with port 0 the real address is known only
 * while it runs.
 */
export function findServerAddress(dataDir: string, { http }: Config): string {
  const running = runningUrl(dataDir);
  if (running !== undefined) return running;
  return http.public_url === '' ? urlFromHere({ http }) : http.public_url;
}

/** The API as this machine itself reaches it. */
export function urlFromHere({ http }: { http: Pick<Config['http'], 'host' | 'port'> }): string {
  const host = ['0.0.0.0', '::', ''].includes(http.host) ? '127.0.0.1' : http.host;
  return `http://${host.includes(':') ? `[${host}]` : host}:${http.port}`;
}

/** The process that runs on this folder. */
export const runningPid = (dataDir: string): number | undefined => (isRunning(dataDir) ? readyPid(dataDir) : undefined);

/** The server that runs on this folder, and its processes. */
export interface RunningGroup {
  pid: number;
  /** Undefined if the server is one process. */
  processes?: { number: number; pid: number }[];
  /** Number of restarts of all processes. */
  restarts?: number;
  /** Reason why the last restart was broken off. */
  restart_failed?: string;
}

/** Returns the server that runs on this folder, with its processes. */
export const readRunningGroup = (dataDir: string): RunningGroup | undefined =>
  isRunning(dataDir) ? (JSON.parse(readFileSync(readyFile(dataDir), 'utf8')) as RunningGroup) : undefined;

/** Reports whether a file was written after the server that runs here had started. */
export function isNewerThanServer(dataDir: string, file: string): boolean {
  const started = isRunning(dataDir) ? statSync(readyFile(dataDir), { throwIfNoEntry: false }) : undefined;
  const written = statSync(file, { throwIfNoEntry: false });
  return started !== undefined && written !== undefined && written.mtimeMs > started.mtimeMs;
}

function isRunning(dataDir: string): boolean {
  const pid = readyPid(dataDir);
  // In a container the process may have the same id as the one before it.
  if (pid === undefined || pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function readyPid(dataDir: string): number | undefined {
  try {
    return (JSON.parse(readFileSync(readyFile(dataDir), 'utf8')) as { pid: number }).pid;
  } catch {
    return undefined;
  }
}

/** Scripts wait for the file, so it appears whole. */
export function writeReady(dataDir: string, ready: { pid: number; [field: string]: unknown }): void {
  const file = readyFile(dataDir);
  writeFileSync(`${file}.part`, JSON.stringify(ready), { mode: 0o600 });
  renameSync(`${file}.part`, file);
}

/** When several processes share a folder, the file belongs to the latest one. */
export function forgetOwnReady(dataDir: string): void {
  if (readyPid(dataDir) === process.pid) rmSync(readyFile(dataDir), { force: true });
}
