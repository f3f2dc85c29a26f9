import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startBenchDns } from './appliance.ts';
import { createBench, type Bench } from './bench.ts';
import { killChildren } from './children.ts';
import { judge, formatTable, type JudgedFigure } from './figures.ts';
import { describeMachine, isInMemory, loadNow, othersSince, workedSoFar, type Machine } from './machine.ts';
import { readProfiles } from './profile.ts';

export type Rows = Record<string, (bench: Bench) => Promise<void>>;

/** A program that measures rows and prints them; it ends the process. */
export interface BenchProgram {
  usage: string;
  rows: Rows;
  /** Limit after which the bench ends, whatever hangs. */
  limitMinutes: number;
}

const cacheDir = fileURLToPath(new URL('../../.cache/bench', import.meta.url));

export function runBench(program: BenchProgram): void {
  main(program).then(
    (code) => process.exit(code),
    (error: unknown) => {
      console.error(`bench: ${error instanceof Error ? error.message : String(error)}`);
      process.exit(64);
    },
  );
}

async function main({ usage, rows, limitMinutes }: BenchProgram): Promise<number> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      quick: { type: 'boolean', default: false },
      contacts: { type: 'string' },
      json: { type: 'string' },
      profile: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    console.log(`${usage}\nNames: ${Object.keys(rows).join(', ')}`);
    return 0;
  }
  const names = values.only?.split(',') ?? Object.keys(rows);
  const unknown = names.find((name) => !(name in rows));
  if (unknown !== undefined)
    throw new Error(`${JSON.stringify(unknown)} is no row; the rows are ${Object.keys(rows).join(', ')}`);
  mkdirSync(cacheDir, { recursive: true });
  // A disk in memory syncs for free, and every figure here depends on the cost of a sync.
  const workDir = mkdtempSync(path.join(isInMemory(os.tmpdir()) ? cacheDir : os.tmpdir(), 'rasket-bench-'));
  process.on('exit', () => {
    killChildren();
    rmSync(workDir, { recursive: true, force: true });
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130));
  return runRows(names, rows, {
    limitMs: limitMinutes * 60_000,
    quick: values.quick,
    contacts: readContacts(values.contacts),
    workDir,
    profileDir: values.profile && path.resolve(values.profile),
    json: values.json,
  });
}

/** Medians can tolerate about a tenth of the machine in use by others. */
const DISTURBED_SHARE = 0.1;

async function withinTime(row: Promise<void> | undefined, limitMs: number, ofMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the bench's ${ofMs / 60_000} minutes were over`)), Math.max(0, limitMs));
  });
  // When time is over its helpers are killed, and the resulting error does not matter.
  row?.catch(() => undefined);
  await Promise.race([row, late]).finally(() => clearTimeout(timer));
}

function readContacts(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[1-9]\d{3,7}$/.test(text)) return Number(text);
  throw new Error(`--contacts takes a number from 1000 to 99999999, not ${text}`);
}

interface RunOptions {
  limitMs: number;
  quick: boolean;
  contacts: number | undefined;
  workDir: string;
  profileDir: string | undefined;
  json: string | undefined;
}

async function runRows(names: string[], measures: Rows, options: RunOptions): Promise<number> {
  const { limitMs, quick, contacts, workDir, profileDir, json } = options;
  const begin = performance.now();
  const startedAt = new Date().toISOString();
  const machine = describeMachine(workDir);
  const figures: JudgedFigure[] = [];
  const rows: { name: string; othersCores: number }[] = [];
  const failures: { row: string; error: string }[] = [];
  const dns = await startBenchDns();
  const bench = createBench({
    quick,
    contacts,
    dns,
    workDir,
    profileDir,
    add: (figure) => figures.push(judge(figure)),
  });
  for (const name of names) {
    bench.say(name);
    const before = workedSoFar();
    try {
      await withinTime(measures[name]?.(bench), begin + limitMs - performance.now(), limitMs);
    } catch (error) {
      failures.push({ row: name, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
    await bench.clear();
    rows.push({ name, othersCores: Number(othersSince(before).toFixed(2)) });
  }
  await dns.close();
  const seconds = Math.round((performance.now() - begin) / 1000);
  const file = json ?? path.join(cacheDir, `${startedAt.replaceAll(':', '-').slice(0, 19)}.json`);
  const result = { startedAt, seconds, quick, machine, loadAtEnd: loadNow(), rows, figures, failures };
  writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`);
  printTable(machine, figures, rows);
  for (const { row, error } of failures) console.log(`${row} could not be measured: ${error}`);
  if (profileDir !== undefined) console.log(readProfiles(profileDir));
  console.log(`${seconds} s; written to ${file}`);
  return failures.length > 0 ? 1 : 0;
}

function printTable(machine: Machine, figures: JudgedFigure[], rows: { name: string; othersCores: number }[]): void {
  console.log(
    `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGib} GiB, Node ${machine.node}, fsync ${machine.fsyncMicros} µs, ` +
      `load ${machine.load.toFixed(1)} before and ${loadNow()} after\n\n${formatTable(figures)}\n`,
  );
  const disturbed = rows.filter((row) => row.othersCores > machine.cores * DISTURBED_SHARE);
  if (disturbed.length > 0) {
    const list = disturbed.map((row) => `${row.name} ${row.othersCores}`).join(', ');
    console.log(
      `Other work kept cores busy during ${list}: take those ratios as a hint and the absolutes as nothing.\n`,
    );
  }
}
