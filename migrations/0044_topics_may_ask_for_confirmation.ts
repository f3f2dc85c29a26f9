import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.alterTable('topics', (table) => {
    table.text('confirmation').notNullable().defaultTo('none');
    id(table, 'confirmation_template_id');
  });
  // Who was asked by mail whether it wants a topic, and has not answered.
  await knex.schema.createTable('topic_confirmations', (table) => {
    id(table, 'contact_id').notNullable();
    id(table, 'topic_id').notNullable();
    id(table, 'team_id').notNullable().references('teams.id');
    // Of this asking: the mail of each is accepted once.
    id(table, 'id').notNullable();
    time(table, 'asked_at').notNullable();
    time(table, 'mailed_at');
    // Why there was no mail.
    table.text('fault');
    table.primary(['contact_id', 'topic_id']);
  });
  // What is to be mailed, oldest first.
  await knex.raw('create index topic_confirmations_due on topic_confirmations (id) where mailed_at is null');
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('topic_confirmations');
  await knex.schema.alterTable('topics', (table) => {
    table.dropColumn('confirmation');
    table.dropColumn('confirmation_template_id');
  });
}
