import type { Knex } from 'knex';

/** When the database heard of a node last, by its own clock: those of the nodes may differ. Versions before leave it empty. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.alterTable('node_reports', (table) => void table.bigInteger('heard_at'));
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.alterTable('node_reports', (table) => void table.dropColumn('heard_at'));
}
