/**
 * Everything outside the program that a verb may touch, handed in as one value: database, clock, ids, secrets, files,
 * DNS, settings, log. Made once by startApp; nothing reaches for the outside past it.
 */
import type { ApiCall } from '../api-call/index.ts';
import type { Blobs } from '../blobs/index.ts';
import type { Clock } from '../clock/index.ts';
import type { Config } from '../config/index.ts';
import type { Db, GroupCommit } from '../db/index.ts';
import type { GuardedFetch } from '../fetch/index.ts';
import type { Ids } from '../ids/index.ts';
import type { Log, MailLog } from '../log/index.ts';
import type { Inspector, Resolver } from '../resolver/index.ts';
import type { Secrets } from '../secrets/index.ts';

export interface World {
  config: Config;
  db: Db;
  commits: GroupCommit;
  clock: Clock;
  ids: Ids;
  /** A number from 0 up to 1, for jitter and shuffling. */
  random: () => number;
  secrets: Secrets;
  blobs: Blobs;
  resolver: Resolver;
  /** Asks a zone's own name servers, to say what is wrong with it. */
  inspector: Inspector;
  /** HTTP to an API that the operator chose, with a credential. */
  callApi: ApiCall;
  /** HTTP to addresses that somebody else chose. */
  fetch: GuardedFetch;
  log: Log;
  mailLog: MailLog;
  dataDir: string;
  /** The address under which links of ours are reached, without a trailing slash. */
  origin(): string;
}
