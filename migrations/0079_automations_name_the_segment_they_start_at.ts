import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

/** Of `contact.added_to_segment`, the one segment that an automation starts at; null where it starts at all of them. */
export async function up(knex: Knex): Promise<void> {
  const { id } = columnsFor(knex);
  await knex.schema.alterTable('automations', (table) => void id(table, 'trigger_segment_id'));
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.alterTable('automations', (table) => table.dropColumn('trigger_segment_id'));
}
