import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id } = columnsFor(knex);
  await knex.schema.alterTable('approvals', (table) => {
    // Of a call that sends a broadcast: which one, and how many of its segment wanted mail when the app asked.
    id(table, 'broadcast_id');
    table.integer('seen_contacts');
  });
  // What an app may not fill while the broadcast that was approved for it has not left.
  await knex.raw(
    'create index approvals_by_broadcast on approvals (grant_id, broadcast_id) where broadcast_id is not null',
  );
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop index approvals_by_broadcast');
  await knex.schema.alterTable('approvals', (table) => table.dropColumns('broadcast_id', 'seen_contacts'));
}
