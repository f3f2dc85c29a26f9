import type { Db, Executor } from '../../platform/db/index.ts';

/** A domain with much mail to a provider, some of whose rules it does not meet. */
export interface UnmetRules {
  domainId: string;
  teamId: string;
  provider: string;
  /** The names of the rules. */
  rules: readonly string[];
  level: 'near' | 'over';
}

/** The same with the name of the domain, and since when. */
export type KnownUnmetRules = UnmetRules & { domainName: string; since: number };

interface Row {
  domain_id: string;
  team_id: string;
  provider: string;
  rules: string;
  level: string;
  since: number;
  name: string;
}

/** Replaces what is known; the time of a domain and provider that were known before stays. */
export async function replaceUnmetRules(db: Db, found: readonly UnmetRules[], now: number): Promise<void> {
  await db.tx(async (tx) => {
    const before = await tx.all<Pick<Row, 'domain_id' | 'provider' | 'since'>>(
      'select domain_id, provider, since from unmet_sender_rules',
      [],
    );
    const since = new Map(before.map((row) => [`${row.domain_id} ${row.provider}`, Number(row.since)]));
    await tx.run('delete from unmet_sender_rules', []);
    await tx.insertMany(
      'unmet_sender_rules',
      ['domain_id', 'provider', 'team_id', 'rules', 'level', 'since'],
      found.map((one) => [
        one.domainId,
        one.provider,
        one.teamId,
        JSON.stringify(one.rules),
        one.level,
        since.get(`${one.domainId} ${one.provider}`) ?? now,
      ]),
    );
  });
}

/** Loads the names of the unmet rules that are known, by domain and provider. */
export async function loadUnmetRules(db: Executor): Promise<Map<string, readonly string[]>> {
  const rows = await db.all<Pick<Row, 'domain_id' | 'provider' | 'rules'>>(
    'select domain_id, provider, rules from unmet_sender_rules',
    [],
  );
  return new Map(rows.map((row) => [`${row.domain_id} ${row.provider}`, JSON.parse(row.rules) as string[]]));
}

/** Lists what the last check found of all teams, or of one. Domains that were removed or transferred since have nothing. */
export async function listUnmetRules(
  db: Executor,
  { teamId, limit }: { teamId: string | undefined; limit: number },
): Promise<KnownUnmetRules[]> {
  const rows = await db.all<Row>(
    `select u.domain_id, u.team_id, u.provider, u.rules, u.level, u.since, d.name from unmet_sender_rules u
      join domains d on d.id = u.domain_id and d.team_id = u.team_id
      ${teamId === undefined ? '' : 'where u.team_id = ?'} order by u.since, u.domain_id, u.provider limit ?`,
    [...(teamId === undefined ? [] : [teamId]), limit],
  );
  return rows.map((row) => ({
    domainId: row.domain_id,
    teamId: row.team_id,
    provider: row.provider,
    rules: JSON.parse(row.rules) as string[],
    level: row.level === 'over' ? 'over' : 'near',
    since: Number(row.since),
    domainName: row.name,
  }));
}
