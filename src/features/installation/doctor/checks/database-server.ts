import { formatHost, parsePostgresUrl } from '../../../../protocol/postgres-url.ts';
import { readReplication, type Replication } from '../../findings/examinations.store.ts';
import { nothingSeen, skipped, type Check } from '../check.ts';

/** Reports which PostgreSQL server is used, whether standbys follow it, and what an acknowledged message survives. */
export const checkDatabaseServer: Check = async ({ world: { config, db } }) => {
  if (db.dialect !== 'pg') return skipped('SQLite has no other server');
  const seen = nothingSeen();
  const replication = await readReplication(db);
  const { isStandby, standbys, version } = replication;
  const { hosts = [] } = parsePostgresUrl(config.database.url) ?? {};
  const used = db.serverInUse() ?? hosts.map(formatHost).join(', ');
  const choice = hosts.length > 1 ? `, one of ${hosts.length} servers of database.url` : '';
  seen.says.push(`PostgreSQL ${version} at ${used} is ${isStandby ? 'a standby' : 'the primary'}${choice}`);
  if (isStandby) return seen;
  if (standbys.includes(null))
    seen.unknown.push({
      says: 'whether the connected standbys are up to date: this database user may not see it (grant pg_monitor to it)',
    });
  seen.says.push(describeStandbys(standbys), describeProtection(replication));
  return seen;
};

function describeStandbys(standbys: Replication['standbys']): string {
  if (standbys.length === 0) return 'No standby is connected to it';
  const connected = standbys.length === 1 ? 'One standby is connected' : `${standbys.length} standbys are connected`;
  if (standbys.includes(null)) return connected;
  return `${connected} (${[...new Set(standbys)].join(', ')})`;
}

/** The place at which a commit is when it is acknowledged, by the value of `synchronous_commit`. */
const PLACES: Readonly<Record<string, string>> = {
  remote_write: 'is in the memory of a standby',
  on: 'is on the disk of a standby',
  remote_apply: 'is on the disk of a standby and visible there',
};

function describeProtection({ synchronousCommit, synchronousStandbys, synchronous, standbys }: Replication): string {
  const place = PLACES[synchronousCommit];
  if (synchronousStandbys === '')
    return 'An acknowledged message is on the disk of the primary only (synchronous_standby_names is empty)';
  if (place === undefined)
    return `An acknowledged message is on the disk of the primary only (synchronous_commit is ${synchronousCommit})`;
  const missing =
    synchronous === 0 && !standbys.includes(null) ? '; no such standby is connected, so commits wait' : '';
  return `An acknowledged message ${place} (synchronous_commit is ${synchronousCommit})${missing}`;
}
