import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id } = columnsFor(knex);
  await knex.schema.alterTable('broadcasts', (table) => {
    // The grant of the app that is the only writer; null once anybody else has written.
    id(table, 'author_grant_id');
    // JSON object by property key in lower case: the fallback values as they were when the broadcast was sent or
    // scheduled. Null before that, and in rows of earlier versions, which print the declared values.
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
