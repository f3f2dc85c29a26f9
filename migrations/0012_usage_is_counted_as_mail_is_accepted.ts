import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id } = columnsFor(knex);
  // One row for each team, day or month (UTC) and kind of mail; a send adds to two of them.
  await knex.schema.createTable('usage_counters', (table) => {
    id(table, 'team_id').notNullable();
    table.text('period').notNullable();
    table.text('kind').notNullable();
    table.bigInteger('used').notNullable();
    table.primary(['team_id', 'period', 'kind']);
  });
  await knex.schema.alterTable('emails', (table) => {
    // The template an email was made from; its events name it.
    id(table, 'template_id');
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.alterTable('emails', (table) => table.dropColumn('template_id'));
  await knex.schema.dropTable('usage_counters');
}
