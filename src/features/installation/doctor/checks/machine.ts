import os from 'node:os';
import { statfs, readdir, readFile, stat } from 'node:fs/promises';
import { buildFinding, KNOWN } from '../../../../platform/finding.ts';
import { freeBytesOfLate, type DiskSample } from '../../findings/examinations.ts';
import { findNoSendingReason, nothingSeen, skipped, type Check, type Examination, type Seen } from '../check.ts';
import { greetMailServers } from './port25.ts';
import type { Config } from '../../../../platform/config/index.ts';
import { askTime } from '../../../../platform/probe.ts';
import { isoTime } from '../../../../platform/clock.ts';
import { instanceKeyPath } from '../../../../platform/secrets/index.ts';
import { readPostgresClock } from '../../findings/examinations.store.ts';
import { loadNoDumpReason } from '../../backups/database-copy.ts';
import { readBackupNotes } from '../../../../tenancy/instance/index.ts';

const MIB = 1024 * 1024;
const DAY_MS = 86_400_000;
/** Growth is judged by at least this many samples over at least this span: an import of an hour is no growth. */
const SAMPLES_MIN = 3;
const SPAN_MIN_MS = DAY_MS;

/** Returns the free space for this process on the disk of the data folder. */
export async function freeBytes(dataDir: string): Promise<{ free: number; size: number }> {
  const { bavail, blocks, bsize } = await statfs(dataDir);
  return { free: bavail * bsize, size: blocks * bsize };
}

/** Checks the free space, and when it ends at the rate of the last week. */
export const checkDisk: Check = async ({ world, self }) => {
  const { config, clock, dataDir } = world;
  const seen = nothingSeen();
  const { free, size } = await freeBytes(dataDir);
  const inWords = `${mib(free)} of ${mib(size)} are free on the disk of ${dataDir}`;
  if (free < config.doctor.disk_free_mb * MIB) {
    const summary = `${inWords}, less than doctor.disk_free_mb.`;
    seen.findings.push(buildFinding('disk_low', { summary }));
  } else seen.says.push(inWords);
  const samples = await freeBytesOfLate(world, self.machine);
  const days = estimateDaysLeft([...samples, { at: clock.now(), free_bytes: free }]);
  if (days !== undefined && days < config.doctor.disk_days) {
    const when = days < 1 ? 'within a day' : `in about ${Math.round(days)} ${Math.round(days) === 1 ? 'day' : 'days'}`;
    const summary = `At the rate of the last week, the disk of ${dataDir} will be full ${when}; ${mib(free)} are free.`;
    seen.findings.push(buildFinding('disk_filling', { summary }));
  } else if (days !== undefined)
    seen.says.push(`At the current rate, it will be full in about ${Math.round(days)} days`);
  return seen;
};

const mib = (bytes: number): string => {
  const count = bytes / MIB;
  return count >= 10_240 ? `${Math.round(count / 1024)} GiB` : `${Math.round(count)} MiB`;
};

/** Fits a line through all samples; returns undefined if nothing grows, or too little is known. */
function estimateDaysLeft(samples: readonly DiskSample[]): number | undefined {
  const first = samples[0];
  const last = samples.at(-1);
  if (!first || !last || samples.length < SAMPLES_MIN || last.at - first.at < SPAN_MIN_MS) return undefined;
  const meanAt = samples.reduce((sum, { at }) => sum + (at - first.at), 0) / samples.length;
  const meanFree = samples.reduce((sum, { free_bytes: free }) => sum + free, 0) / samples.length;
  let above = 0;
  let below = 0;
  for (const { at, free_bytes: free } of samples) {
    above += (at - first.at - meanAt) * (free - meanFree);
    below += (at - first.at - meanAt) ** 2;
  }
  const perMs = above / below;
  return perMs < 0 ? last.free_bytes / -perMs / DAY_MS : undefined;
}

/** Files for the database, journals, blobs in progress, and connections of the API and the resolver. */
const REST = 300;
/** Share of the limit; beyond it, an hour with more mail reaches the limit. */
const OPEN_SHARE_MAX = 0.8;

/** Returns how many files may be open at one time when all limits of the settings are used. */
const wanted = ({ smtp, delivery, webhooks }: Config): number =>
  smtp.max_connections + delivery.max_connections + webhooks.max_in_flight + REST;

