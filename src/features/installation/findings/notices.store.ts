import type { Executor } from '../../../platform/db/index.ts';

export interface ReportedRow {
  version: number;
  /** JSON array. */
  findings: string;
}

export async function findLastReported(tx: Executor): Promise<ReportedRow> {
  const row = await tx.get<ReportedRow>('select version, findings from findings_told where id = 1');
  return row ?? { version: 0, findings: '[]' };
}

/** Records the reported findings; returns false if another process has done so meanwhile. */
export async function saveReported(tx: Executor, row: ReportedRow, at: number): Promise<boolean> {
  if (row.version === 1) {
    const sql =
      'insert into findings_told (id, version, findings, told_at) values (1, 1, ?, ?) on conflict (id) do nothing';
    return (await tx.run(sql, [row.findings, at])) === 1;
  }
  const sql = 'update findings_told set version = ?, findings = ?, told_at = ? where id = 1 and version = ?';
  return (await tx.run(sql, [row.version, row.findings, at, row.version - 1])) === 1;
}

export interface NoticeRow {
  id: string;
  channel: 'command' | 'url';
  body: string;
  attempts: number;
  created_at: number;
}

export async function insertNotices(tx: Executor, notices: readonly Omit<NoticeRow, 'attempts'>[]): Promise<void> {
  const columns = ['id', 'channel', 'body', 'state', 'attempts', 'next_try_at', 'created_at'];
  const values = notices.map((one) => [one.id, one.channel, one.body, 'waiting', 0, one.created_at, one.created_at]);
  await tx.insertMany('finding_notices', columns, values);
}

const NOTICE = 'id, channel, body, attempts, created_at';

/** Returns the next due notice, oldest first per channel, so that a problem is reported before its resolution. */
export const dueNotice = (db: Executor, now: number): Promise<NoticeRow | undefined> =>
  db.get<NoticeRow>(
    `select ${NOTICE} from finding_notices n where state = 'waiting' and next_try_at <= ? and not exists
      (select 1 from finding_notices o where o.state = 'waiting' and o.channel = n.channel and o.id < n.id)
      order by next_try_at, id limit 1`,
    [now],
  );

/** Moves a notice. Only the process whose update succeeds makes the try, so no two make the same. */
export async function moveNotice(
  db: Executor,
  { id, attempts }: Pick<NoticeRow, 'id' | 'attempts'>,
  { from, to, at }: { from: string; to: string; at: number },
): Promise<boolean> {
  const sql = 'update finding_notices set state = ?, attempts = ?, next_try_at = ? where id = ? and state = ?';
  return (await db.run(sql, [to, attempts, at, id, from])) === 1;
}

/** Lists tries of processes that ended meanwhile: it is unknown whether they were received. */
export const abandonedNotices = (db: Executor, begunBefore: number): Promise<NoticeRow[]> =>
  db.all<NoticeRow>(
    `select ${NOTICE} from finding_notices where state = 'begun' and next_try_at <= ? order by next_try_at limit 100`,
    [begunBefore],
  );

export const removeNoticesBefore = (db: Executor, before: number): Promise<number> =>
  db.run('delete from finding_notices where created_at < ?', [before]);

export const removeWaitingNotices = (tx: Executor): Promise<number> =>
  tx.run(`delete from finding_notices where state in ('waiting', 'begun')`);

export const forgetReported = (tx: Executor): Promise<number> => tx.run('delete from findings_told');
