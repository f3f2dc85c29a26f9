/**
 * The Store: everything outside the program that a rule may touch, handed in as one value: database, clock, ids,
 * secrets, files, settings, log. Nothing in it waits for another machine, so what a rule does ends when the database
 * answers. What also needs DNS or HTTP takes a World.
 */
import type { KeyObject } from 'node:crypto';
import type { Blobs } from './blobs/index.ts';
import type { Clock } from './clock.ts';
import type { Config } from './config/index.ts';
import type { Db, GroupCommit } from './db/index.ts';
import type { Ids } from './ids.ts';
import type { Log, MailLog } from './log/index.ts';
import type { Meter } from './meter/index.ts';
import type { Passwords, Secrets } from './secrets/index.ts';
import type { TextThread } from './text-thread/index.ts';
import type { Tracer } from './trace/index.ts';

export interface Store {
  config: Config;
  db: Db;
  commits: GroupCommit;
  clock: Clock;
  ids: Ids;
  /** A number from 0 up to 1, for jitter and shuffling. */
  random: () => number;
  /** A new private key. It takes a quarter of a second of a thread of the pool. */
  makeRsaKey: (bits: number) => Promise<KeyObject>;
  passwords: Passwords;
  secrets: Secrets;
  blobs: Blobs;
  /** Reads and renders large texts in a thread of their own. */
  texts: TextThread;
  log: Log;
  mailLog: MailLog;
  /** Counts what happens in this process, for a Prometheus. */
  meter: Meter;
  /** Notes what was done, for an OpenTelemetry collector. */
  tracer: Tracer;
  dataDir: string;
  /** The address under which links of ours are reached, without a trailing slash. */
  readonly origin: () => string;
}
