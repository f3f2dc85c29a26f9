import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.createTable('inbound_rules', (table) => {
    id(table, 'id').primary();
    id(table, 'team_id').notNullable().references('teams.id');
    table.text('pattern').notNullable();
    table.text('action').notNullable();
    // JSON: a list of addresses.
    table.text('forward_to').notNullable();
    time(table, 'created_at').notNullable();
    // The list, newest first, and all of a team's rules when mail comes in.
    table.index(['team_id', 'id']);
    table.unique(['team_id', 'pattern']);
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('inbound_rules');
}
