import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.createTable('emails', (table) => {
    id(table, 'id').primary();
    id(table, 'team_id').notNullable();
    id(table, 'api_key_id');
    id(table, 'domain_id').notNullable();
    table.text('sender').notNullable();
    table.text('to_list').notNullable();
    table.text('cc_list');
    table.text('bcc_list');
    table.text('reply_to_list');
    table.text('subject').notNullable();
    table.text('message_id').notNullable();
    table.text('tags');
    table.text('headers');
    table.text('topic_id');
    table.integer('attachment_count').notNullable();
    table.text('last_event').notNullable();
    // The millisecond of the id: a range of creation dates is a range of ids, and needs no index of its own.
    time(table, 'created_at').notNullable();
    time(table, 'scheduled_at');
    // Subject, sender and recipients in lower case, for the substring filter of GET /emails.
    table.text('search_text').notNullable();
    // GET /emails: alone, by status, by key, and by both.
    table.index(['team_id', 'id']);
    table.index(['team_id', 'last_event', 'id']);
    table.index(['team_id', 'api_key_id', 'id']);
    table.index(['team_id', 'api_key_id', 'last_event', 'id']);
  });
  // The list and the search read emails without dragging bodies through the cache.
  await knex.schema.createTable('email_bodies', (table) => {
    id(table, 'email_id').primary();
    table.text('html');
    table.text('text');
    // Bodies too large for a row: which of html and text lie in the blob store.
    table.integer('html_in_blob').notNullable();
    table.integer('text_in_blob').notNullable();
  });
  await knex.schema.createTable('email_attachments', (table) => {
    table.text('id').primary();
    id(table, 'email_id').notNullable();
    table.integer('position').notNullable();
    table.text('filename').notNullable();
    table.text('content_type').notNullable();
    table.text('content_disposition').notNullable();
    table.text('content_id');
    table.integer('size').notNullable();
    table.index(['email_id', 'position']);
  });
}

export async function down(knex: Knex): Promise<void> {
  for (const table of ['email_attachments', 'email_bodies', 'emails']) await knex.schema.dropTable(table);
}
