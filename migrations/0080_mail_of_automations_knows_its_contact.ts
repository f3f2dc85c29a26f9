import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id } = columnsFor(knex);
  // The contact that a run of an automation writes to: the claim asks whether it has left. Null for all other mail.
  await knex.schema.alterTable('deliveries', (table) => void id(table, 'contact_id'));
  // The depth of that run: what begins where the email is opened, clicked or bounces is one deeper. Null for all other mail.
  await knex.schema.alterTable('emails', (table) => void table.integer('run_depth'));
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.alterTable('deliveries', (table) => table.dropColumn('contact_id'));
  await knex.schema.alterTable('emails', (table) => table.dropColumn('run_depth'));
}
