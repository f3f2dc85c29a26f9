import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id } = columnsFor(knex);
  await knex.schema.alterTable('broadcasts', (table) => {
    // The grant of the app that alone has written it; null once anybody else has.
    id(table, 'author_grant_id');
    // JSON, by the keys of the properties in small letters: what is printed for contacts without a value, as it was when the
    // broadcast was sent or scheduled. Null before that, and in those of earlier versions, which print what is declared.
    table.text('fallbacks');
  });
  await knex.schema.alterTable('inbox_drafts', (table) => {
    id(table, 'author_grant_id');
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.alterTable('inbox_drafts', (table) => table.dropColumn('author_grant_id'));
  await knex.schema.alterTable('broadcasts', (table) => table.dropColumns('author_grant_id', 'fallbacks'));
}