/** Checks the limit of open files of the server process, as the system reports it. */
export const checkFiles: Check = async ({ world, self: { pid } }) => {
  const seen = nothingSeen();
  if (pid === undefined) {
    seen.unknown.push({ says: 'how many files the server may open: no server is running' });
    return seen;
  }
  const limit = await softLimit(pid);
  if (limit === undefined) {
    seen.unknown.push({ says: `how many files the process ${pid} may open: this system does not report it` });
    return seen;
  }
  const open = await readdir(`/proc/${pid}/fd`).then(
    ({ length }) => length,
    () => 0,
  );
  const needs = wanted(world.config);
  if (limit < needs) {
    const summary = `The server may open ${limit} files, but its settings need up to ${needs} (smtp.max_connections, delivery.max_connections, webhooks.max_in_flight).`;
    seen.findings.push(buildFinding('file_limit_low', { summary }));
  } else if (open > limit * OPEN_SHARE_MAX) {
    const summary = `The server has ${open} files open; its limit is ${limit}.`;
    seen.findings.push(buildFinding('file_limit_low', { summary }));
  } else
    seen.says.push(
      `${open} files are open; the limit is ${limit === Infinity ? 'unlimited' : limit}, and up to ${needs} may be needed`,
    );
  return seen;
};

async function softLimit(pid: number): Promise<number | undefined> {
  const text = await readFile(`/proc/${pid}/limits`, 'utf8').catch(() => '');
  const found = /^Max open files +(\d+|unlimited)/m.exec(text)?.[1];
  if (found === undefined) return undefined;
  return found === 'unlimited' ? Infinity : Number(found);
}

/** Permissions that any account but the owner has. */
const OF_OTHERS = 0o077;

/** Checks that no other account may use the instance key. */
export const checkSecrets: Check = async ({ world: { dataDir } }) => {
  const seen = nothingSeen();
  const file = instanceKeyPath(dataDir);
  const { mode } = await stat(file);
  const words = `${file} has the mode ${(mode & 0o777).toString(8)}`;
  if ((mode & OF_OTHERS) === 0) return { ...seen, says: [words] };
  const { words: advice } = KNOWN.key_exposed.advice;
  seen.findings.push(
    buildFinding('key_exposed', {
      summary: `${words}, so that other accounts can use the key that opens all secrets in the database.`,
      subjects: [file],
      advice: { words: advice, command: `chmod 600 ${file}` },
    }),
  );
  return seen;
};

/** A few long turns, such as those of a start, delay few requests. */
const LATE_TURNS_MIN = 10;

/** Checks how late the server ran what was due in the last minute. */
export const checkEventLoop: Check = ({ world }) => {
  const delay = world.loopDelay.lastMinute();
  if (!delay) return Promise.resolve(skipped('Only a running server measures how late it runs what is due'));
  const seen = nothingSeen();
  const { p50, p99, max } = delay;
  const inWords = `In the last minute, the server ran what was due ${ms(p50)} late in the median, ${ms(p99)} in the worst hundredth of the time, and ${ms(max)} at most`;
  const limit = world.config.doctor.event_loop_ms;
  if (p99 > limit && world.loopDelay.countBeyond(limit) >= LATE_TURNS_MIN) {
    const summary = `${inWords}; more than doctor.event_loop_ms delays every request.`;
    seen.findings.push(buildFinding('event_loop_slow', { summary }));
  } else seen.says.push(inWords);
  return Promise.resolve(seen);
};

const ms = (value: number): string => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;

const SNTP_PORT = 123;
const BODY_BYTES_MAX = 256 * 1024;
/** A Date header has whole seconds. */
const HALF_SECOND_MS = 500;

/**
 * Compares the clock with that of another machine, which the settings name; without one, with the times that other
 * servers tell without being asked for them.
 */
export const checkClock: Check = async (examination) => {
  const { config } = examination.world;
  const source = config.doctor.clock_source || config.acme.directory;
  if (source === '') {
    const told = (await askDatabase(examination)) ?? (await findGreetedTime(examination));
    return told === undefined
      ? skipped('No other machine told the time; doctor.clock_source can name one')
      : judgeClock(examination, told.host, told.aheadMs);
  }
  const url = new URL(source);
  const told = url.protocol === 'sntp:' ? await askServer(examination, url) : await askHeader(examination, url);
  if (typeof told !== 'string') return judgeClock(examination, url.host, told.aheadMs);
  const seen = nothingSeen();
  seen.unknown.push({ says: `whether the clock is correct: ${url.host} ${told}` });
  return seen;
};

function judgeClock({ world: { config } }: Examination, host: string, aheadMs: number): Seen {
  const seen = nothingSeen();
  const offSeconds = Math.round(aheadMs / 1000);
  const words = `${Math.abs(offSeconds)} seconds ${offSeconds > 0 ? 'ahead of' : 'behind'} that of ${host}`;
  if (Math.abs(offSeconds) > config.doctor.clock_seconds) {
    const summary = `The clock of this machine is ${words}: signatures and one-time passwords are refused.`;
    seen.findings.push(buildFinding('clock_wrong', { summary }));
  } else seen.says.push(offSeconds === 0 ? `The clock agrees with ${host}` : `The clock is ${words}`);
  return seen;
}

interface ToldTime {
  host: string;
  aheadMs: number;
}

