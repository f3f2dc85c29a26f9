import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.schema.alterTable('emails', (table) => {
    // The envelope sender of what is passed on, empty for notices; null where a return path of ours is made for it.
    table.text('mail_from');
  });
  await knex.schema.alterTable('email_messages', (table) => {
    // What the next ARC seal says of those before it; null where the message is signed and not passed on.
    table.text('arc_chain');
  });
  await knex.schema.alterTable('email_attachments', (table) => {
    // Where a file stands, encoded, in the body of a message that its client composed.
    table.integer('message_start');
    table.integer('message_end');
    table.text('message_encoding');
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.alterTable('email_attachments', (table) =>
    table.dropColumns('message_start', 'message_end', 'message_encoding'),
  );
  await knex.schema.alterTable('email_messages', (table) => table.dropColumn('arc_chain'));
  await knex.schema.alterTable('emails', (table) => table.dropColumn('mail_from'));
}
