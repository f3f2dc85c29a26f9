import type { Knex } from 'knex';
import { schemaState, type Db } from '../../src/platform/db/index.ts';

interface Step {
  up(knex: Knex): Promise<void>;
  down(knex: Knex): Promise<void>;
}

export const stepOf = (name: string): Promise<Step> =>
  import(new URL(`../../migrations/${name}.ts`, import.meta.url).href) as Promise<Step>;

/** Takes the last migrations back, so that the database is one of an older version; answers their names, the last first. */
export async function takeBack(db: Db, count: number): Promise<string[]> {
  const names = (await schemaState(db)).done.slice(-count).reverse();
  for (const name of names) {
    const step = await stepOf(name);
    await db.withKnex((knex) => knex.transaction((trx) => step.down(trx)));
    await db.run('delete from schema_migrations where name = ?', [name]);
  }
  return names;
}
