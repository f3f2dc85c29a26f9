import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.createTable('templates', (table) => {
    id(table, 'id').primary();
    id(table, 'team_id').notNullable().references('teams.id');
    table.text('name').notNullable();
    table.text('alias');
    // What is edited, and what sends use: the same version while nothing waits to be published.
    id(table, 'draft_version_id').notNullable();
    id(table, 'published_version_id');
    time(table, 'created_at').notNullable();
    time(table, 'updated_at').notNullable();
    time(table, 'published_at');
    // A send or a path names a template by its alias, which is one template's alone; many have none.
    table.unique(['team_id', 'alias']);
    // GET /templates.
    table.index(['team_id', 'id']);
  });
  // Apart from the templates, so that the list and a send's look at what is published read no bodies.
  await knex.schema.createTable('template_versions', (table) => {
    id(table, 'id').primary();
    id(table, 'template_id').notNullable().references('templates.id');
    table.text('sender');
    table.text('subject');
    table.text('reply_to_list').notNullable();
    table.text('html').notNullable();
    table.text('text');
    table.text('variables').notNullable();
    time(table, 'created_at').notNullable();
    // Publishing drops the oldest versions, deleting drops all.
    table.index(['template_id', 'id']);
  });
}

export async function down(knex: Knex): Promise<void> {
  for (const table of ['template_versions', 'templates']) await knex.schema.dropTable(table);
}
