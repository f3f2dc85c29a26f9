import type { Store } from '../../../platform/store.ts';
import type { Finding } from '../../../platform/finding.ts';
import {
  forgetReport,
  forgetReportsBefore,
  reportsHeardFor,
  reportsSince,
  writeReport,
  type NodeReportRow,
} from './node-reports.store.ts';

/** Interval of node reports; they are believed for four times as long. */
export const REPORT_MS = 30_000;
const LIVE_MS = 4 * REPORT_MS;
const KEPT_MS = 3_600_000;
/** Maximum assumed difference between the clocks of two machines. */
const UNSURE_MS = 15 * 60_000;

export interface NodeReport {
  id: string;
  /** Name of the machine and id of the process. */
  name: string;
  version: string;
  roles: readonly string[];
  startedAt: number;
  seenAt: number;
  findings: readonly Finding[];
}

/** Stores the report of this node for the others, and removes reports of nodes that are long gone. */
export async function reportNode({ db, clock }: Store, report: NodeReport): Promise<void> {
  const { id, name, version, roles, startedAt, seenAt, findings } = report;
  await writeReport(db, {
    id,
    name,
    version,
    started_at: startedAt,
    seen_at: seenAt,
    roles: JSON.stringify(roles),
    findings: JSON.stringify(findings),
  });
  await forgetReportsBefore(db, clock.now() - KEPT_MS, LIVE_MS);
}

/** With SQLite there can be no other process, so every earlier report is of one that is gone. */
export async function forgetOthersWhereAlone({ db }: Store): Promise<void> {
  if (db.dialect === 'sqlite') await forgetReportsBefore(db, Number.MAX_SAFE_INTEGER);
}

export const forgetNode = ({ db }: Store, id: string): Promise<number> => forgetReport(db, id);

export async function liveNodes({ db, clock }: Store): Promise<NodeReport[]> {
  return (await reportsSince(db, clock.now() - LIVE_MS)).map(read);
}

/**
 * Returns running nodes of any version, by the clock of the database alone: a wrong clock must not hide a node before
 * the database is changed.
 */
export async function runningNodes({
  db,
}: Pick<Store, 'db'>): Promise<{ name: string; version: string; silentMs: number }[]> {
  const rows = await reportsHeardFor(db, { ms: LIVE_MS, unsureMs: UNSURE_MS });
  return rows.map(({ name, version, silent_ms: ms }) => ({ name, version, silentMs: Number(ms) }));
}

const read = (row: NodeReportRow): NodeReport => ({
  id: row.id,
  name: row.name,
  version: row.version,
  startedAt: row.started_at,
  seenAt: row.seen_at,
  roles: JSON.parse(row.roles) as string[],
  findings: JSON.parse(row.findings) as Finding[],
});
