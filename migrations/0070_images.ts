import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  // Pictures for mail to many. The bytes stand in `contents` or in a file, under the picture's id.
  await knex.schema.createTable('images', (table) => {
    id(table, 'id').primary();
    id(table, 'team_id').notNullable().references('teams.id');
    // What stands in its address: whoever has it sees the picture.
    table.text('token').notNullable();
    table.text('content_hash').notNullable();
    table.text('content_type').notNullable();
    table.integer('bytes').notNullable();
    table.integer('width').notNullable();
    table.integer('height').notNullable();
    time(table, 'created_at').notNullable();
    // A reader who asks for one, and a body that names some.
    table.unique(['token']);
    // The same bytes again.
    table.unique(['team_id', 'content_hash']);
    // GET /images, and what all of a team weigh.
    table.index(['team_id', 'id']);
  });
  // Which pictures the bodies of broadcasts show that were sent, or are to be.
  await knex.schema.createTable('broadcast_images', (table) => {
    id(table, 'image_id').notNullable();
    id(table, 'broadcast_id').notNullable();
    // DELETE /images/{id} asks what shows it.
    table.primary(['image_id', 'broadcast_id']);
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('broadcast_images');
  await knex.schema.dropTable('images');
}
