import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  // JSON: the keys that a filter names and whose properties were deleted since. A property that is declared under such a key
  // again is another one, of which nobody has a value yet.
  await knex.schema.alterTable('segments', (table) => void table.text('lost_properties'));
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.alterTable('segments', (table) => table.dropColumn('lost_properties'));
}
