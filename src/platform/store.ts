/**
 * The Store: everything outside the program that a rule may use, passed as one value: database, clock, ids, secrets,
 * files, settings, log. Nothing in it waits for another machine except the database, so a rule ends when the database
 * responds. Code that also needs DNS or HTTP takes a World.
 */
import type { KeyObject } from 'node:crypto';
import type { Blobs } from './blobs/index.ts';
import type { Clock } from './clock.ts';
import type { Config } from './config/index.ts';
import type { Db, GroupCommit } from './db/index.ts';
import type { Ids } from './ids.ts';
import type { Log, MailLog } from './log/index.ts';
import type { LoopDelay } from './loop-delay.ts';
import type { Meter } from './meter/index.ts';
import type { Passwords, Secrets } from './secrets/index.ts';
import type { TextThread } from './text-thread/index.ts';
import type { Tracer } from './trace/index.ts';

export interface Store {
  config: Config;
  db: Db;
  commits: GroupCommit;
  clock: Clock;
  loopDelay: LoopDelay;
  ids: Ids;
  /** A number from 0 up to 1, for jitter and shuffling. */
  random: () => number;
  /** Generates a new private key, which occupies a thread of the pool for a quarter of a second. */
  makeRsaKey: (bits: number) => Promise<KeyObject>;
  passwords: Passwords;
  secrets: Secrets;
  blobs: Blobs;
  /** Parses and renders large texts in a separate thread. */
  texts: TextThread;
  log: Log;
  mailLog: MailLog;
  /** Counts events in this process, for Prometheus. */
  meter: Meter;
  /** Records spans, for an OpenTelemetry collector. */
  tracer: Tracer;
  dataDir: string;
  /** Returns the address under which our links are reached, without a trailing slash. */
  readonly origin: () => string;
}
