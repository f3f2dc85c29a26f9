import type { Knex } from 'knex';

/** Of a database that was copied to another, or is being made by that: one row, which no start of the program overlooks. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.createTable('database_moves', (table) => {
    // 'move': there is one.
    table.text('name').primary();
    // JSON: how far it is, from where or to where, when, and of which installation.
    table.text('value').notNullable();
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('database_moves');
}
