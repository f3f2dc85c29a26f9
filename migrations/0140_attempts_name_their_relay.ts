import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.schema.alterTable('delivery_attempts', (table) => {
    table.text('relay');
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.alterTable('delivery_attempts', (table) => {
    table.dropColumn('relay');
  });
}
