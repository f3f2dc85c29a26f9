import { uuidsIn, type Executor } from '../../platform/db/index.ts';

/** Where the names of those who decide for a contact are, by their kind. An app acts for a user. */
const NAMED: Readonly<Record<string, string>> = {
  api_key: 'select id, name from api_keys where',
  user: 'select id, email as name from users where',
  app: 'select id, email as name from users where',
  automation: 'select id, name from automations where',
};

/** Returns the names of keys, users and automations that still exist, by kind and id. */
export async function namesOfActors(
  db: Executor,
  actors: readonly { kind: string; id: string | null }[],
): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  for (const [kind, some] of Map.groupBy(actors, (actor) => actor.kind)) {
    const sql = NAMED[kind];
    if (sql === undefined) continue;
    const among = uuidsIn(db.dialect, 'id', [...new Set(some.flatMap(({ id }) => id ?? []))]);
    const rows = await db.all<{ id: string; name: string }>(`${sql} ${among.sql}`, [among.value]);
    for (const { id, name } of rows) names.set(`${kind} ${id}`, name);
  }
  return names;
}
