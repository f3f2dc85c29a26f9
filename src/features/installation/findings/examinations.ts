import { CHECKS } from '../../../platform/config/index.ts';
import type { AnswerOf } from '../../../contract/index.ts';
import type { Store } from '../../../platform/store.ts';
import * as rows from './examinations.store.ts';
import type { DiskSample } from './examinations.store.ts';
import type { Finding } from '../../../platform/finding.ts';

type Presented = AnswerOf<'getOperatorFindings'>['checks'][number];
export type CheckName = Presented['name'];

/** Something that could not be determined; `subject` names the one of several things that it is about. */
export interface Unknown {
  subject?: string;
  says: string;
}

/** Result of one check. */
export interface CheckResult {
  name: CheckName;
  /** Statements about what is in order. */
  says: readonly string[];
  findings: readonly Finding[];
  unknown: readonly Unknown[];
  /** Names of what it could determine something about, if anybody needs to know. */
  examined?: readonly string[];
  isSkipped?: boolean;
  /** The check failed without a finding of its own, because a node reports the fault as one. */
  isFailed?: boolean;
}

export interface Checked {
  name: CheckName;
  machine: string;
  state: Presented['state'];
  summary: string;
  checkedAt: number;
  findings: readonly Finding[];
  examined: readonly string[];
}

const DAY_MS = 86_400_000;
/** Time for which an examination is believed if no other follows. */
const BELIEVED_MS = 3 * DAY_MS;
const SUMMARY_CHARS_MAX = 2000;
/** Span over which growth is judged. */
const GROWTH_MS = 7 * DAY_MS;
const SAMPLES_KEPT_MS = 30 * DAY_MS;

/**
 * Replaces the stored results of a machine; a partial examination replaces only its part. Findings about things that
 * cannot be examined now are kept.
 */
export async function recordExamination(
  { clock, db }: Store,
  machine: string,
  results: readonly CheckResult[],
  { isWhole = true }: { isWhole?: boolean } = {},
): Promise<void> {
  const at = clock.now();
  await db.tx(async (tx) => {
    const before = new Map((await rows.listChecks(tx, machine)).map((row) => [row.check_name, read(row)]));
    for (const result of results)
      await rows.putCheck(tx, buildRow(result, { machine, at, last: before.get(result.name) }));
    if (isWhole) await rows.forgetChecks(tx, machine, at, at - BELIEVED_MS);
  });
}

/** Formats an examination that is not stored as the API returns it. */
export const toChecked = (result: CheckResult, machine: string, at: number): Checked => ({
  name: result.name,
  machine,
  checkedAt: at,
  state: deriveState(result, result.findings),
  summary: formatSummary(result),
  findings: result.findings,
  examined: result.examined ?? [],
});

type Last = Checked & { knownAt: number };

function buildRow(
  result: CheckResult,
  { machine, at, last }: { machine: string; at: number; last: Last | undefined },
): rows.ExaminationRow {
  const known = result.findings.map((finding) => ({ ...finding, since: findSince(finding, last) ?? at }));
  const kept = last && at - last.knownAt <= BELIEVED_MS ? stillUnknown(last.findings, result) : [];
  const findings = [...known, ...kept];
  return {
    machine,
    check_name: result.name,
    checked_at: at,
    state: deriveState(result, known),
    summary: formatSummary(result),
    findings: JSON.stringify(findings),
    examined: JSON.stringify(result.examined ?? []),
    known_at: result.unknown.length > 0 && last ? last.knownAt : at,
  };
}

/** Returns since when the finding has been present without interruption. */
const findSince = (finding: Finding, last: Last | undefined): number | null =>
  finding.since ?? last?.findings.find(({ code }) => code === finding.code)?.since ?? null;

/** Returns earlier findings about things that could not be examined now. */
function stillUnknown(before: readonly Finding[], { findings, unknown }: CheckResult): Finding[] {
  const isAll = unknown.some(({ subject }) => subject === undefined);
  const subjects = new Set(unknown.map(({ subject }) => subject));
  return before.filter(
    ({ code, subjects: about }) =>
      findings.every((finding) => finding.code !== code) && (isAll || about.some((subject) => subjects.has(subject))),
  );
}

function deriveState({ unknown, isSkipped, isFailed }: CheckResult, findings: readonly Finding[]): Checked['state'] {
  if (isSkipped) return 'skipped';
  if (findings.length > 0 || isFailed) return 'failed';
  return unknown.length > 0 ? 'unknown' : 'passed';
}

function formatSummary({ says, findings, unknown }: CheckResult): string {
  const cannot = unknown.map((one) => `Unknown: ${one.says}.`);
  const all = [...findings.map(({ summary }) => summary), ...cannot, ...says.map((line) => `${line}.`)];
  return all.join(' ').slice(0, SUMMARY_CHARS_MAX);
}

const read = (row: rows.ExaminationRow): Last => ({
  name: row.check_name as CheckName,
  machine: row.machine,
  state: row.state as Checked['state'],
  summary: row.summary,
  checkedAt: Number(row.checked_at),
  knownAt: Number(row.known_at),
  findings: JSON.parse(row.findings) as Finding[],
  examined: JSON.parse(row.examined) as string[],
});

/** Returns the checks of each machine that are still believed. */
export async function lastExaminations({ clock, db }: Store): Promise<Checked[]> {
  const checks = (await rows.checksSince(db, clock.now() - BELIEVED_MS)).map(read);
  const place = ({ name }: Checked): number => CHECKS.indexOf(name);
  return checks.toSorted((a, b) => a.machine.localeCompare(b.machine) || place(a) - place(b));
}

/** Records the free space of this hour. */
export async function recordFreeBytes({ clock, db }: Store, machine: string, bytes: number): Promise<void> {
  const at = clock.now();
  await rows.putSample(db, machine, { at, free_bytes: bytes });
  await rows.forgetSamplesBefore(db, at - SAMPLES_KEPT_MS);
}

/** Returns the free space of the last week, oldest first. */
export const freeBytesOfLate = ({ clock, db }: Store, machine: string): Promise<DiskSample[]> =>
  rows.samplesSince(db, machine, clock.now() - GROWTH_MS);
export type { DiskSample } from './examinations.store.ts';
