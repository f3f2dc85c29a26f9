import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  await createInboxes(knex);
  await createThreads(knex);
  await createDrafts(knex);
}

async function createInboxes(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.createTable('inboxes', (table) => {
    id(table, 'id').primary();
    id(table, 'team_id').notNullable().references('teams.id');
    id(table, 'domain_id').notNullable();
    table.text('address').notNullable();
    // In the form in which addresses are compared; '*@' and the domain for what has no inbox of its own.
    table.text('address_key').notNullable();
    // Where the address is forwarded to; null where its mail arrives here.
    table.text('receiving_address');
    table.text('name');
    table.text('from_name');
    // 'open', 'restricted' or 'personal'.
    table.text('channel').notNullable();
    table.text('signature');
    table.integer('thread_by_subject').notNullable().defaultTo(0);
    table.text('agent_instructions');
    table.text('agent_tone');
    // JSON, because it is written and read as a whole.
    table.text('agent_actions').notNullable();
    time(table, 'last_received_at');
    time(table, 'created_at').notNullable();
    time(table, 'updated_at').notNullable();
    // Set first; the rows of its threads go in small batches.
    time(table, 'deleted_at');
  });
  await knex.raw('create index inboxes_live on inboxes (team_id, id) where deleted_at is null');
  // Where a message goes that was received; an address is free again once its inbox is deleted.
  await knex.raw('create unique index inboxes_live_address on inboxes (team_id, address_key) where deleted_at is null');
  await knex.raw(`create unique index inboxes_live_receiving on inboxes (team_id, receiving_address)
    where deleted_at is null and receiving_address is not null`);
  // What goes with a domain.
  await knex.raw('create index inboxes_of_domain on inboxes (domain_id) where deleted_at is null');
  await knex.raw('create index inboxes_deleted on inboxes (deleted_at) where deleted_at is not null');
  await knex.schema.createTable('inbox_labels', (table) => {
    id(table, 'id').primary();
    id(table, 'inbox_id').notNullable();
    table.text('name').notNullable();
    // In one letter case.
    table.text('name_key').notNullable();
    table.text('color').notNullable();
    time(table, 'created_at').notNullable();
    // Set first; what threads have of it goes in small batches.
    time(table, 'deleted_at');
  });
  await knex.raw('create unique index inbox_labels_live on inbox_labels (inbox_id, name_key) where deleted_at is null');
  await knex.raw('create index inbox_labels_deleted on inbox_labels (deleted_at) where deleted_at is not null');
  await knex.raw('create index inbox_labels_of_inbox on inbox_labels (inbox_id)');
}

async function createThreads(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.createTable('inbox_threads', (table) => {
    id(table, 'id').primary();
    id(table, 'team_id').notNullable();
    id(table, 'inbox_id').notNullable();
    table.text('subject').notNullable();
    // Without its prefixes of answers; compared where an inbox is set so.
    table.text('subject_key').notNullable();
    // 'inbox', 'archive', 'spam', 'sent', 'trash', or 'snoozed', which the API shows as inbox.
    table.text('folder').notNullable();
    table.integer('is_read').notNullable();
    // The order of lists: the id of the newest email, or one made when the thread woke.
    id(table, 'sort_id').notNullable();
    table.integer('email_count').notNullable();
    table.integer('has_attachment').notNullable();
    // Of its newest email.
    time(table, 'last_at').notNullable();
    table.text('sender').notNullable();
    table.text('to_list').notNullable();
    table.text('cc_list').notNullable();
    table.text('bcc_list').notNullable();
    table.text('snippet').notNullable();
    id(table, 'assignee_id');
    time(table, 'snoozed_until');
    table.text('notes');
    time(table, 'trashed_at');
    time(table, 'created_at').notNullable();
    // GET /inboxes/{inbox}/threads, folder by folder.
    table.index(['inbox_id', 'folder', 'sort_id'], 'inbox_threads_by_folder');
    table.index(['inbox_id', 'is_read', 'folder', 'sort_id'], 'inbox_threads_by_read');
  });
  await knex.raw('create index inbox_threads_snoozed on inbox_threads (snoozed_until) where snoozed_until is not null');
  await knex.raw('create index inbox_threads_trashed on inbox_threads (trashed_at) where trashed_at is not null');
  await createThreadRows(knex);
}

