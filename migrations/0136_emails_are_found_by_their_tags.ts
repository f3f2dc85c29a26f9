import type { Knex } from 'knex';

/** A row for each tag of each email, written with the email and removed with it. */
export async function up(knex: Knex): Promise<void> {
  const isPg = knex.client.config.client === 'pg';
  const id = isPg ? 'uuid' : 'text';
  // A tag is `name:value`; neither half can contain a colon. The key serves GET /emails and GET /emails/metrics with a tag, the
  // question whether an email has one, and its removal with the email, whose row names its tags.
  await knex.raw(`create table email_tags (
    team_id ${id} not null,
    tag text ${isPg ? 'collate "C"' : ''} not null,
    email_id ${id} not null,
    primary key (team_id, tag, email_id)) ${isPg ? '' : 'without rowid'}`);
  // Only lists are read; whatever else may stand in the column names no tag.
  await knex.raw(
    isPg
      ? `insert into email_tags (team_id, tag, email_id)
          select distinct emails.team_id, tag.name || ':' || tag.value, emails.id
          from emails, jsonb_to_recordset(
            case when jsonb_typeof(emails.tags::jsonb) = 'array' then emails.tags::jsonb else '[]'::jsonb end
          ) as tag(name text, value text)
          where emails.tags is not null`
      : `insert or ignore into email_tags (team_id, tag, email_id)
          select emails.team_id, json_extract(tag.value, '$.name') || ':' || json_extract(tag.value, '$.value'), emails.id
          from emails, json_each(case when json_type(emails.tags) = 'array' then emails.tags else '[]' end) as tag
          where emails.tags is not null`,
  );
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('email_tags');
}
