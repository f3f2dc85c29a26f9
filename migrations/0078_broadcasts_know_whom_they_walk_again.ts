import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

/**
 * Broadcasts that walk their segment more than once, by local hours or to try subjects: a contact may have another address by
 * then, and is known by itself as well.
 */
export async function up(knex: Knex): Promise<void> {
  const { id } = columnsFor(knex);
  await knex.schema.alterTable('broadcast_recipients', (table) => void id(table, 'walked_contact_id'));
  await knex.raw(
    'create index broadcast_recipients_walked on broadcast_recipients (broadcast_id, walked_contact_id) where walked_contact_id is not null',
  );
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop index broadcast_recipients_walked');
  await knex.schema.alterTable('broadcast_recipients', (table) => table.dropColumn('walked_contact_id'));
}
