import type { Executor } from '../../../platform/db/index.ts';

export interface EndedReport {
  id: string;
  body_id: string;
}

/**
 * A broadcast that ended before `beforeMs` and still has its report and its shared body; none of which an email is left, because an
 * email that is not sent yet needs both.
 */
export const endedReport = (
  db: Executor,
  { teamId, beforeMs }: { teamId: string; beforeMs: number },
): Promise<EndedReport | undefined> =>
  db.get<EndedReport>(
    `select id, body_id from broadcasts where team_id = ? and updated_at < ? and body_id is not null
        and status in ('sent', 'canceled', 'failed')
        and not exists (select 1 from emails where emails.broadcast_id = broadcasts.id)
      order by updated_at limit 1`,
    [teamId, beforeMs],
  );

/** From here on it has neither report nor body. */
export const forgetReport = (tx: Executor, id: string): Promise<number> =>
  tx.run('update broadcasts set body_id = null where id = ?', [id]);
