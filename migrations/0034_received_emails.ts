import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  // One row for each team and message.
  await knex.schema.createTable('received_emails', (table) => {
    id(table, 'id').primary();
    id(table, 'team_id').notNullable();
    table.text('sender').notNullable();
    table.text('to_list').notNullable();
    table.text('cc_list');
    table.text('bcc_list');
    table.text('reply_to_list');
    table.text('subject').notNullable();
    table.text('message_id').notNullable();
    table.text('received_for').notNullable();
    table.text('dropped_reason');
    table.integer('attachment_count').notNullable();
    // Whether the source lies in the blob store.
    table.integer('has_raw').notNullable();
    // What it takes of the team's inbound storage.
    table.bigInteger('stored_bytes').notNullable();
    // The envelope, which the message does not bear.
    table.text('mail_from').notNullable();
    table.text('client_address').notNullable();
    table.text('client_name').notNullable();
    table.text('authentication');
    // Recognises a message that is sent again because its 250 was lost; null where it bears no Message-ID.
    table.text('fingerprint');
    time(table, 'created_at').notNullable();
    // GET /emails/receiving, and what is past retention.
    table.index(['team_id', 'id']);
    table.unique(['team_id', 'fingerprint']);
  });
  // The list reads emails without dragging bodies through the cache.
  await knex.schema.createTable('received_bodies', (table) => {
    id(table, 'received_id').primary();
    table.text('html');
    table.text('text');
    table.text('headers');
    // Which of them lie in the blob store, because they are too large for a row.
    table.integer('html_in_blob').notNullable();
    table.integer('text_in_blob').notNullable();
    table.integer('headers_in_blob').notNullable();
  });
  await knex.schema.createTable('received_attachments', (table) => {
    table.text('id').primary();
    id(table, 'received_id').notNullable();
    table.integer('position').notNullable();
    table.text('filename');
    table.text('content_type').notNullable();
    table.text('content_disposition');
    table.text('content_id');
    table.bigInteger('size').notNullable();
    // 0 for a part that is listed and was not kept.
    table.integer('is_stored').notNullable();
    table.index(['received_id', 'position']);
  });
  // What a team's received mail takes, counted in the transaction that adds or removes some.
  await knex.schema.createTable('received_storage', (table) => {
    id(table, 'team_id').primary();
    table.bigInteger('bytes').notNullable();
  });
}

export async function down(knex: Knex): Promise<void> {
  for (const table of ['received_storage', 'received_attachments', 'received_bodies', 'received_emails']) {
    await knex.schema.dropTable(table);
  }
}
