import type { Executor } from '../../platform/db/index.ts';

const MAY_SEND = `verified_at is not null and sending = 'enabled'`;

/**
 * The domain that mail of our own comes from: the installation's if it is verified here, otherwise the team's that has
 * been verified longest.
 */
export async function senderDomain(
  db: Executor,
  instanceHost: string,
  teamId: string,
): Promise<{ name: string; team_id: string } | undefined> {
  const own = await db.get<{ name: string; team_id: string }>(
    `select name, team_id from domains where name = ? and ${MAY_SEND} limit 1`,
    [instanceHost.toLowerCase()],
  );
  return (
    own ??
    db.get(`select name, team_id from domains where team_id = ? and ${MAY_SEND} order by verified_at, id limit 1`, [
      teamId,
    ])
  );
}
