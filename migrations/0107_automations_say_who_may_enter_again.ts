import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.alterTable('automations', (table) => {
    // Whether a contact begins again: always, when_ended or never.
    table.text('reentry').notNullable().defaultTo('always');
  });
  // Whom an automation that nobody enters twice has had. Its runs are removed by age.
  await knex.schema.createTable('automation_entries', (table) => {
    id(table, 'automation_id').notNullable();
    id(table, 'contact_id').notNullable();
    time(table, 'created_at').notNullable();
    table.primary(['automation_id', 'contact_id']);
    // Those of a contact that is erased.
    table.index(['contact_id']);
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('automation_entries');
  await knex.schema.alterTable('automations', (table) => table.dropColumn('reentry'));
}
