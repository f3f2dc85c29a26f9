import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.createTable('contact_imports', (table) => {
    id(table, 'id').primary();
    id(table, 'team_id').notNullable().references('teams.id');
    table.text('status').notNullable();
    // JSON: how the file is read, and what is done with its rows.
    table.text('options').notNullable();
    for (const counter of ['total', 'created', 'updated', 'skipped', 'failed']) {
      table.integer(counter).notNullable().defaultTo(0);
    }
    // Where it goes on: rows up to here, the header among them, are in the counts.
    table.integer('rows_read').notNullable().defaultTo(0);
    // Claims since a row was last read: a file that ends every one of them is given up.
    table.integer('tries').notNullable().defaultTo(0);
    table.text('lease_owner');
    time(table, 'lease_until');
    time(table, 'created_at').notNullable();
    time(table, 'completed_at');
    time(table, 'file_removed_at');
    // GET /contacts/imports, with and without `status`.
    table.index(['team_id', 'id']);
    table.index(['team_id', 'status', 'id']);
  });
  // What is to be worked on, oldest first.
  await knex.raw('create index contact_imports_open on contact_imports (id) where completed_at is null');
  // Whose file is to go.
  await knex.raw(
    'create index contact_imports_with_file on contact_imports (completed_at) where completed_at is not null and file_removed_at is null',
  );
  await knex.schema.createTable('contact_import_failures', (table) => {
    id(table, 'import_id').notNullable().references('contact_imports.id');
    table.integer('row').notNullable();
    table.text('reason').notNullable();
    table.text('value');
    // GET /contacts/imports/{id}/failures, in the order of the file.
    table.primary(['import_id', 'row']);
  });
}

export async function down(knex: Knex): Promise<void> {
  for (const table of ['contact_import_failures', 'contact_imports']) await knex.schema.dropTable(table);
}
