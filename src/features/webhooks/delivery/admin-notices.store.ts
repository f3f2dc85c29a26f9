import type { Executor } from '../../../platform/db/index.ts';

export interface DisabledEndpoint {
  id: string;
  team_id: string;
  endpoint: string;
  disabled_at: number;
  failing_since: number | null;
  /** A JSON array. */
  admin_emails: string | null;
}

/** Endpoints that were disabled because they failed, and whose team has not been told. */
export const untold = (db: Executor): Promise<DisabledEndpoint[]> =>
  db.all(`select webhooks.id, team_id, endpoint, disabled_at, failing_since, admin_emails
    from webhooks join teams on teams.id = team_id
    where status = 'disabled' and disabled_reason = 'failing' and deleted_at is null
      and (admins_told_at is null or admins_told_at < disabled_at) order by webhooks.id limit 100`);
