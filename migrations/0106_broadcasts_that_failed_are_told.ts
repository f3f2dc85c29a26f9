import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  // What the findings read.
  await knex.raw("create index broadcasts_failed on broadcasts (updated_at) where status = 'failed'");
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop index broadcasts_failed');
}
