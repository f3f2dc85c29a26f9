import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

/** Which mail a decision came by, where it came by a link in one. */
export async function up(knex: Knex): Promise<void> {
  const { id } = columnsFor(knex);
  await knex.schema.alterTable('consent_records', (table) => {
    id(table, 'email_id');
  });
}

export async function down(knex: Knex): Promise<void> {
  // On SQLite knex would make the table anew, and does not know one without row ids.
  await knex.raw('alter table consent_records drop column email_id');
}