/** What a thread consists of. An email stands in one thread of an inbox. */
async function createThreadRows(knex: Knex): Promise<void> {
  const isPg = knex.client.config.client === 'pg';
  const uuid = isPg ? 'uuid' : 'text';
  const clustered = isPg ? '' : 'without rowid';
  // The email itself is a row of received_emails or emails; here is what it is found by, in the form in which text is compared.
  await knex.raw(`create table inbox_emails (
    inbox_id ${uuid} not null,
    email_id ${uuid} not null,
    thread_id ${uuid} not null,
    team_id ${uuid} not null,
    direction text not null,
    is_read smallint not null,
    has_attachment smallint not null,
    from_text text not null,
    to_text text not null,
    cc_text text not null,
    bcc_text text not null,
    body_text text not null,
    primary key (inbox_id, email_id))`);
  await knex.raw('create index inbox_emails_of_thread on inbox_emails (thread_id, email_id)');
  await knex.raw('create index inbox_emails_unread on inbox_emails (thread_id) where is_read = 0');
  // What goes with an email that is removed.
  await knex.raw('create index inbox_emails_by_email on inbox_emails (email_id)');
  // Every id that an email of the thread bears ('sent', 'received') or refers to ('referenced'), as a hash; with the subject of
  // the email that bears it.
  await knex.raw(`create table inbox_message_ids (
    inbox_id ${uuid} not null,
    id_key text not null,
    thread_id ${uuid} not null,
    kind text not null,
    subject text,
    primary key (inbox_id, id_key, thread_id)) ${clustered}`);
  await knex.raw('create index inbox_message_ids_of_thread on inbox_message_ids (thread_id)');
  // Who takes part, but for the inbox itself.
  await knex.raw(`create table inbox_participants (
    inbox_id ${uuid} not null,
    address_key text not null,
    thread_id ${uuid} not null,
    primary key (inbox_id, address_key, thread_id)) ${clustered}`);
  await knex.raw('create index inbox_participants_of_thread on inbox_participants (thread_id)');
  // With a copy of what threads are listed by.
  await knex.raw(`create table inbox_thread_labels (
    thread_id ${uuid} not null,
    label_id ${uuid} not null,
    folder text not null,
    is_read smallint not null,
    sort_id ${uuid} not null,
    primary key (thread_id, label_id)) ${clustered}`);
  await knex.raw('create index inbox_thread_labels_by_folder on inbox_thread_labels (label_id, folder, sort_id)');
  await knex.raw(
    'create index inbox_thread_labels_by_read on inbox_thread_labels (label_id, is_read, folder, sort_id)',
  );
}

async function createDrafts(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.createTable('inbox_drafts', (table) => {
    id(table, 'id').primary();
    id(table, 'team_id').notNullable();
    id(table, 'inbox_id').notNullable();
    // Both or neither: what it answers.
    id(table, 'thread_id');
    id(table, 'reply_to_email_id');
    // JSON; null where nothing was said.
    table.text('to_list');
    table.text('cc_list').notNullable();
    table.text('bcc_list').notNullable();
    table.text('subject');
    table.text('html');
    table.text('text');
    // The email that it was sent as: set in the transaction that accepts it.
    id(table, 'email_id');
    time(table, 'created_at').notNullable();
    time(table, 'updated_at').notNullable();
    // What goes with an inbox.
    table.index(['inbox_id', 'id']);
  });
  await knex.raw('create index inbox_drafts_unsent on inbox_drafts (inbox_id, id) where email_id is null');
  await knex.raw('create index inbox_drafts_of_thread on inbox_drafts (thread_id) where thread_id is not null');
  await knex.raw('create index inbox_drafts_sent on inbox_drafts (email_id) where email_id is not null');
  await knex.schema.createTable('inbox_draft_files', (table) => {
    table.text('id').primary();
    id(table, 'draft_id').notNullable();
    table.integer('position').notNullable();
    table.text('filename').notNullable();
    table.text('content_type').notNullable();
    table.bigInteger('size').notNullable();
    table.index(['draft_id', 'position']);
  });
}

export async function down(knex: Knex): Promise<void> {
  const tables = [
    'inbox_draft_files',
    'inbox_drafts',
    'inbox_thread_labels',
    'inbox_participants',
    'inbox_message_ids',
    'inbox_emails',
    'inbox_threads',
    'inbox_labels',
    'inboxes',
  ];
  for (const table of tables) await knex.schema.dropTable(table);
}
