import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  // Describes what a file of the blob store must contain. Content that an earlier version stored has no row until it is
  // found damaged.
  await knex.schema.createTable('content_files', (table) => {
    // The owner of the content: an email, an image, a draft or an import.
    id(table, 'owner_id').notNullable();
    table.text('name').notNullable();
    table.bigInteger('size').notNullable();
    // The hash in hexadecimal; null where only the size is known.
    table.text('sha256');
    // Set while the file is known to be damaged, with what is wrong with it.
    time(table, 'damaged_at');
    table.text('damage');
    // Serves reading one content, and removing everything that an owner has.
    table.primary(['owner_id', 'name']);
  });
  // Serves the findings, and the job that reads damaged files again.
  await knex.raw('create index content_files_damaged on content_files (damaged_at) where damaged_at is not null');
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('content_files');
}