/** Compares the clock with that of PostgreSQL, unless it runs on this machine, whose clock proves nothing. */
async function askDatabase({ world: { clock, db } }: Examination): Promise<ToldTime | undefined> {
  if (db.dialect !== 'pg') return undefined;
  const before = clock.now();
  const { now, address } = await readPostgresClock(db);
  if (address === null || isOwnAddress(address)) return undefined;
  return { host: `PostgreSQL (${address})`, aheadMs: (before + clock.now()) / 2 - now };
}

function isOwnAddress(address: string): boolean {
  const all = Object.values(os.networkInterfaces()).flatMap((list) => list ?? []);
  return /^(?:127\.|::1$)/.test(address) || all.some((one) => one.address === address);
}

/** Compares the clock with the dates in greetings of mail servers; the one that agrees best counts. */
async function findGreetedTime(examination: Examination): Promise<ToldTime | undefined> {
  if (findNoSendingReason(examination.world) !== undefined) return undefined;
  const told = (await greetMailServers(examination)).flatMap(
    ({ domain, greeting, elapsedMs = () => 0 }): ToldTime[] => {
      const date = greeting.kind === 'greeted' ? readGreetedDate(greeting.line) : undefined;
      if (date === undefined) return [];
      const aheadMs = examination.world.clock.now() - elapsedMs() - (date + HALF_SECOND_MS);
      return [{ host: `a mail server of ${domain}`, aheadMs }];
    },
  );
  return told.toSorted((a, b) => Math.abs(a.aheadMs) - Math.abs(b.aheadMs))[0];
}

/** Reads a date such as "Mon, 30 Nov 2026 13:35:00 +0000" in a greeting. */
function readGreetedDate(line: string): number | undefined {
  const [date] = /\b\d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d (?:[+-]\d{4}|GMT|UTC)/.exec(line) ?? [];
  const at = date === undefined ? Number.NaN : Date.parse(date);
  return Number.isNaN(at) ? undefined : at;
}

type ClockOffset = { aheadMs: number } | string;

async function askHeader({ world, signal }: Examination, url: URL): Promise<ClockOffset> {
  const { clock, config } = world;
  let left = BODY_BYTES_MAX;
  const limits = { signal, mayTake: (bytes: number) => (left -= bytes) >= 0 };
  const asker = config.doctor.clock_source === '' ? world.authority : world.fetch;
  const before = clock.now();
  const answer = await asker.send({ method: 'GET', url, headers: {} }, limits);
  const middle = (before + clock.now()) / 2;
  if (answer.kind === 'failed') {
    const isOfTime = answer.fault.kind === 'tls' && /NOT_YET_VALID|EXPIRED/.test(answer.fault.code);
    if (isOfTime) return 'presents a certificate that is not valid at the time of this machine';
    return answer.fault.kind === 'tls'
      ? `cannot be trusted (${answer.fault.code})`
      : `does not answer (${answer.fault.kind})`;
  }
  const date = Date.parse(answer.headers.date ?? '');
  return Number.isNaN(date) ? 'sends no date' : { aheadMs: middle - (date + HALF_SECOND_MS) };
}

async function askServer({ world, signal }: Examination, url: URL): Promise<ClockOffset> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const found = await world.resolver.addresses(host);
  const [address] = found.kind === 'found' ? [...found.records.v4, ...found.records.v6] : [];
  if (address === undefined) return 'has no address';
  const before = world.clock.now();
  const time = await askTime({ address, port: url.port === '' ? SNTP_PORT : Number(url.port) }, signal);
  if (time === undefined) return 'does not report the time';
  return { aheadMs: (before + world.clock.now()) / 2 - time };
}

const HOUR_MS = 3_600_000;

/**
 * Checks whether a first backup exists and what the next one needs. A backup that is too old is reported at all times.
 */
export const checkBackups: Check = async ({ world }) => {
  const { config, clock, dataDir, db } = world;
  if (config.delivery.capture) return skipped('No backup is needed (delivery.capture)');
  const seen = nothingSeen();
  const { madeAt, failing } = await readBackupNotes(db);
  const dueAt = (await begunAt(dataDir)) + config.backup.max_age_hours * HOUR_MS;
  if (madeAt !== null) seen.says.push(`The last backup was made at ${isoTime(madeAt)}`);
  else if (clock.now() <= dueAt)
    seen.says.push(`There is no backup yet; if none is made until ${isoTime(dueAt)}, this is a finding`);
  else seen.findings.push(buildFinding('backup_old', { summary: 'There is no backup of this installation.' }));
  const why = failing === null ? await loadNoDumpReason(world) : undefined;
  if (why !== undefined)
    seen.findings.push(buildFinding('backup_failed', { summary: `The next backup will fail: ${why}.` }));
  return seen;
};

/** Returns when the installation began to have data. */
const begunAt = (dataDir: string): Promise<number> =>
  stat(instanceKeyPath(dataDir)).then(
    ({ birthtimeMs, mtimeMs }) => Math.min(birthtimeMs || mtimeMs, mtimeMs),
    () => 0,
  );
