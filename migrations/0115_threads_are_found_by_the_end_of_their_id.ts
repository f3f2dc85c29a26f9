import type { Knex } from 'knex';

/** GET /inboxes/{inbox}/threads?id_end= reads the ids of an inbox in their order. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('create index inbox_threads_by_id on inbox_threads (inbox_id, id)');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop index inbox_threads_by_id');
}
