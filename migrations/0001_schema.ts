import type { Knex } from 'knex';

/**
 * Creates the whole schema, for both databases from one text. Ids are `uuid` on PostgreSQL and `text` on SQLite,
 * times are milliseconds in a `bigint`, and JSON is `text` unless a query reads into it.
 */
export async function up(knex: Knex): Promise<void> {
  const isPg = knex.client.config.client === 'pg';
  for (const statement of createTables(isPg).split(/;\n/)) {
    if (statement.trim() !== '') await knex.raw(statement);
  }
  await knex('instance_settings').insert([
    { name: 'sending', value: JSON.stringify({ isOn: true, reason: null }) },
    { name: 'sending.marketing', value: JSON.stringify({ isOn: true, reason: null }) },
  ]);
  if (isPg) await finishOnPostgres(knex);
  else {
    await knex.raw(`create trigger audit_log_append_only before update on audit_log
      begin select raise(abort, 'audit_log is append-only'); end`);
  }
}

/**
 * Columns whose changes other nodes must notice, because they cache the rows of these tables; empty for all columns.
 */
const REMEMBERED: Record<string, string[]> = {
  // Excludes last_used_at, which is written all day.
  api_keys: ['team_id', 'token_hash', 'permission', 'domain_id', 'status'],
  domains: [],
  instance_settings: [],
  operators: [],
  teams: [],
  templates: [],
};

async function finishOnPostgres(knex: Knex): Promise<void> {
  await knex.raw('alter table contents alter column content set storage external');
  // Indexes for searching lists by the beginning of a text. SQLite uses the unique index of a team's addresses for
  // that.
  for (const table of ['contacts', 'suppressions']) {
    await knex.raw(`create index ${table}_email_start on ${table} (team_id, email_key collate "C", id)`);
  }
  await knex.raw(`create function audit_log_is_append_only() returns trigger language plpgsql as
    $$ begin raise exception 'audit_log is append-only'; end $$`);
  await knex.raw(`create trigger audit_log_append_only before update on audit_log
    for each statement execute function audit_log_is_append_only()`);
  // Each commit that changes a table changes a number: as long as the sum of its rows is the same, what was read before
  // is still valid. Concurrent writers use different slots, so that none waits for another. SQLite needs none of this,
  // because only one process writes to it.
  await knex.raw(`create table table_changes (
    table_name text not null,
    slot bigint not null,
    version bigint not null,
    primary key (table_name, slot)
  )`);
  // Triggers, so that no writer can forget it: another version, a command on the machine, an operator with psql. The
  // number is random and not the next one: after a fail-over that loses commits, the same number would return for other
  // rows.
  await knex.raw(`create function note_table_change() returns trigger language plpgsql as $$
    declare free bigint;
    begin
      select slot into free from table_changes where table_name = tg_table_name order by slot limit 1 for update skip locked;
      if found then
        update table_changes set version = floor(random() * 281474976710656) where table_name = tg_table_name and slot = free;
      else
        insert into table_changes (table_name, slot, version)
          values (tg_table_name, 1 + floor(random() * 281474976710656), floor(random() * 281474976710656));
      end if;
      return null;
    end $$`);
  for (const [table, columns] of Object.entries(REMEMBERED)) {
    await knex('table_changes').insert({ table_name: table, slot: 0, version: 0 });
    const updates = columns.length === 0 ? 'update' : `update of ${columns.join(', ')}`;
    await knex.raw(`create trigger notes_change after insert or ${updates} or delete on ${table}
      for each statement execute function note_table_change()`);
    await knex.raw(`create trigger notes_emptying after truncate on ${table}
      for each statement execute function note_table_change()`);
  }
}

function createTables(isPg: boolean): string {
  const id = isPg ? 'uuid' : 'text';
  const json = isPg ? 'jsonb' : 'text';
  const bytes = isPg ? 'bytea' : 'blob';
  const serial = isPg ? 'serial primary key' : 'integer not null primary key autoincrement';
  const collateC = isPg ? ' collate "C"' : '';
  const unlogged = isPg ? 'unlogged ' : '';
  const grams = isPg ? ',\n  grams integer[] not null' : '';
  const indexGrams = (name: string): string =>
    isPg
      ? `create index ${name}_blocks_grams on ${name}_blocks using gin (grams)`
      : `create virtual table ${name}_grams using fts5 (grams, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii')`;
  const withoutRowid = isPg ? '' : ' without rowid';
  return `
-- ==================================
-- Teams, their keys, plans and usage
-- ==================================

create table teams (
  id ${id} primary key,
  name text not null,
  slug text not null,
  risk_state text not null,
  plan_code text not null,
  created_at bigint not null,
  sender_name text,
  -- JSON, because it is written and read as a whole.
  postal_address text,
  ai_assist_enabled integer not null default 0,
  -- JSON, because it is written and read as a whole: who is told of what concerns the team.
  admin_emails text,
  -- Why the team is suspended, as its operator wrote; null without a reason.
  risk_reason text,
  -- The language of what recipients read, unless their own is known.
  default_language text not null default 'en',
  -- The key of the contact property with a recipient's language; null for language or locale.
  language_property text,
  -- How the pages for recipients look: an image, a color and the team's own words.
  logo_url text,
  accent_color text,
  page_headline text,
  page_intro text,
  page_goodbye text,
  -- JSON: how many marketing emails a contact gets at most in how many days; null without a limit.
  marketing_cap text,
  -- The public archive of broadcasts: whether there is one, whether search engines may list it, and the random part of its
  -- address, which stays while the archive is off.
  archive_enabled integer not null default 0,
  archive_indexed integer not null default 0,
  archive_token text
);
create unique index teams_slug_unique on teams (slug);
-- Pages of the archive.
create unique index teams_archive_token on teams (archive_token) where archive_token is not null;

-- Teams that are to be deleted, and those that are being deleted. The row goes with the team.
create table team_deletions (
  team_id ${id} primary key,
  reason text not null,
  -- The account on the machine that asked for it.
  requested_by text,
  -- The state and its reason that the team has again if it is kept.
  risk_state text not null,
  risk_reason text,
  requested_at bigint not null,
  due_at bigint not null,
  -- From then on the team cannot be kept.
  started_at bigint,
  -- When everything was removed but what the open month is billed by.
  removed_at bigint,
  -- JSON: how many rows of each table were removed, how many owners of files, and how many accounts.
  removed text not null,
  lease_owner text,
  lease_until bigint
);
-- Serves the job that deletes what is due.
create index team_deletions_due on team_deletions (due_at) where removed_at is null;

create table api_keys (
  id ${id} primary key,
  team_id ${id} not null references teams (id),
  name text not null,
  token_hash text not null,
  key_prefix text not null,
  permission text not null,
  domain_id ${id},
  status text not null,
  created_at bigint not null,
  last_used_at bigint,
  last_used_request_log_id text
);
-- GET /api-keys, newest first. A team has few keys: its filters run over this index.
create index api_keys_team_id_id_index on api_keys (team_id, id);
create unique index api_keys_token_hash_unique on api_keys (token_hash);

create table operators (
  id ${id} primary key,
  name text not null,
  token_hash text not null,
  token_prefix text not null,
  created_at bigint not null,
  revoked_at bigint
);
create unique index operators_token_hash_unique on operators (token_hash);

create table instance_settings (
  name text primary key,
  value text not null,
  -- Null as long as nobody has touched the switch.
  changed_at bigint
);

-- One row for each team, day or month (UTC) and kind of mail; a send adds to two of them.
create table usage_counters (
  team_id ${id} not null,
  period text not null,
  kind text not null,
  used bigint not null,
  primary key (team_id, period, kind)
);

-- Token buckets that the nodes share. A crash may forget them, so PostgreSQL keeps them out of its log.
create ${unlogged}table rate_limits (
  bucket text primary key,
  tokens double precision not null,
  updated_at bigint not null,
  taken integer
);

create table idempotency_keys (
  team_id ${id} not null,
  key text not null,
  request_hash text not null,
  response text not null,
  expires_at bigint not null,
  primary key (team_id, key)
);
-- The sweep removes what is older than a day.
create index idempotency_keys_expires_at_index on idempotency_keys (expires_at);

-- One row for each answered request of a team, written behind the answer. Bodies stand last, so that a list reads past none of
-- them. The id is the request's and carries its time; no foreign keys, for each would be a look-up per row.
create table request_logs (
  team_id ${id} not null,
  id ${id} not null,
  api_key_id ${id},
  method text not null,
  endpoint text not null,
  response_status integer not null,
  user_agent text,
  request_body text,
  response_body text,
  -- Ids may run ahead of a clock that was set back, so the time has a column of its own.
  created_at bigint,
  -- GET /logs, GET /logs/{id}, and retention, which goes by team.
  primary key (team_id, id)
);
-- GET /logs with search.
create index request_logs_endpoint_start on request_logs (team_id, endpoint${collateC}, id);
-- GET /logs with 'response_status', which asks for refusals alone: what went well, nearly all of it, is not in this index.
create index request_logs_refusals on request_logs (team_id, response_status, id) where response_status >= 400;

-- Entries are never updated (a trigger refuses that); they are removed by age.
create table audit_log (
  -- Its time is in it.
  id ${id} primary key,
  -- Whose it is; null for what concerns the whole installation.
  team_id ${id},
  action text not null,
  subject_id text,
  -- 'api_key', 'user', 'app', 'operator', 'system', or 'command' for what was typed on the machine itself.
  actor_kind text not null,
  actor_id text,
  actor_name text,
  -- The name of an app that acted for a person, and its grant.
  actor_app text,
  actor_grant_id ${id},
  address text,
  user_agent text,
  request_id text,
  -- JSON, without secrets.
  details text,
  -- Ids may run ahead of a clock that was set back, so the time has a column of its own.
  created_at bigint
);
-- GET /audit; GET /operator/audit and the removal of what is old go by the key.
create index audit_log_by_team on audit_log (team_id, id) where team_id is not null;

-- Which plan a team has had since when; days of a month are charged by it. Nothing before the first row is charged.
create table team_plans (
  id ${id} primary key,
  team_id ${id} not null references teams (id),
  plan_code text not null,
  since bigint not null
);
create index team_plans_team_id_id_index on team_plans (team_id, id);

-- What a plan of the configuration was since when, a JSON object; the last one of a code serves its teams when the plan is gone.
create table plan_terms (
  id ${id} primary key,
  plan_code text not null,
  terms text not null,
  since bigint not null
);
create index plan_terms_plan_code_id_index on plan_terms (plan_code, id);

-- =======
-- Domains
-- =======

create table domains (
  id ${id} primary key,
  team_id ${id} not null references teams (id),
  name text not null,
  status text not null,
  region text not null,
  open_tracking integer not null,
  click_tracking integer not null,
  tracking_subdomain text not null,
  custom_return_path text not null,
  tls text not null,
  created_at bigint not null,
  -- When a call last asked for verification or a new key: one call a minute.
  asked_at bigint,
  -- When its records were last looked up, by a call or by the sweep.
  checked_at bigint,
  first_checked_at bigint,
  verified_at bigint,
  sending text not null default 'enabled',
  -- "unsupported" until the team has said once what it wants.
  receiving text not null default 'unsupported',
  -- When a record of a verified capability was first seen absent or wrong; null while all is well.
  failing_since bigint,
  -- Since when the name is its team's, sent from or not.
  held_at bigint,
  receiving_since bigint,
  receiving_verified_at bigint,
  receiving_failing_since bigint,
  -- Links in mail that was sent before keep working for a while after the tracking subdomain changed.
  former_tracking_subdomains text,
  -- Whether the certificate of the receiving server has to be valid for its name.
  tls_verify integer not null default 0,
  -- When it stopped being verified because its records were gone; null for one that never was, and once it is again.
  lost_at bigint,
  receiving_lost_at bigint,
  -- The mode of the MTA-STS policy that is served for the domain: off, testing or enforce.
  mta_sts text not null default 'off'
);
-- Who else wants a record, by the names that can want it.
create index domains_by_name on domains (name);
-- The sweep takes those not looked at for longest first.
create index domains_checked_at on domains ((coalesce(checked_at, 0)), id);
create index domains_losing on domains (team_id, id) where lost_at is not null or receiving_lost_at is not null or (verified_at is not null and failing_since is not null) or (receiving_verified_at is not null and receiving_failing_since is not null);
-- A name belongs to one team at a time, verified or waiting for a new key; the database decides the race for it.
create unique index domains_name_held_once on domains (name) where held_at is not null;
-- GET /domains.
create index domains_team_id_id_index on domains (team_id, id);
-- Looked up for every send, and a team has a name once.
create unique index domains_team_id_name_unique on domains (team_id, name);

-- Until when senders may apply an MTA-STS policy of a mode that has ended; kept by name, because it outlives the domain.
create table sts_withdrawals (
  name text primary key,
  cached_until bigint not null
);

create table domain_records (
  domain_id ${id} not null,
  position integer not null,
  record text not null,
  name text not null,
  type text not null,
  value text not null,
  priority integer,
  status text not null,
  required integer not null default 1,
  -- DKIM records: what the key they publish is for at present.
  key_status text,
  -- The other host name of a change of the host, if the record in DNS contains that one.
  named_host text,
  primary key (domain_id, position)
);
-- Of domains whose records contain the other host name: the finding about them.
create index domain_records_named_host on domain_records (domain_id) where named_host is not null;

create table dkim_keys (
  id ${id} primary key,
  domain_id ${id} not null,
  selector text not null,
  algorithm text not null,
  private_key_sealed text not null,
  created_at bigint not null,
  status text not null default 'active',
  -- RSA keys only.
  bits integer,
  -- When it got this status; null for keys that have been active from the first.
  status_at bigint
);
create index dkim_keys_domain_id_index on dkim_keys (domain_id);

create table domain_claims (
  id ${id} primary key,
  team_id ${id} not null,
  -- The claimant's own copy of the domain; the claim outlives it.
  domain_id ${id} not null,
  name text not null,
  -- What the TXT record has to say.
  proof text not null,
  status text not null,
  record_status text not null,
  diagnosis text,
  blocked_reason text,
  failure_reason text,
  created_at bigint not null,
  expires_at bigint not null,
  -- When DNS was last asked; 0 before that.
  checked_at bigint not null,
  concluded_at bigint
);
-- Whether a copy of a name has lost it to another team.
create index domain_claims_completed on domain_claims (name) where status = 'completed';
-- GET /domains/{domain_id}/claim: the latest.
create index domain_claims_domain_id_id_index on domain_claims (domain_id, id);
-- All who claim one name, whom a takeover holds and settles.
create index domain_claims_of_name on domain_claims (name, id) where status = 'pending';
-- A domain has one open claim; the database decides between two that are made at the same time.
create unique index domain_claims_open_once on domain_claims (domain_id) where status = 'pending';
-- The hourly check, those not looked at for longest first.
create index domain_claims_to_check on domain_claims (checked_at, id) where status = 'pending';

-- Domains whose records are published by themselves.
create table dns_setups (
  domain_id ${id} primary key,
  team_id ${id} not null,
  domain_name text not null,
  provider text not null,
  zone text not null,
  -- Of the records last published: what differs from it is to be published.
  fingerprint text not null,
  failures integer not null default 0,
  fault text,
  -- Null while nothing has failed.
  retry_at bigint,
  created_at bigint not null
);
-- Who else has published for a name.
create index dns_setups_domain_name_index on dns_setups (domain_name);

-- DMARC and TLS reports of other mail servers about a domain. They do not refer to it: a job removes those of deleted domains
-- in batches.
create table domain_reports (
  id ${id} primary key,
  domain_id ${id} not null,
  -- dmarc or tls
  type text not null,
  -- As the report names it.
  organization text not null,
  -- The domain in From of the message.
  submitter text not null,
  -- The name above it that somebody registered, as far as that can be told.
  organizational_domain text not null,
  -- Whether SPF or DKIM proves the submitter. Only then the report has parts.
  authenticated integer not null,
  -- A hash of what two copies of one report have in common.
  fingerprint text not null,
  report_id text not null,
  policy_domain text not null,
  begin_at bigint not null,
  end_at bigint not null,
  -- The first moment of the UTC day of begin_at.
  day bigint not null,
  -- Messages or sessions, and those that passed DMARC or had working TLS.
  total bigint not null,
  passed bigint not null,
  -- The number of its rows in the tables of parts.
  parts integer not null,
  created_at bigint not null
);
-- What a day of a domain has by now, and which are too old.
create index domain_reports_day on domain_reports (domain_id, day);
create index domain_reports_old on domain_reports (day);
-- Whether a submitter is known.
create index domain_reports_submitter on domain_reports (domain_id, submitter, authenticated, created_at);
create unique index domain_reports_fingerprint_once on domain_reports (domain_id, fingerprint);
-- GET /domains/{domain_id}/reports, with and without a type.
create index domain_reports_domain_id_id_index on domain_reports (domain_id, id);
create index domain_reports_domain_id_type_id_index on domain_reports (domain_id, type, id);

-- DMARC: the mail of one source with one result.
create table domain_report_sources (
  domain_id ${id} not null,
  day bigint not null,
  report_id ${id} not null,
  part integer not null,
  -- Empty for sources that are counted together.
  source_ip text not null,
  header_from text not null,
  disposition text not null,
  dkim_passed integer not null,
  spf_passed integer not null,
  -- Whether it passed SPF for the return path of the domain.
  is_own integer not null,
  messages bigint not null,
  -- GET /domains/{domain_id}/reports/summary, and the removal of a report.
  primary key (domain_id, day, report_id, part)
);

-- TLS: the sessions with one result.
create table domain_report_sessions (
  domain_id ${id} not null,
  day bigint not null,
  report_id ${id} not null,
  part integer not null,
  policy_type text not null,
  -- "successful", or the result type of failures.
  result text not null,
  -- Empty if not reported, or counted together.
  mx_host text not null,
  sending_ip text not null,
  sessions bigint not null,
  -- As for sources.
  primary key (domain_id, day, report_id, part)
);

-- The number of rows that a domain has in both tables of parts.
create table domain_report_counts (
  domain_id ${id} primary key,
  parts bigint not null
);

-- Neither refers to domains: what was published has to be removed after its domain is gone.
create table dns_published (
  id ${id} primary key,
  domain_id ${id} not null,
  provider text not null,
  zone text not null,
  name text not null,
  type text not null,
  value text not null,
  priority integer,
  created_at bigint not null
);
-- What a domain has published.
create index dns_published_domain_id_id_index on dns_published (domain_id, id);

-- ============================================================
-- Emails: what was accepted, what is queued, and what happened
-- ============================================================

create table emails (
  id ${id} primary key,
  team_id ${id} not null,
  api_key_id ${id},
  domain_id ${id} not null,
  sender text not null,
  to_list text not null,
  cc_list text,
  bcc_list text,
  reply_to_list text,
  subject text not null,
  message_id text not null,
  tags text,
  headers text,
  topic_id text,
  attachment_count integer not null,
  last_event text not null,
  -- The millisecond of the id: a range of creation dates is a range of ids, and needs no index of its own.
  created_at bigint not null,
  scheduled_at bigint,
  -- Subject, sender and recipients in lower case, for the substring filter of GET /emails.
  search_text text not null,
  -- The template an email was made from; its events name it.
  template_id ${id},
  -- Its client composed it: the bytes stand in email_messages or in the blob store, and are sent as they are.
  has_message integer not null default 0,
  -- The envelope sender of what is passed on, empty for notices; null where a return path of ours is made for it.
  mail_from text,
  asked text,
  broadcast_id ${id},
  run_depth integer,
  -- Holds a token of a person: the team whose domain it is sent from does not read it.
  is_account_mail integer not null default 0,
  request_id text,
  -- Time of the first attempt, which the Date header shows.
  first_attempt_at bigint,
  -- The automation that sent it. Null for all other mail, and for what was accepted before.
  automation_id ${id},
  is_marketing smallint not null default 0,
  -- 1 for marketing mail, and for all mail of runs that were begun many at a time: other mail and its webhooks go first.
  is_bulk smallint not null default 0,
  -- The contact that a broadcast or an automation wrote it for. Null for all other mail.
  contact_id ${id}
);
-- The emails of a broadcast, and what of it still waits.
create index emails_broadcast on emails (broadcast_id, id) where broadcast_id is not null;
-- Whether a domain has scheduled mail; other mail never enters this index.
create index emails_scheduled_by_domain on emails (domain_id) where last_event = 'scheduled';
create index emails_team_id_api_key_id_id_index on emails (team_id, api_key_id, id) where api_key_id is not null;
create index emails_team_id_api_key_id_last_event_id_index on emails (team_id, api_key_id, last_event, id) where api_key_id is not null;
-- GET /emails: alone, by status, by key, and by both.
create index emails_team_id_id_index on emails (team_id, id);
create index emails_team_id_last_event_id_index on emails (team_id, last_event, id);

-- The list and the search read emails without dragging bodies through the cache.
create table email_bodies (
  email_id ${id} primary key,
  html text,
  text text,
  -- Bodies too large for a row: which of html and text lie in the blob store.
  html_in_blob integer not null,
  text_in_blob integer not null,
  shared_body_id ${id},
  -- JSON: the values of the merge variables that the shared body uses.
  merge_values text
);

-- A body that many emails share, stored once. What each recipient has of its own stands with the email.
create table shared_bodies (
  id ${id} primary key,
  team_id ${id} not null,
  html text,
  text text,
  created_at bigint not null,
  -- Set for a body that emails of one request share: the first and the last of their ids. Null for the body of a broadcast, which
  -- is removed with the broadcast's report.
  first_email_id ${id},
  last_email_id ${id}
);
-- Serves the removal of bodies whose emails have all expired.
create index shared_bodies_of_requests on shared_bodies (team_id, last_email_id) where last_email_id is not null;

create table email_messages (
  email_id ${id} primary key,
  head text not null,
  -- One character for each byte; null where the body is a blob.
  body text,
  body_bytes integer not null,
  body_hash text not null,
  html_parts text,
  is_eight_bit integer not null,
  needs_smtp_utf8 integer not null,
  -- What the next ARC seal says of those before it; null where the message is signed and not passed on.
  arc_chain text
);

create table email_attachments (
  id text primary key,
  email_id ${id} not null,
  position integer not null,
  filename text not null,
  content_type text not null,
  content_disposition text not null,
  content_id text,
  size integer not null,
  -- Where a file stands, encoded, in the body of a message that its client composed.
  message_start integer,
  message_end integer,
  message_encoding text
);
create index email_attachments_email_id_position_index on email_attachments (email_id, position);

-- One row for each tag of each email, written with the email and removed with it. A tag is name:value; neither half contains a
-- colon.
create table email_tags (
  team_id ${id} not null,
  tag text${collateC} not null,
  email_id ${id} not null,
  primary key (team_id, tag, email_id)
)${withoutRowid};

create table email_shares (
  -- The token itself is in the link and nowhere else. GET /share/{token} finds the link by its hash.
  token_hash text primary key,
  email_id ${id} not null,
  created_at bigint not null,
  expires_at bigint not null
);
-- DELETE /emails/{email_id}/share, and the removal of an email.
create index email_shares_email_id_index on email_shares (email_id);
-- The sweep of links that are over.
create index email_shares_expires_at_index on email_shares (expires_at);

-- Links to the page of a broadcast, of a template or of an automation.
create table page_shares (
  -- The token itself is in the link and nowhere else. GET /preview/{token} finds the link by its hash.
  token_hash text primary key,
  team_id ${id} not null,
  -- 'broadcast', 'template' or 'automation', and which.
  kind text not null,
  target_id ${id} not null,
  -- JSON: the ids of the contacts whose email the page shows.
  contact_ids text not null,
  -- 1 where readers can approve the content or request changes.
  allow_review integer not null,
  created_at bigint not null,
  expires_at bigint not null
);
-- DELETE of the links of one thing, and the removal of a team.
create index page_shares_team_id_target_id_index on page_shares (team_id, target_id);
-- The sweep of links that are over.
create index page_shares_expires_at_index on page_shares (expires_at);

-- What a search of emails can skip: for each block of a team's emails, the groups of letters that occur in it.
create table email_search_blocks (
  id ${serial},
  team_id ${id} not null,
  first_id ${id} not null,
  last_id ${id} not null${grams}
);
-- Where a team's index ends, and which of its blocks are behind its oldest email.
create unique index email_search_blocks_team_id_last_id_unique on email_search_blocks (team_id, last_id);
${indexGrams('email_search')};

-- Attachments, sources and long bodies that are too small for files of their own, of what was sent and what was received.
create table contents (
  -- The email that it belongs to.
  owner_id ${id} not null,
  name text not null,
  -- Stored uncompressed on PostgreSQL: most of it is compressed already, and parts can be read without the rest.
  content ${bytes} not null,
  -- Reading one, and removing all that an email has.
  primary key (owner_id, name)
);

-- Describes what a file of the blob store must contain. Content that an earlier version stored has no row until it is found
-- damaged.
create table content_files (
  -- The owner of the content: an email, an image, a draft or an import.
  owner_id ${id} not null,
  name text not null,
  size bigint not null,
  -- The hash in hexadecimal; null where only the size is known.
  sha256 text,
  -- Set while the file is known to be damaged, with what is wrong with it.
  damaged_at bigint,
  damage text,
  -- Serves reading one content, and removing everything that an owner has.
  primary key (owner_id, name)
);
-- Serves the findings, and the job that reads damaged files again.
create index content_files_damaged on content_files (damaged_at) where damaged_at is not null;

-- One row for each email and destination domain; gone as soon as its last recipient has an outcome.
create table deliveries (
  id ${id} primary key,
  email_id ${id} not null,
  team_id ${id} not null,
  domain_id ${id} not null,
  destination text not null,
  recipients text not null,
  region text not null,
  tls text not null,
  attempt integer not null,
  accepted_at bigint not null,
  -- When it may be claimed: the time of the next attempt or, while claimed, the end of the lease.
  due_at bigint not null,
  lease_owner text,
  -- Set before the final dot of DATA may be written; from then on it is never sent again.
  handed_off_at bigint,
  -- 1 while its next attempt waits for its domain to be verified again.
  awaits_domain integer not null default 0,
  -- 1 while it waits because its provider or mail server limits us, not because an attempt failed.
  is_throttled integer not null default 0,
  -- 0 transactional mail that somebody waits for, 1 bulk, 2 and 3 the retries of each.
  lane integer not null default 0,
  -- Bulk mail is not always marketing: a run that was begun with many others may send transactional mail.
  is_marketing smallint not null default 0,
  -- Whether the certificate of the receiving server has to be valid for its name.
  tls_verify integer not null default 0,
  -- The hold that a claim met; such a row is in no lane, and due_at says since when.
  hold_id ${id},
  asked text,
  broadcast_id ${id},
  contact_id ${id},
  request_id text,
  -- 1 while it waits for a time: its schedule, its next attempt, or the end of a deferral. Mail with 0 is due whatever the clock
  -- says.
  waits smallint not null default 1,
  -- 1 while it waits for the quiet hours of its topic to end; such mail does not keep its broadcast from others.
  is_quiet smallint not null default 0,
  -- The source that its last attempt left by; the next one does too, if it can.
  source text,
  -- The pool that its broadcast chose; without one, the conditions of the pools decide.
  pool text
);
-- What is let go every minute; other mail never enters this index.
create index deliveries_awaiting_domain on deliveries (domain_id) where awaits_domain = 1;
-- What is let go when a limit is lifted by hand.
create index deliveries_throttled on deliveries (destination) where is_throttled = 1;
create index deliveries_broadcast on deliveries (broadcast_id) where broadcast_id is not null;
-- What is due, and when the next is: what waits for a failing destination never stands in the way of the rest.
create index deliveries_due on deliveries (lane, waits, due_at) where lease_owner is null and hold_id is null;
-- The oldest of each team, and past a crowded destination without reading the table.
create index deliveries_due_by_team on deliveries (lane, team_id, waits, due_at, destination) where lease_owner is null and hold_id is null;
-- A cancellation or a deletion finds its rows. What a dead node held, or a claim whose answer was lost, is found by reading the
-- table: rare enough to need no index.
create index deliveries_email_id_index on deliveries (email_id);
-- What a hold that ends gives back, piece by piece; and how much of it is one team's, as its findings tell.
create index deliveries_held_by_team on deliveries (hold_id, team_id, id) where hold_id is not null;
-- Leases that have run out, and claims that their owner does not know of.
create index deliveries_leased on deliveries (due_at, lease_owner) where lease_owner is not null;

create table delivery_attempts (
  email_id ${id} not null,
  id ${id} not null,
  created_at bigint not null,
  attempt integer not null,
  destination text not null,
  -- Null where no mail server was spoken to.
  mx text,
  address text,
  tls_version text,
  tls_cipher text,
  -- A machine may sleep in the middle of a try: 2^31 ms are 25 days.
  duration_ms bigint not null,
  -- JSON: each recipient with outcome, reason and reply.
  recipients text not null,
  -- Commands and replies, one to a line, without content.
  transcript text,
  relay text,
  -- The source that it left by, and the mailbox provider that it was for; null where none is known.
  source text,
  provider text,
  -- GET /emails/{email_id}/attempts, and the removal of an email.
  primary key (email_id, id)
);

create table queue_holds (
  id ${id} primary key,
  -- 'destination', 'team_id' or 'email_id', and which.
  kind text not null,
  value text not null,
  reason text not null,
  created_by text not null,
  created_at bigint not null
);
create unique index queue_holds_kind_value_unique on queue_holds (kind, value);

create table suppressions (
  id text primary key,
  team_id ${id} not null references teams (id),
  email text not null,
  email_key text not null,
  origin text not null,
  source_id ${id},
  created_at bigint not null
);
-- Asked before every hand-off, and an address is suppressed once per team.
create unique index suppressions_team_id_email_key_unique on suppressions (team_id, email_key);
-- GET /suppressions, with and without 'origin'.
create index suppressions_team_id_id_index on suppressions (team_id, id);
create index suppressions_team_id_origin_id_index on suppressions (team_id, origin, id);

create table events (
  id ${id} primary key,
  team_id ${id} not null,
  type text not null,
  -- The email, domain or suppression it is about.
  subject_id text not null,
  data text,
  created_at bigint not null
);
-- What is no email's history is removed by its age, team by team; the sends themselves must not pay for an index of it.
create index events_besides_emails on events (team_id, id) where substr(type, 1, 6) <> 'email.';
-- The history of one email.
create index events_subject_id_id_index on events (subject_id, id);

-- Counts of events: one row for each quarter of an hour and one for each day, of each team, domain and broadcast. Every time zone
-- in use is whole quarters away from UTC, so local days are sums of these rows. PostgreSQL leaves free space in their pages,
-- because the current rows are updated all the time.
create table metric_counts (
  team_id ${id} not null,
  -- 'team', 'd:<domain>' or 'b:<broadcast>:<domain>'; compared by bytes, because ranges are read.
  scope text${collateC} not null,
  -- 15 or 1440. slot is the number of such spans since 1970.
  span_minutes smallint not null,
  slot integer not null,
  -- Each node counts in its own rows and never waits for another node's commit.
  shard smallint not null,
  received integer not null default 0,
  sent integer not null default 0,
  delivered integer not null default 0,
  delivery_delayed integer not null default 0,
  bounced integer not null default 0,
  bounced_transient integer not null default 0,
  bounced_permanent integer not null default 0,
  bounced_undetermined integer not null default 0,
  complained integer not null default 0,
  suppressed integer not null default 0,
  failed integer not null default 0,
  opened integer not null default 0,
  clicked integer not null default 0,
  unique_opened integer not null default 0,
  unique_clicked integer not null default 0,
  unsubscribed integer not null default 0,
  machine_opened integer not null default 0,
  machine_clicked integer not null default 0,
  -- GET /emails/metrics: a scope over a range of time.
  primary key (team_id, scope, span_minutes, slot, shard)
)${isPg ? ' with (fillfactor = 70)' : ' without rowid'};

-- Recipients by team, stream of mail and hour since 1970. Each node adds to a row of its own, so that none waits for another. The
-- key serves the rates of one team.
create table stream_counts (
  team_id ${id} not null,
  stream text not null,
  hour integer not null,
  shard integer not null,
  delivered integer not null default 0,
  bounced integer not null default 0,
  complained integer not null default 0,
  primary key (team_id, stream, hour, shard)
)${isPg ? ' with (fillfactor = 70)' : ' without rowid'};
-- The streams of all teams that something bounced or was complained about in, for findings.
create index stream_counts_in_trouble on stream_counts (hour, team_id, stream) where bounced > 0 or complained > 0;

-- What the development profile caught instead of sending; the message itself lies in the blob store.
create table playground_messages (
  id ${id} primary key,
  email_id ${id} not null,
  team_id ${id} not null,
  mail_from text not null,
  recipients text not null,
  subject text not null,
  size integer not null,
  created_at bigint not null,
  delivery_id ${id}
);
-- Serves the question whether a delivery was captured already.
create unique index playground_messages_delivery on playground_messages (delivery_id);
create index playground_messages_team_id_id_index on playground_messages (team_id, id);

-- =============
-- Received mail
-- =============

create table inbound_rules (
  id ${id} primary key,
  team_id ${id} not null references teams (id),
  pattern text not null,
  action text not null,
  -- JSON: a list of addresses.
  forward_to text not null,
  created_at bigint not null
);
-- The list, newest first, and all of a team's rules when mail comes in.
create index inbound_rules_team_id_id_index on inbound_rules (team_id, id);
create unique index inbound_rules_team_id_pattern_unique on inbound_rules (team_id, pattern);

create table greylist (
  -- Of a network, a sender and a recipient, or of a network alone that has come again: a hash.
  key text primary key,
  seen_at bigint not null,
  expires_at bigint not null
);
-- What can be forgotten.
create index greylist_expires_at_index on greylist (expires_at);

-- One row for each team and message.
create table received_emails (
  id ${id} primary key,
  team_id ${id} not null,
  sender text not null,
  to_list text not null,
  cc_list text,
  bcc_list text,
  reply_to_list text,
  subject text not null,
  message_id text not null,
  received_for text not null,
  dropped_reason text,
  attachment_count integer not null,
  -- Whether the source lies in the blob store.
  has_raw integer not null,
  -- What it takes of the team's inbound storage.
  stored_bytes bigint not null,
  -- The envelope, which the message does not bear.
  mail_from text not null,
  client_address text not null,
  client_name text not null,
  authentication text,
  -- Recognises a message that is sent again because its 250 was lost; null where it bears no Message-ID.
  fingerprint text,
  created_at bigint not null,
  -- Why a rule did not pass the message on; null where it did, or where none says so.
  not_forwarded text,
  -- The address of From, or the envelope's sender, in the form in which addresses are compared; null where there is none.
  sender_key text
);
create index received_emails_sender_start on received_emails (team_id, sender_key${collateC}, id) where sender_key is not null;
create unique index received_emails_team_id_fingerprint_unique on received_emails (team_id, fingerprint);
-- GET /emails/receiving, and what is past retention.
create index received_emails_team_id_id_index on received_emails (team_id, id);

-- The list reads emails without dragging bodies through the cache.
create table received_bodies (
  received_id ${id} primary key,
  html text,
  text text,
  headers text,
  -- Which of them lie in the blob store, because they are too large for a row.
  html_in_blob integer not null,
  text_in_blob integer not null,
  headers_in_blob integer not null
);

create table received_attachments (
  id text primary key,
  received_id ${id} not null,
  position integer not null,
  filename text,
  content_type text not null,
  content_disposition text,
  content_id text,
  size bigint not null,
  -- 0 for a part that is listed and was not kept.
  is_stored integer not null
);
create index received_attachments_received_id_position_index on received_attachments (received_id, position);

-- What a team's received mail takes, counted in the transaction that adds or removes some.
create table received_storage (
  team_id ${id} primary key,
  bytes bigint not null
);

-- ========
-- Webhooks
-- ========

create table webhooks (
  id text primary key,
  team_id ${id} not null references teams (id),
  endpoint text not null,
  -- JSON array of event types.
  events text not null,
  status text not null,
  secret_sealed text not null,
  previous_secret_sealed text,
  previous_secret_until bigint,
  created_at bigint not null,
  disabled_at bigint,
  -- 'manual' or 'failing'.
  disabled_reason text,
  -- When the team's admins were told that it failed; null while they have to be, or need not be.
  admins_told_at bigint,
  last_success_at bigint,
  -- The first failed attempt since the last success.
  failing_since bigint,
  -- One process at a time sends to an endpoint.
  lease_owner text,
  lease_until bigint,
  -- Set first; the rows go in small batches.
  deleted_at bigint,
  -- Of the last attempt at any event; null where there was none since the endpoint has its address.
  last_attempt_at bigint,
  last_http_status smallint,
  -- Where there was no answer.
  last_error text
);
-- GET /findings of a team and of the installation: what is in trouble, however much is not.
create index webhooks_failing on webhooks (team_id, id) where deleted_at is null and failing_since is not null;
create index webhooks_disabled on webhooks (team_id, id)
  where deleted_at is null and status = 'disabled' and disabled_reason = 'manual';
-- GET /webhooks, newest first, and which endpoints of a team an event goes to.
create index webhooks_team_id_id_index on webhooks (team_id, id);

create table webhook_events (
  webhook_id text not null,
  event_id ${id} not null,
  team_id ${id} not null,
  type text not null,
  status text not null,
  parked smallint not null default 0,
  attempt_count integer not null default 0,
  tries smallint not null default 0,
  last_http_status smallint,
  due_at bigint,
  created_at bigint not null,
  -- Made up by POST /webhooks/trigger.
  is_test smallint not null default 0,
  -- 1 for events of marketing mail and of runs of automations: events of other mail are sent first.
  is_bulk smallint not null default 0,
  primary key (webhook_id, event_id)
)${withoutRowid};
-- The same by type and status, and by type alone as the four statuses of it. Without a filter the primary key serves.
create index webhook_events_by_type_and_status on webhook_events (webhook_id, type, status, event_id);
-- The next events of an endpoint. Live work alone: its cost does not grow with history.
create index webhook_events_due on webhook_events (webhook_id, is_bulk, due_at, event_id) where due_at is not null;
-- GET /webhooks/{id}/parked, oldest first.
create index webhook_events_parked on webhook_events (webhook_id, event_id) where parked = 1;

-- The exact bytes that are signed; by team first, so that what is past retention is one range.
create table webhook_payloads (
  event_id ${id} not null,
  team_id ${id} not null,
  payload text not null,
  primary key (team_id, event_id)
)${withoutRowid};

create table webhook_attempts (
  webhook_id text not null,
  event_id ${id} not null,
  id text not null,
  attempt_number integer not null,
  http_status_code smallint,
  response text,
  error text,
  duration_ms integer not null,
  sent_at bigint not null,
  primary key (webhook_id, event_id, id)
)${withoutRowid};

-- The last minute's replays of a team, which all nodes count together. There are never more than its limit.
create table webhook_replays (
  team_id ${id} not null references teams (id),
  id ${id} not null,
  made_at bigint not null,
  primary key (team_id, id)
);

create table webhook_listeners (
  id text primary key,
  team_id ${id} not null references teams (id),
  -- JSON array of event types.
  events text not null,
  secret_sealed text not null,
  -- The stream that is open, as a name nobody else has; null between two streams.
  holder text,
  -- When the stream last gave a sign of life, or ended.
  seen_at bigint not null,
  last_batch bigint not null default 0,
  created_at bigint not null
);
-- Which listeners of a team an event goes to.
create index webhook_listeners_team_id_id_index on webhook_listeners (team_id, id);

create table webhook_listener_events (
  listener_id text not null,
  event_id ${id} not null,
  type text not null,
  created_at bigint not null,
  batch bigint,
  sent_at bigint,
  primary key (listener_id, event_id)
)${withoutRowid};
-- What was sent and need not be kept for a stream that breaks off.
create index webhook_listener_events_sent on webhook_listener_events (listener_id, sent_at) where sent_at is not null;
-- What a stream sends next.
create index webhook_listener_events_waiting on webhook_listener_events (listener_id, event_id) where batch is null;

-- ====================
-- Templates and images
-- ====================

create table templates (
  id ${id} primary key,
  team_id ${id} not null references teams (id),
  name text not null,
  alias text,
  -- What is edited, and what sends use: the same version while nothing waits to be published.
  draft_version_id ${id} not null,
  published_version_id ${id},
  created_at bigint not null,
  updated_at bigint not null,
  published_at bigint,
  -- The grant of the app that is the only writer; null once anybody else has written.
  author_grant_id ${id},
  -- The name of the app that wrote it or changed it last; null if no app did.
  changed_by_app text
);
-- A send or a path names a template by its alias, which is one template's alone; many have none.
create unique index templates_team_id_alias_unique on templates (team_id, alias);
-- GET /templates.
create index templates_team_id_id_index on templates (team_id, id);

-- Apart from the templates, so that the list and a send's look at what is published read no bodies.
create table template_versions (
  id ${id} primary key,
  template_id ${id} not null references templates (id),
  sender text,
  subject text,
  reply_to_list text not null,
  html text not null,
  text text,
  variables text not null,
  created_at bigint not null
);
-- Publishing drops the oldest versions, deleting drops all.
create index template_versions_template_id_id_index on template_versions (template_id, id);

-- Pictures for mail to many. The bytes stand in 'contents' or in a file, under the picture's id.
create table images (
  id ${id} primary key,
  team_id ${id} not null references teams (id),
  -- What stands in its address: whoever has it sees the picture.
  token text not null,
  content_hash text not null,
  content_type text not null,
  bytes integer not null,
  width integer not null,
  height integer not null,
  created_at bigint not null
);
-- The same bytes again.
create unique index images_team_id_content_hash_unique on images (team_id, content_hash);
-- GET /images, and what all of a team weigh.
create index images_team_id_id_index on images (team_id, id);
-- A reader who asks for one, and a body that names some.
create unique index images_token_unique on images (token);

-- =============================
-- Contacts, segments and topics
-- =============================

-- The values of a contact are stored twice: in its row, where one read finds them all, and in contact_texts and contact_numbers,
-- which serve as an index by property, value and contact. An index on a JSON path would be needed for each property of each team.
create table contacts (
  team_id ${id} not null references teams (id),
  id ${id} not null,
  email text not null,
  email_key text not null,
  first_name text,
  last_name text,
  first_name_key text,
  last_name_key text,
  unsubscribed smallint not null default 0,
  properties ${json},
  folded ${json},
  created_at bigint not null,
  updated_at bigint not null,
  -- The import that created the contact; null for all others.
  import_id ${id},
  primary key (team_id, id)
)${withoutRowid};
-- An address is one contact's alone, found by it in every letter case.
create unique index contacts_email on contacts (team_id, email_key);
create index contacts_first_name_start on contacts (team_id, first_name_key${collateC}, id) where first_name_key is not null;
create index contacts_last_name_start on contacts (team_id, last_name_key${collateC}, id) where last_name_key is not null;

create table contact_texts (
  property_id ${id} not null,
  value text not null,
  contact_id ${id} not null,
  primary key (property_id, value, contact_id)
)${withoutRowid};

create table contact_numbers (
  property_id ${id} not null,
  value double precision not null,
  contact_id ${id} not null,
  primary key (property_id, value, contact_id)
)${withoutRowid};

create table contact_counts (
  team_id ${id} not null primary key,
  contacts bigint not null
)${withoutRowid};

create table contact_properties (
  id ${id} primary key,
  team_id ${id} not null references teams (id),
  key text not null,
  -- Merge variables name a property in either letter case, so that two keys may not differ by it alone.
  key_folded text not null,
  type text not null,
  -- What stands for it in the values of contacts: a key that is declared anew gets another one, and finds no old value.
  slot integer not null,
  -- JSON.
  fallback_value text,
  created_at bigint not null,
  -- Its values are removed in small batches, and then the row.
  deleted_at bigint
);
-- Which are to be cleared out.
create index contact_properties_deleted on contact_properties (id) where deleted_at is not null;
-- A key is declared once among what is not deleted.
create unique index contact_properties_live_key on contact_properties (team_id, key_folded) where deleted_at is null;
-- GET /contact-properties.
create index contact_properties_team_id_id_index on contact_properties (team_id, id);
create unique index contact_properties_team_id_slot_unique on contact_properties (team_id, slot);

create table segments (
  id ${id} primary key,
  team_id ${id} not null references teams (id),
  name text not null,
  -- JSON; null for a segment of explicit members alone.
  filter text,
  created_at bigint not null,
  -- Broadcasts that were sent to it still name it.
  deleted_at bigint,
  lost_properties text
);
create index segments_live on segments (team_id, id) where deleted_at is null;
create unique index segments_live_name on segments (team_id, name) where deleted_at is null;

-- Contacts that were added to a segment or removed from it by hand, whatever its filter says.
create table segment_members (
  segment_id ${id} not null,
  contact_id ${id} not null,
  primary key (segment_id, contact_id)
)${withoutRowid};
-- GET /contacts/{contact}/segments, and what goes with a contact.
create index segment_members_of_contact on segment_members (contact_id);

create table topics (
  id ${id} primary key,
  team_id ${id} not null references teams (id),
  name text not null,
  description text,
  default_subscription text not null,
  visibility text not null,
  created_at bigint not null,
  deleted_at bigint,
  confirmation text not null default 'none',
  confirmation_template_id ${id},
  -- Local times between which no marketing mail of the topic goes out; both null without quiet hours.
  quiet_from text,
  quiet_to text
);
-- What every claim of marketing mail looks for.
create index topics_quiet on topics (team_id) where quiet_from is not null and deleted_at is null;
create index topics_live on topics (team_id, id) where deleted_at is null;
create unique index topics_live_name on topics (team_id, name) where deleted_at is null;

-- What single contacts decided about topics.
create table contact_topics (
  contact_id ${id} not null,
  topic_id ${id} not null,
  subscription text not null,
  primary key (contact_id, topic_id)
)${withoutRowid};

-- When mail that was written for a contact was last sent, delivered, opened and clicked, so that filters read no history. A contact
-- has its row from its first mail on. Sends and deliveries have no index: each mail writes them, and filters on them read the rows in
-- the order of contacts.
create table contact_engagement (
  team_id ${id} not null,
  contact_id ${id} not null,
  first_sent_at bigint,
  last_sent_at bigint,
  last_delivered_at bigint,
  last_opened_at bigint,
  last_clicked_at bigint,
  -- JSON: when the last marketing emails were accepted; kept only while the team limits them.
  marketing_times text,
  primary key (team_id, contact_id)
)${isPg ? ' with (fillfactor = 70)' : ' without rowid'};
-- Contacts that opened or clicked within a time, where they are few.
create index contact_engagement_clicked on contact_engagement (team_id, last_clicked_at, contact_id) where last_clicked_at is not null;
create index contact_engagement_opened on contact_engagement (team_id, last_opened_at, contact_id) where last_opened_at is not null;

-- When a contact last clicked a link, in mail of any broadcast or automation. The hash is of the address.
create table contact_link_clicks (
  team_id ${id} not null,
  url_hash text not null,
  contact_id ${id} not null,
  last_at bigint not null,
  primary key (team_id, url_hash, contact_id)
)${withoutRowid};
-- What goes with a contact.
create index contact_link_clicks_of_contact on contact_link_clicks (contact_id);

-- How often a custom event was received for a contact, and when last.
create table contact_custom_events (
  custom_event_id ${id} not null,
  contact_id ${id} not null,
  last_at bigint not null,
  count bigint not null,
  primary key (custom_event_id, contact_id)
)${withoutRowid};
-- What goes with a contact.
create index contact_custom_events_of_contact on contact_custom_events (contact_id);

-- What a contact, or somebody for it, decided. It stays when the contact is erased, and then knows a hash alone.
create table consent_records (
  id ${id} not null primary key,
  team_id ${id} not null references teams (id),
  contact_id ${id} not null,
  email_hash text not null,
  action text not null,
  topic_id ${id},
  source text not null,
  created_at bigint not null,
  email_id ${id},
  -- Who decided for the contact: api_key, user, app, operator, system, command, automation or import, and its id. Null for a link.
  actor_kind text,
  actor_id text
)${withoutRowid};
-- A contact's activity, newest first.
create index consent_records_of_contact on consent_records (contact_id, id);
-- Whether an address was ever told of, also after its erasure.
create index consent_records_of_email on consent_records (team_id, email_hash);

-- What happened to a contact and is recorded nowhere else: custom events, changes by imports, and suppressions that were lifted. Of
-- each kind, a contact has the last hundred.
create table contact_history (
  contact_id ${id} not null,
  -- event, import or suppression.
  kind text not null,
  -- The time is in it.
  id ${id} not null,
  team_id ${id} not null,
  -- JSON: what the kind says.
  data text not null,
  -- A contact's activity by kind, newest first.
  primary key (contact_id, kind, id)
)${withoutRowid};
-- What is past retention.
create index contact_history_team_id_id_index on contact_history (team_id, id);

-- Who was asked by mail whether it wants a topic, and has not answered.
create table topic_confirmations (
  contact_id ${id} not null,
  topic_id ${id} not null,
  team_id ${id} not null references teams (id),
  -- Of this asking: the mail of each is accepted once.
  id ${id} not null,
  asked_at bigint not null,
  mailed_at bigint,
  -- Why there was no mail.
  fault text,
  primary key (contact_id, topic_id)
);
-- What is to be mailed, oldest first.
create index topic_confirmations_due on topic_confirmations (id) where mailed_at is null;

-- When an address was last mailed about a topic. It outlives the contact, so that it never holds the address itself.
create table topic_confirmation_mails (
  topic_id ${id} not null,
  email_hash text not null,
  -- Of the last of them, as 'topic_confirmations.id'.
  asking_id ${id} not null,
  last_at bigint not null,
  second_last_at bigint,
  third_last_at bigint,
  primary key (topic_id, email_hash)
);
-- The hourly removal of what limits nothing any more.
create index topic_confirmation_mails_by_age on topic_confirmation_mails (last_at);

-- Forms with which people sign up themselves.
create table sign_up_forms (
  id ${id} primary key,
  team_id ${id} not null references teams (id),
  name text not null,
  topic_id ${id},
  -- JSON: the ids of segments.
  segment_ids text not null,
  -- Of the confirmation mail; null with a template.
  sender text,
  confirmation_template_id ${id},
  redirect_url text,
  confirmed_url text,
  -- JSON: the origins of other sites that may send the form.
  allowed_origins text not null,
  enabled integer not null,
  proof_of_work integer not null,
  created_at bigint not null
);
create index sign_up_forms_of_team on sign_up_forms (team_id, id);

-- Who signed up and is still to be mailed. A row goes with its mail.
create table form_sign_ups (
  id ${id} primary key,
  team_id ${id} not null references teams (id),
  form_id ${id} not null,
  email text not null,
  email_key text not null,
  language text not null,
  due_at bigint not null,
  created_at bigint not null
);
create index form_sign_ups_due on form_sign_ups (due_at, id);
create index form_sign_ups_of_form on form_sign_ups (form_id);
create index form_sign_ups_of_team on form_sign_ups (team_id, email_key);

-- When an address last signed up with any form of any team; as a hash, because nobody has confirmed anything.
create table form_sign_up_addresses (
  email_hash text primary key,
  last_at bigint not null
);
create index form_sign_up_addresses_by_age on form_sign_up_addresses (last_at);

-- Challenges of forms that were solved and sent, so that each counts once on all nodes.
create table form_proofs (
  challenge text primary key,
  expires_at bigint not null
);
create index form_proofs_by_age on form_proofs (expires_at);

create table contact_imports (
  id ${id} primary key,
  team_id ${id} not null references teams (id),
  status text not null,
  -- JSON: how the file is read, and what is done with its rows.
  options text not null,
  total integer not null default 0,
  created integer not null default 0,
  updated integer not null default 0,
  skipped integer not null default 0,
  failed integer not null default 0,
  -- Values that rows were imported without.
  skipped_values integer not null default 0,
  rows_read integer not null default 0,
  tries integer not null default 0,
  lease_owner text,
  lease_until bigint,
  created_at bigint not null,
  completed_at bigint,
  file_removed_at bigint
);
-- What is to be worked on, oldest first.
create index contact_imports_open on contact_imports (id) where completed_at is null;
create index contact_imports_team_id_id_index on contact_imports (team_id, id);
create index contact_imports_team_id_status_id_index on contact_imports (team_id, status, id);
-- Whose file is to go.
create index contact_imports_with_file on contact_imports (completed_at) where completed_at is not null and file_removed_at is null;

create table contact_import_failures (
  import_id ${id} not null references contact_imports (id),
  row integer not null,
  reason text not null,
  value text,
  -- GET /contacts/imports/{id}/failures, in the order of the file.
  primary key (import_id, row)
);

create table contact_import_skipped_values (
  import_id ${id} not null references contact_imports (id),
  row integer not null,
  -- The position of the column in the header, starting with 1.
  column_number integer not null,
  column_name text,
  reason text not null,
  value text,
  primary key (import_id, row, column_number)
);

-- =======================
-- Broadcasts and tracking
-- =======================

create table broadcasts (
  id ${id} primary key,
  team_id ${id} not null references teams (id),
  name text not null,
  -- No reference: a deleted segment stays named.
  segment_id ${id},
  sender text not null,
  subject text not null,
  reply_to_list text not null,
  preview_text text,
  html text,
  text text,
  topic_id ${id},
  template_id ${id},
  status text not null,
  created_at bigint not null,
  updated_at bigint not null,
  scheduled_at bigint,
  sent_at bigint,
  -- 1 where checks that fail were acknowledged.
  acknowledged integer not null default 0,
  -- Emails a minute; null for as fast as the queue takes them.
  rate_per_minute integer,
  -- The pool of the settings that its mail leaves by; null if their conditions decide.
  pool text,
  -- JSON: the utm_ parameters that are added to its links; those that are left out are made from names.
  utm text,
  -- What is fixed when it is sent: later changes of domain, template and draft leave it as it is.
  domain_id ${id},
  body_id ${id},
  template_version_id ${id},
  -- How far sending has come. 'cursor_id' is the last contact of the last page that is done, 'total' the members that were
  -- counted at the start.
  started_at bigint,
  cursor_id ${id},
  recipients integer not null default 0,
  excluded integer not null default 0,
  total integer,
  -- Why it does not move at the moment, and goes on by itself.
  waiting_reason text,
  held_reason text,
  held_since bigint,
  failed_reason text,
  lease_owner text,
  lease_until bigint,
  -- 1 where it goes to each contact at its local hour.
  local_time integer not null default 0,
  -- Fixed when it is sent: what the clocks of each contact have to show, as if it were UTC.
  local_at bigint,
  -- The moment of the zones whose contacts it goes to, or has gone to last.
  pass_at bigint,
  -- When it is to be looked at again; null while it is being sent.
  next_at bigint,
  -- When the first quiet hours end for which contacts were passed over since the segment was last begun.
  quiet_until bigint,
  -- JSON: other subjects that a share of the segment tries; when it is decided which one the others get; what it was.
  ab_test text,
  ab_decides_at bigint,
  ab_decision text,
  -- 1 once emails of it were accepted while the domain tracked opens, or clicks.
  opens_measured integer not null default 0,
  clicks_measured integer not null default 0,
  -- The figures that held it, in words.
  held_detail text,
  resumed_delivered integer not null default 0,
  resumed_bounced integer not null default 0,
  resumed_complained integer not null default 0,
  -- The grant of the app that is the only writer; null once anybody else has written.
  author_grant_id ${id},
  -- The name of the app that wrote it or changed it last; null if no app did.
  changed_by_app text,
  -- JSON object by property key in lower case: the fallback values as they were when the broadcast was sent or scheduled. Null
  -- before that, and in rows of earlier versions, which print the declared values.
  fallbacks text,
  approved_contacts integer,
  -- A sample of the contacts that a person approved, as JSON.
  approved_audience text,
  -- Set while a member of the team, a key or an app has paused it. A cancel leaves it until its mail is out of the queue.
  paused_at bigint,
  paused_by_kind text,
  paused_by_name text,
  -- JSON lists of ids. The segments, its first one included, where it has several; the segments whose members do not get it; the
  -- broadcasts whose recipients do not get it.
  segment_ids text,
  exclude_segment_ids text,
  not_received_from text,
  -- It goes to those alone that got this broadcast and have not opened it.
  received_but_not_opened ${id},
  -- The broadcast that it was copied from.
  duplicated_from ${id},
  -- 1 once rows of its report are removed by age, so that it does not have all recipients any more.
  report_removed integer not null default 0,
  -- 1 where its current content must be approved before it is sent.
  require_review integer not null default 0,
  -- 1 where it is in the public archive of the team from its first email on.
  archive integer not null default 0
);
-- The archive of a team, newest first.
create index broadcasts_archived on broadcasts (team_id, started_at, id) where archive = 1 and recipients > 0;
-- What is to be worked on, the longest due first.
create index broadcasts_due on broadcasts (scheduled_at) where status in ('scheduled', 'queued', 'sending');
-- What is removed by age: the report and the shared body of what has ended.
create index broadcasts_ended on broadcasts (team_id, updated_at) where body_id is not null and status in ('sent', 'canceled', 'failed');
-- What the findings read.
create index broadcasts_failed on broadcasts (updated_at) where status = 'failed';
-- What is held, for findings.
create index broadcasts_held on broadcasts (id) where held_reason is not null and status <> 'canceled';
-- Whose report may still name a contact that is erased.
create index broadcasts_reported on broadcasts (team_id, id) where body_id is not null;
-- GET /broadcasts, with and without 'status'.
create index broadcasts_team_id_id_index on broadcasts (team_id, id);
create index broadcasts_team_id_status_id_index on broadcasts (team_id, status, id);

-- Decisions of readers of the page of a broadcast. 'version' is a hash of the content that they saw.
create table broadcast_reviews (
  id ${id} primary key,
  broadcast_id ${id} not null,
  version text not null,
  -- 'approved' or 'changes_requested'.
  decision text not null,
  -- As the reader stated it.
  name text not null,
  note text,
  created_at bigint not null
);
-- GET /broadcasts/{id}/reviews, and the latest one of it.
create index broadcast_reviews_broadcast_id_id_index on broadcast_reviews (broadcast_id, id);

-- Recipients of a broadcast and the outcome for each; those that were left out, with the reason.
create table broadcast_recipients (
  broadcast_id ${id} not null,
  email_key text not null,
  id ${id} not null,
  contact_id ${id},
  email text not null,
  email_id ${id},
  excluded text,
  sent integer not null default 0,
  delivered integer not null default 0,
  opened integer not null default 0,
  clicked integer not null default 0,
  complained integer not null default 0,
  unsubscribed integer not null default 0,
  suppressed integer not null default 0,
  bounced text,
  variant smallint,
  machine_opened integer not null default 0,
  machine_clicked integer not null default 0,
  bounces integer not null default 0,
  -- Above 0 where it failed before any mail server had it: it was canceled, dropped, or its domain was removed.
  unsent integer not null default 0,
  primary key (broadcast_id, email_key)
);
create index broadcast_recipients_bounced on broadcast_recipients (broadcast_id, id) where bounced is not null;
create index broadcast_recipients_clicked on broadcast_recipients (broadcast_id, id) where clicked > 0;
-- Whether a contact got, opened or clicked a broadcast.
create index broadcast_recipients_contact on broadcast_recipients (broadcast_id, contact_id) where contact_id is not null;
create index broadcast_recipients_complained on broadcast_recipients (broadcast_id, id) where complained > 0;
create index broadcast_recipients_delivered on broadcast_recipients (broadcast_id, id) where delivered > 0;
-- The events of an email.
create unique index broadcast_recipients_email on broadcast_recipients (email_id) where email_id is not null;
create index broadcast_recipients_excluded on broadcast_recipients (broadcast_id, id) where excluded is not null;
create index broadcast_recipients_opened on broadcast_recipients (broadcast_id, id) where opened > 0;
create index broadcast_recipients_sent on broadcast_recipients (broadcast_id, id) where sent > 0;
create index broadcast_recipients_suppressed on broadcast_recipients (broadcast_id, id) where suppressed > 0;
create index broadcast_recipients_unsubscribed on broadcast_recipients (broadcast_id, id) where unsubscribed > 0;
-- What a test of subjects has come to.
create index broadcast_recipients_variant on broadcast_recipients (broadcast_id, variant) where variant is not null;

-- The hash is of the address, which may be longer than an index takes.
create table broadcast_links (
  broadcast_id ${id} not null,
  url_hash text not null,
  -- The hash without utm_ parameters, by which filters find the link.
  plain_hash text not null,
  id ${id} not null,
  url text not null,
  clicks integer not null default 0,
  unique_clicks integer not null default 0,
  machine_clicks integer not null default 0,
  primary key (broadcast_id, url_hash)
)${withoutRowid};
-- GET /broadcasts/{id}/clicked-links.
create unique index broadcast_links_order on broadcast_links (broadcast_id, id);
create index broadcast_links_plain on broadcast_links (broadcast_id, plain_hash);

-- Which links of a broadcast an email's recipient has clicked.
create table broadcast_link_clicks (
  email_id ${id} not null,
  link_id ${id} not null,
  clicks integer not null default 0,
  primary key (email_id, link_id)
)${withoutRowid};

-- How many recipients of a broadcast it came to. Each node adds to a row of its own, so that none waits for another.
create table broadcast_counts (
  broadcast_id ${id} not null,
  shard integer not null,
  sent integer not null default 0,
  delivered integer not null default 0,
  opened integer not null default 0,
  clicked integer not null default 0,
  bounced integer not null default 0,
  complained integer not null default 0,
  unsubscribed integer not null default 0,
  suppressed integer not null default 0,
  excused_delivered integer not null default 0,
  excused_bounced integer not null default 0,
  excused_complained integer not null default 0,
  primary key (broadcast_id, shard)
)${withoutRowid};

-- Which pictures the bodies of broadcasts show that were sent, or are to be.
create table broadcast_images (
  image_id ${id} not null,
  broadcast_id ${id} not null,
  -- DELETE /images/{id} asks what shows it.
  primary key (image_id, broadcast_id)
);

-- Clicks that wait for other clicks in the same email: machines follow all links at once, people one after the other.
create table tracked_clicks (
  -- Of the event that it becomes.
  id ${id} primary key,
  email_id ${id} not null,
  clicked_at bigint not null,
  link text not null,
  ip_address text not null,
  user_agent text not null
);
-- The ones that have waited longest.
create index tracked_clicks_clicked_at_id_index on tracked_clicks (clicked_at, id);
-- What else waits of the same email.
create index tracked_clicks_email_id_index on tracked_clicks (email_id);

-- ===========
-- Automations
-- ===========

create table custom_events (
  id ${id} primary key,
  team_id ${id} not null references teams (id),
  name text not null,
  -- JSON, key to type; null where a payload may hold anything.
  payload_schema text,
  created_at bigint not null,
  updated_at bigint not null,
  deleted_at bigint
);
-- POST /events/send; and no two live events of a team have one name.
create unique index custom_events_name on custom_events (team_id, name) where deleted_at is null;
-- GET /events.
create index custom_events_team_id_id_index on custom_events (team_id, id);

create table automations (
  id ${id} primary key,
  team_id ${id} not null references teams (id),
  name text not null,
  status text not null,
  -- The active version, and what starts it: an event of the team's own as it was when the version was written, or a type of event
  -- of the platform. An event that is deleted and declared anew is another one.
  version integer not null,
  trigger_event_id ${id},
  trigger_type text,
  created_at bigint not null,
  updated_at bigint not null,
  deleted_at bigint,
  -- The one segment that contact.added_to_segment starts at; null for all segments.
  trigger_segment_id ${id},
  -- Whether a contact begins again: always, when_ended or never.
  reentry text not null default 'always',
  -- Since when it has been disabled; null if it is enabled, or never was.
  disabled_at bigint,
  -- JSON: the names of the events that end its runs, as they were written; null for none.
  exit_on text,
  -- The property whose dates start it, JSON of when they do so, and the time until which that was done.
  trigger_property_id ${id},
  trigger_date text,
  dates_done_at bigint,
  -- The name of the app that wrote it or changed it last; null if no app did.
  changed_by_app text
);
-- Those whose dates are to be looked up, the longest ago first.
create index automations_dates on automations (dates_done_at) where dates_done_at is not null and status = 'enabled' and deleted_at is null;
create index automations_event on automations (trigger_event_id) where trigger_event_id is not null and deleted_at is null;
-- GET /automations, with and without 'status'.
create index automations_team_id_id_index on automations (team_id, id);
create index automations_team_id_status_id_index on automations (team_id, status, id);
create index automations_type on automations (team_id, trigger_type) where trigger_type is not null and deleted_at is null;

-- Never written again.
create table automation_versions (
  automation_id ${id} not null,
  version integer not null,
  -- JSON: steps and connections.
  graph text not null,
  created_at bigint not null,
  primary key (automation_id, version)
);

-- The events of 'exit_on': an event of the team's own as it was when it was written, or a type of event of the platform.
create table automation_exits (
  automation_id ${id} not null,
  name text not null,
  team_id ${id} not null,
  event_id ${id},
  event_type text,
  primary key (automation_id, name)
)${withoutRowid};
-- The automations whose runs an event ends.
create index automation_exits_event on automation_exits (event_id) where event_id is not null;
create index automation_exits_type on automation_exits (team_id, event_type) where event_type is not null;

create table automation_runs (
  id ${id} primary key,
  team_id ${id} not null,
  automation_id ${id} not null,
  version integer not null,
  contact_id ${id} not null,
  -- JSON: what the event that started it said.
  payload text,
  status text not null,
  -- Where it stands: the step that is carried out next, and from when on. Null for the first.
  step_key text,
  due_at bigint not null,
  created_at bigint not null,
  started_at bigint,
  completed_at bigint,
  -- Why it failed.
  error text,
  lease_owner text,
  lease_until bigint,
  -- How many runs, one started by the effects of the other, led to this one.
  depth integer not null default 0,
  -- How often the step where it stands failed by an error of the service.
  tries integer not null default 0,
  -- 0 for runs that were begun alone. Runs that were begun together with many others have the number of their batch, from 1 to 7:
  -- batches take turns, and they all take turns with the runs that were begun alone.
  batch smallint not null default 0,
  -- The event of exit_on that ended it.
  ended_by text
);
-- GET /automations/{automation_id}/runs, with and without 'status'.
create index automation_runs_automation_id_id_index on automation_runs (automation_id, id);
create index automation_runs_automation_id_status_id_index on automation_runs (automation_id, status, id);
-- What is to be carried out, the longest due first.
create index automation_runs_due on automation_runs (due_at) where status = 'running';
-- Ended runs, for their removal by age.
create index automation_runs_ended on automation_runs (team_id, completed_at) where completed_at is not null;
-- What a process that is gone had leased.
create index automation_runs_leased on automation_runs (lease_owner) where lease_owner is not null;
create index automation_runs_of_contact on automation_runs (contact_id, automation_id, created_at);
-- A contact's activity, newest first.
create index automation_runs_contact_id_id_index on automation_runs (contact_id, id);
-- GET /automations/{automation_id}/runs with 'contact'.
create index automation_runs_of_contact_by_id on automation_runs (contact_id, automation_id, id);
-- What each automation has due, the longest due first.
create index automation_runs_turns on automation_runs (automation_id, batch, due_at, id) where status = 'running';

-- What was done. A step that a run has not come to has no row.
create table automation_run_steps (
  run_id ${id} not null,
  step_key text not null,
  status text not null,
  -- JSON.
  output text,
  error text,
  started_at bigint not null,
  completed_at bigint,
  primary key (run_id, step_key)
);

-- Whom an automation that nobody enters twice has had. Its runs are removed by age.
create table automation_entries (
  automation_id ${id} not null,
  contact_id ${id} not null,
  created_at bigint not null,
  primary key (automation_id, contact_id)
);
-- Those of a contact that is erased.
create index automation_entries_contact_id_index on automation_entries (contact_id);

-- For which dates of contacts runs were started. Rows are removed when the date has passed everywhere.
create table automation_occurrences (
  automation_id ${id} not null,
  contact_id ${id} not null,
  -- The date or its anniversary, as YYYY-MM-DD.
  occurs_on text not null,
  created_at bigint not null,
  primary key (automation_id, contact_id, occurs_on)
)${withoutRowid};
-- Those of a contact that is erased.
create index automation_occurrences_contact_id_index on automation_occurrences (contact_id);
-- Old ones, for their removal.
create index automation_occurrences_created_at_index on automation_occurrences (created_at);

-- Why events of a contact started no run: one row for each reason, which counts them.
create table automation_refusals (
  automation_id ${id} not null,
  contact_id ${id} not null,
  reason text not null,
  -- What was wrong with the latest one, if the reason alone does not say it.
  detail text,
  times integer not null,
  first_at bigint not null,
  last_at bigint not null,
  primary key (automation_id, contact_id, reason)
)${withoutRowid};
-- Those of a contact that is erased.
create index automation_refusals_contact_id_index on automation_refusals (contact_id);
-- Old ones, for their removal.
create index automation_refusals_last_at_index on automation_refusals (last_at);

-- =================
-- The support inbox
-- =================

create table inboxes (
  id ${id} primary key,
  team_id ${id} not null references teams (id),
  domain_id ${id} not null,
  address text not null,
  -- In the form in which addresses are compared; '*@' and the domain for what has no inbox of its own.
  address_key text not null,
  -- Where the address is forwarded to; null where its mail arrives here.
  receiving_address text,
  name text,
  from_name text,
  -- 'open', 'restricted' or 'personal'.
  channel text not null,
  signature text,
  thread_by_subject integer not null default 0,
  agent_instructions text,
  agent_tone text,
  -- JSON, because it is written and read as a whole.
  agent_actions text not null,
  last_received_at bigint,
  created_at bigint not null,
  updated_at bigint not null,
  -- Set first; the rows of its threads go in small batches.
  deleted_at bigint
);
create index inboxes_deleted on inboxes (deleted_at) where deleted_at is not null;
create index inboxes_live on inboxes (team_id, id) where deleted_at is null;
-- Where a message goes that was received; an address is free again once its inbox is deleted.
create unique index inboxes_live_address on inboxes (team_id, address_key) where deleted_at is null;
create unique index inboxes_live_receiving on inboxes (team_id, receiving_address) where deleted_at is null and receiving_address is not null;
-- What goes with a domain.
create index inboxes_of_domain on inboxes (domain_id) where deleted_at is null;

create table inbox_labels (
  id ${id} primary key,
  inbox_id ${id} not null,
  name text not null,
  -- In one letter case.
  name_key text not null,
  color text not null,
  created_at bigint not null,
  -- Set first; what threads have of it goes in small batches.
  deleted_at bigint
);
create index inbox_labels_deleted on inbox_labels (deleted_at) where deleted_at is not null;
create unique index inbox_labels_live on inbox_labels (inbox_id, name_key) where deleted_at is null;
create index inbox_labels_of_inbox on inbox_labels (inbox_id);

create table inbox_threads (
  id ${id} primary key,
  team_id ${id} not null,
  inbox_id ${id} not null,
  subject text not null,
  -- Without its prefixes of answers; compared where an inbox is set so.
  subject_key text not null,
  -- 'inbox', 'automatic', 'archive', 'spam', 'sent', 'trash', or 'snoozed', which the API shows as inbox.
  folder text not null,
  is_read integer not null,
  -- The order of lists: the id of the newest email, or one made when the thread woke.
  sort_id ${id} not null,
  email_count integer not null,
  has_attachment integer not null,
  -- Of its newest email.
  last_at bigint not null,
  sender text not null,
  to_list text not null,
  cc_list text not null,
  bcc_list text not null,
  snippet text not null,
  assignee_id ${id},
  snoozed_until bigint,
  notes text,
  trashed_at bigint,
  created_at bigint not null
);
-- GET /inboxes/{inbox}/threads, folder by folder.
create index inbox_threads_by_folder on inbox_threads (inbox_id, folder, sort_id);
create index inbox_threads_by_id on inbox_threads (inbox_id, id);
create index inbox_threads_by_read on inbox_threads (inbox_id, is_read, folder, sort_id);
create index inbox_threads_snoozed on inbox_threads (snoozed_until) where snoozed_until is not null;
create index inbox_threads_trashed on inbox_threads (trashed_at) where trashed_at is not null;

-- The emails of each thread. An email is in one thread of an inbox.
create table inbox_emails (
  inbox_id ${id} not null,
  email_id ${id} not null,
  thread_id ${id} not null,
  team_id ${id} not null,
  direction text not null,
  is_read smallint not null,
  has_attachment smallint not null,
  -- The signed-in person who sent it; null for mail of others and of programs.
  sent_by ${id},
  from_text text not null,
  to_text text not null,
  cc_text text not null,
  bcc_text text not null,
  body_text text not null,
  primary key (inbox_id, email_id)
);
-- What goes with an email that is removed.
create index inbox_emails_by_email on inbox_emails (email_id);
create index inbox_emails_of_thread on inbox_emails (thread_id, email_id);
create index inbox_emails_unread on inbox_emails (thread_id) where is_read = 0;

-- Every id that an email of the thread bears ('sent', 'received') or refers to ('referenced'), as a hash; with the subject of the
-- email that bears it.
create table inbox_message_ids (
  inbox_id ${id} not null,
  id_key text not null,
  thread_id ${id} not null,
  kind text not null,
  subject text,
  primary key (inbox_id, id_key, thread_id)
)${withoutRowid};
create index inbox_message_ids_of_thread on inbox_message_ids (thread_id);

-- Who takes part, but for the inbox itself.
create table inbox_participants (
  inbox_id ${id} not null,
  address_key text not null,
  thread_id ${id} not null,
  primary key (inbox_id, address_key, thread_id)
)${withoutRowid};
create index inbox_participants_of_thread on inbox_participants (thread_id);

-- With a copy of what threads are listed by.
create table inbox_thread_labels (
  thread_id ${id} not null,
  label_id ${id} not null,
  folder text not null,
  is_read smallint not null,
  sort_id ${id} not null,
  primary key (thread_id, label_id)
)${withoutRowid};
create index inbox_thread_labels_by_folder on inbox_thread_labels (label_id, folder, sort_id);
create index inbox_thread_labels_by_read on inbox_thread_labels (label_id, is_read, folder, sort_id);

create table inbox_drafts (
  id ${id} primary key,
  team_id ${id} not null,
  inbox_id ${id} not null,
  -- Both or neither: what it answers.
  thread_id ${id},
  reply_to_email_id ${id},
  -- JSON; null where nothing was said.
  to_list text,
  cc_list text not null,
  bcc_list text not null,
  subject text,
  html text,
  text text,
  -- The email that it was sent as: set in the transaction that accepts it.
  email_id ${id},
  created_at bigint not null,
  updated_at bigint not null,
  author_grant_id ${id},
  -- The name of the app that wrote it or changed it last; null if no app did.
  changed_by_app text
);
-- What goes with an inbox.
create index inbox_drafts_inbox_id_id_index on inbox_drafts (inbox_id, id);
create index inbox_drafts_of_thread on inbox_drafts (thread_id) where thread_id is not null;
create index inbox_drafts_sent on inbox_drafts (email_id) where email_id is not null;
create index inbox_drafts_unsent on inbox_drafts (inbox_id, id) where email_id is null;

create table inbox_draft_files (
  id text primary key,
  draft_id ${id} not null,
  position integer not null,
  filename text not null,
  content_type text not null,
  size bigint not null
);
create index inbox_draft_files_draft_id_position_index on inbox_draft_files (draft_id, position);

-- Who has begun an answer in a thread: a row counts until it expires, or until the person has sent something there.
create table inbox_answering (
  thread_id ${id} not null,
  user_id ${id} not null,
  -- An id of the moment at which it was begun: what is sent later has a greater one.
  since_id ${id} not null,
  since bigint not null,
  expires_at bigint not null,
  primary key (thread_id, user_id)
);
-- The upkeep, which removes what has expired.
create index inbox_answering_expired on inbox_answering (expires_at);

-- What a search of an inbox can skip: for each block of its emails, the groups of letters that occur in it.
create table inbox_search_blocks (
  id ${serial},
  inbox_id ${id} not null,
  first_id ${id} not null,
  last_id ${id} not null${grams}
);
-- Where the index of an inbox ends, and which of its blocks are behind its oldest email.
create unique index inbox_search_blocks_inbox_id_last_id_unique on inbox_search_blocks (inbox_id, last_id);
${indexGrams('inbox_search')};

-- ==============================================================
-- People: accounts, sessions, single sign-on, apps and approvals
-- ==============================================================

create table users (
  id ${id} primary key,
  email text not null,
  -- The address as it is compared: two spellings that a reader takes for one address are one user.
  email_key text not null,
  name text,
  -- Null for a person who has never chosen a password.
  password_hash text,
  email_verified_at bigint,
  -- Null while signing in asks for no second factor.
  mfa_enabled_at bigint,
  created_at bigint not null,
  disabled_at bigint
);
create unique index users_email_key_unique on users (email_key);

create table team_members (
  id ${id} primary key,
  team_id ${id} not null references teams (id),
  user_id ${id} not null references users (id),
  -- 'viewer', 'member', 'admin' or 'owner'.
  role text not null,
  -- Signs in with a password although the team demands single sign-on.
  sso_exempt integer not null default 0,
  created_at bigint not null
);
-- GET /team/members, newest first.
create index team_members_of_team on team_members (team_id, id);
-- The teams of a person.
create index team_members_of_user on team_members (user_id, id);
create unique index team_members_team_id_user_id_unique on team_members (team_id, user_id);

create table sessions (
  id ${id} primary key,
  token_hash text not null,
  user_id ${id} not null references users (id),
  -- Null while the person has no team.
  current_team_id ${id} references teams (id),
  created_at bigint not null,
  last_used_at bigint not null,
  expires_at bigint not null,
  address text,
  user_agent text,
  -- The team through whose provider it began; null for one that began with a password.
  sso_team_id ${id},
  -- A hash of the provider's id of its session, by which it ends this one; null if it named none.
  sso_sid_hash text,
  -- 'browser', by a cookie, or 'device', by a token that a program sends.
  kind text not null default 'browser',
  -- What the program calls itself.
  client_name text,
  -- Whether its cookie has the prefix __Host-: one without it is taken for no session that has begun since.
  host_cookie integer not null default 0
);
-- The hourly removal of what has expired.
create index sessions_by_expiry on sessions (expires_at);
create index sessions_by_sso_team on sessions (sso_team_id);
-- Signing out everywhere, and what ends with a role.
create index sessions_of_user on sessions (user_id, id);
create unique index sessions_token_hash_unique on sessions (token_hash);

-- Attempts that have not succeeded, by account, by address and by both; only hashes of them are kept.
create table sign_in_attempts (
  party text primary key,
  failures integer not null,
  since bigint not null
);
-- The hourly removal of what limits nothing any more.
create index sign_in_attempts_by_age on sign_in_attempts (since);

-- Attempts to sign in that failed, until it was found out whether they concern an account.
create table failed_sign_ins (
  id ${id} primary key,
  email_key text not null,
  address text,
  user_agent text,
  request_id text
);

create table team_invitations (
  id ${id} primary key,
  team_id ${id} not null references teams (id),
  email text not null,
  -- The address as it is compared, as in users.
  email_key text not null,
  role text not null,
  token_hash text not null,
  -- The person who invited.
  invited_by ${id} not null,
  created_at bigint not null,
  expires_at bigint not null,
  -- Null while the mail is still to be handed over.
  mailed_at bigint,
  -- Why there was no mail.
  fault text,
  accepted_at bigint
);
-- The daily removal of what has ended.
create index team_invitations_expires_at_index on team_invitations (expires_at);
-- No address has two open invitations to one team.
create unique index team_invitations_open on team_invitations (team_id, email_key) where accepted_at is null;
-- GET /teams/{team_id}/invitations.
create index team_invitations_team_id_id_index on team_invitations (team_id, id);
create unique index team_invitations_token_hash_unique on team_invitations (token_hash);
-- The mails that are still to be handed over.
create index team_invitations_unmailed on team_invitations (id) where mailed_at is null;

-- Accounts that were asked for: each with a password and a token of its own, so that nobody chooses the password of another.
create table sign_ups (
  id ${id} primary key,
  email text not null,
  -- The address as it is compared, as in users.
  email_key text not null,
  name text,
  password_hash text not null,
  token_hash text not null,
  -- From where it was asked for.
  address text,
  created_at bigint not null,
  expires_at bigint not null,
  -- When it was decided that it gets a mail: an address has few in an hour.
  admitted_at bigint,
  -- Null while the mail is still to be handed over.
  mailed_at bigint,
  -- Why there was no mail.
  fault text,
  -- When the account was made.
  verified_at bigint
);
-- How many mails an address had lately.
create index sign_ups_email_key_admitted_at_index on sign_ups (email_key, admitted_at);
-- The hourly removal of what has ended.
create index sign_ups_expires_at_index on sign_ups (expires_at);
create unique index sign_ups_token_hash_unique on sign_ups (token_hash);
create index sign_ups_unmailed on sign_ups (id) where mailed_at is null;

create table password_resets (
  id ${id} primary key,
  email_key text not null,
  -- Null until it was found out whether the address has an account.
  user_id ${id},
  token_hash text not null,
  address text,
  user_agent text,
  request_id text,
  created_at bigint not null,
  expires_at bigint not null,
  admitted_at bigint,
  mailed_at bigint,
  fault text,
  used_at bigint
);
create index password_resets_email_key_admitted_at_index on password_resets (email_key, admitted_at);
create index password_resets_expires_at_index on password_resets (expires_at);
create unique index password_resets_token_hash_unique on password_resets (token_hash);
create index password_resets_unmailed on password_resets (id) where mailed_at is null;

-- What a person is told by mail of a change of their account.
create table account_notices (
  id ${id} primary key,
  user_id ${id} not null,
  kind text not null,
  address text,
  created_at bigint not null,
  mailed_at bigint,
  fault text
);
create index account_notices_created_at_index on account_notices (created_at);
create index account_notices_unmailed on account_notices (id) where mailed_at is null;

create table mfa_secrets (
  id ${id} primary key,
  user_id ${id} not null references users (id),
  -- In Base32, sealed with the instance key.
  secret text not null,
  -- The newest step of 30 seconds whose code was used.
  last_step bigint,
  created_at bigint not null,
  -- Null until the person has shown a code of it; from then on the same as users.mfa_enabled_at.
  confirmed_at bigint
);
-- The hourly removal of what was never confirmed.
create index mfa_secrets_unconfirmed on mfa_secrets (created_at) where confirmed_at is null;
create unique index mfa_secrets_user_id_unique on mfa_secrets (user_id);

create table mfa_recovery_codes (
  user_id ${id} not null references users (id),
  code_hash text not null,
  primary key (user_id, code_hash)
);

-- What a person entered wrong, by kind: 'code', 'recovery_code' or 'password'.
create table mfa_failures (
  user_id ${id} not null references users (id),
  kind text not null,
  failures integer not null,
  since bigint not null,
  primary key (user_id, kind)
);
-- The hourly removal of what limits nothing any more.
create index mfa_failures_by_age on mfa_failures (since);

-- Who has shown a password, and is asked for a code.
create table mfa_challenges (
  id ${id} primary key,
  token_hash text not null,
  -- Of the cookie of the browser that was challenged.
  browser_hash text not null,
  user_id ${id} not null references users (id),
  -- Of what is kept of the password, and which secret: with another one of either the challenge has ended.
  password_hash text not null,
  secret_id ${id} not null,
  failures integer not null,
  expires_at bigint not null
);
-- The hourly removal of what has expired.
create index mfa_challenges_by_expiry on mfa_challenges (expires_at);
create unique index mfa_challenges_token_hash_unique on mfa_challenges (token_hash);

create table sso_connections (
  -- A connection to another issuer, or as another client, is another row: what was known by the old one ends with it.
  id ${id} primary key,
  team_id ${id} not null references teams (id),
  issuer text not null,
  client_id text not null,
  -- Sealed with the instance key.
  client_secret text not null,
  enforced integer not null default 0,
  -- Of a person who comes in for the first time: 'viewer' or 'member'.
  default_role text not null,
  -- When somebody has signed in through it for the first time.
  tested_at bigint,
  created_at bigint not null,
  updated_at bigint not null,
  -- Since when the provider fails; null while it does not.
  failing_since bigint,
  -- 'down' or 'wrong'.
  fault_kind text,
  -- 'discovery' or 'exchange': what has to work for it to be over.
  fault_step text,
  fault text,
  -- The last failure, also after it is over; null before the first.
  last_failure_at bigint,
  -- 'provider_down', 'provider_wrong' or 'not_admitted'.
  last_failure_kind text,
  last_failure text
);
-- The connections that a logout token is for.
create index sso_connections_by_client on sso_connections (client_id);
-- What is in trouble, however much is not.
create index sso_connections_failing on sso_connections (team_id, failing_since) where failing_since is not null;
create unique index sso_connections_team_id_unique on sso_connections (team_id);

create table sso_domains (
  id ${id} primary key,
  team_id ${id} not null references teams (id),
  domain text not null,
  -- What the TXT record must say.
  proof text not null,
  diagnosis text,
  verified_at bigint,
  -- 0 before anybody has looked.
  checked_at bigint not null,
  created_at bigint not null,
  -- When a domain that was proven ceased to be; null once it is proven again.
  lost_at bigint
);
create index sso_domains_lost on sso_domains (team_id, lost_at) where lost_at is not null;
-- A domain that is proven is one team's: its addresses are sent to one provider.
create unique index sso_domains_proven on sso_domains (domain) where verified_at is not null;
create unique index sso_domains_team_id_domain_unique on sso_domains (team_id, domain);

create table sso_identities (
  id ${id} primary key,
  connection_id ${id} not null references sso_connections (id) on delete cascade,
  user_id ${id} not null references users (id),
  -- As the provider knows the person; null for a person who was removed from the team without having signed in by it.
  subject text,
  created_at bigint not null
);
create unique index sso_identities_connection_id_subject_unique on sso_identities (connection_id, subject);
create unique index sso_identities_connection_id_user_id_unique on sso_identities (connection_id, user_id);

-- Sign-ins whose answer has come: the same one is not taken twice. Only hashes.
create table sso_answers (
  state_hash text primary key,
  at bigint not null
);
-- The hourly removal of what is too old to be answered anyway.
create index sso_answers_by_age on sso_answers (at);

-- Programs that wait for a person to approve them; a row is gone once its session has begun.
create table device_logins (
  id ${id} primary key,
  device_code_hash text not null,
  user_code_hash text not null,
  client_name text not null,
  address text not null,
  user_agent text not null,
  -- 'pending', 'approved' or 'denied'.
  status text not null,
  -- The session in which it was approved; what begins is a copy of it, where it still lives.
  session_id ${id},
  -- When the program last asked.
  polled_at bigint,
  created_at bigint not null,
  expires_at bigint not null
);
-- The hourly removal of what has expired.
create index device_logins_by_expiry on device_logins (expires_at);
create unique index device_logins_device_code_hash_unique on device_logins (device_code_hash);
create unique index device_logins_user_code_hash_unique on device_logins (user_code_hash);

create table oauth_clients (
  client_id text primary key,
  registration_hash text not null,
  name text not null,
  -- JSON lists.
  redirect_uris text not null,
  grant_types text not null,
  -- Separated by spaces; null where the client has registered none.
  scope text,
  client_uri text,
  logo_uri text,
  software_id text,
  software_version text,
  -- From where it was registered, as a hash.
  address_hash text not null,
  created_at bigint not null,
  -- When a person first let it in; null for one that may be removed again.
  used_at bigint,
  deleted_at bigint,
  -- By which the operator's list is paged: a client_id has no order. Null where an earlier version registers one meanwhile.
  id ${id},
  disabled_at bigint,
  disabled_reason text,
  -- The name of the operator.
  disabled_by text
);
-- Those of a day, and the daily removal of what nobody uses.
create index oauth_clients_by_age on oauth_clients (created_at);
create unique index oauth_clients_by_id on oauth_clients (id);
-- The disabled ones, of which there are few.
create index oauth_clients_disabled on oauth_clients (disabled_at);
-- The registrations of an hour from one address.
create index oauth_clients_of_address on oauth_clients (address_hash, created_at);

-- What a person is being asked on a page. A row is taken when it is answered, so that it is answered once.
create table oauth_consents (
  token_hash text primary key,
  session_id ${id} not null,
  team_id ${id} not null,
  client_id text not null,
  -- JSON.
  request text not null,
  expires_at bigint not null
);
-- The hourly removal.
create index oauth_consents_by_expiry on oauth_consents (expires_at);
-- The ones of a session, of which there are few.
create index oauth_consents_of_session on oauth_consents (session_id);

create table oauth_codes (
  code_hash text primary key,
  -- The id that the grant will have.
  grant_id ${id} not null,
  team_id ${id} not null,
  member_id ${id} not null,
  user_id ${id} not null,
  client_id text not null,
  -- JSON.
  request text not null,
  expires_at bigint not null
);
-- The hourly removal.
create index oauth_codes_by_expiry on oauth_codes (expires_at);
-- What ends with a person.
create index oauth_codes_of_user on oauth_codes (user_id);

create table oauth_grants (
  id ${id} primary key,
  team_id ${id} not null references teams (id),
  user_id ${id} not null references users (id),
  -- The membership that it was given in: who comes back into a team comes back without old grants.
  member_id ${id} not null,
  client_id text not null references oauth_clients (client_id),
  -- What the app called itself when the person let it in.
  client_name text not null,
  client_logo_uri text,
  -- Separated by spaces.
  scopes text not null,
  -- 'api', which is everything, or 'mcp'.
  resource text not null,
  -- Of the code that it came from, so that the code is known when it comes again.
  code_hash text not null,
  -- SHA-256 of what all refresh tokens of the grant begin with, by which one that came before is known; null once they are given
  -- back.
  refresh_family text,
  -- That of the newest of them, which is the only one that is accepted.
  refresh_hash text,
  -- That of the token which was exchanged for the newest one, the seed from which that one was derived, and when.
  refresh_previous_hash text,
  refresh_seed text,
  refreshed_at bigint,
  -- Refreshes within an hour, and when that hour began.
  refreshes integer not null default 0,
  refreshes_since bigint,
  created_at bigint not null,
  -- To the minute.
  last_used_at bigint,
  revoked_at bigint,
  revoked_reason text,
  -- JSON: what the app is kept to beside its scopes; null where nothing was ever set.
  limits text,
  -- When it ends by itself.
  expires_at bigint
);
create index oauth_grants_by_age on oauth_grants (created_at);
-- The daily removal.
create index oauth_grants_by_end on oauth_grants (revoked_at);
create unique index oauth_grants_code_hash_unique on oauth_grants (code_hash);
create index oauth_grants_of_client on oauth_grants (client_id);
-- GET /oauth/grants, newest first.
create index oauth_grants_of_team on oauth_grants (team_id, id);
-- What ends with a person, and with a client.
create index oauth_grants_of_user on oauth_grants (user_id);
create unique index oauth_grants_refresh_family_unique on oauth_grants (refresh_family);

-- Recipients that an app wrote to for a person on one day, with all its grants together.
create table oauth_sends (
  team_id ${id} not null references teams (id),
  user_id ${id} not null references users (id),
  client_id text not null,
  -- Days since 1970 in UTC.
  day integer not null,
  recipients integer not null,
  primary key (team_id, user_id, client_id)
);
-- The hourly removal.
create index oauth_sends_by_day on oauth_sends (day);
-- What ends with a person.
create index oauth_sends_of_user on oauth_sends (user_id);

create table oauth_tokens (
  token_hash text primary key,
  grant_id ${id} not null references oauth_grants (id) on delete cascade,
  -- 'access' or 'refresh'.
  kind text not null,
  scopes text not null,
  resource text not null,
  expires_at bigint not null
);
-- The hourly removal.
create index oauth_tokens_by_expiry on oauth_tokens (expires_at);
-- All tokens of a grant.
create index oauth_tokens_of_grant on oauth_tokens (grant_id);

create table approvals (
  id ${id} primary key,
  team_id ${id} not null references teams (id),
  grant_id ${id} not null,
  client_name text not null,
  operation_id text not null,
  -- The call, a JSON object, and its hash by which the same call is known.
  call text not null,
  call_hash text not null,
  -- Of what the call names and its text does not hold: the broadcast, the templates.
  seen_hash text not null,
  -- The ids of that, a JSON array: while the call waits, its app leaves them as they are.
  subject_ids text not null,
  -- 'pending', 'running', 'done', 'failed', 'rejected' or 'expired'; a pending one expires by its time too.
  status text not null,
  decided_by_kind text,
  decided_by_name text,
  reason text,
  -- JSON.
  result text,
  error text,
  created_at bigint not null,
  expires_at bigint not null,
  decided_at bigint,
  -- Set for a call that sends a broadcast: the broadcast, and how many contacts of its segment wanted mail when the app asked.
  broadcast_id ${id},
  seen_contacts integer,
  -- Keyed hashes of the addresses that the broadcast would be sent to, or of a sample of them; with the key and the sample, JSON.
  seen_audience text,
  -- JSON: recipient, number of recipients, subject and changed fields, as lists show them.
  about text
);
-- The daily removal.
create index approvals_by_age on approvals (created_at);
-- Serves the question what an app may not fill until the broadcast that was approved for it has been sent.
create index approvals_by_broadcast on approvals (grant_id, broadcast_id) where broadcast_id is not null;
-- What an app has asked for already.
create index approvals_by_call on approvals (grant_id, call_hash, id);
create index approvals_of_grant on approvals (grant_id, id);
-- GET /approvals, newest first, of all, of a status and of an app.
create index approvals_of_team on approvals (team_id, id);
create index approvals_of_team_by_status on approvals (team_id, status, id);

-- What a team asked within the last minute, and what is still being answered. Each request of a team removes its old rows.
create table ai_requests (
  id ${id} primary key,
  team_id ${id} not null,
  created_at bigint not null,
  -- Until then it holds a credit; null once it is answered, has failed or costs nothing.
  open_until bigint
);
-- What a team has under way, at each of its requests.
create index ai_requests_of_team on ai_requests (team_id, created_at);

-- The latest diagnosis of each email.
create table ai_diagnoses (
  email_id ${id} primary key,
  team_id ${id} not null,
  -- SHA-256 of what it was made of.
  state_hash text not null,
  -- Summary, causes and steps, as JSON.
  diagnosis text not null,
  created_at bigint not null
);

-- =======
-- Billing
-- =======

-- Months that are closed for all teams, as 2026-11.
create table billing_months (
  month text primary key,
  closed_at bigint not null
);

-- ... and for one team, with an invoice or without.
create table billing_team_months (
  team_id ${id} not null references teams (id),
  month text not null,
  closed_at bigint not null,
  primary key (team_id, month)
);

create table invoice_series (
  series text primary key,
  last_number bigint not null
);

-- Kept for ever: books are.
create table invoices (
  id ${id} primary key,
  -- No reference: invoices outlive their team.
  team_id ${id} not null,
  number text not null,
  month text not null,
  -- All of it, as it was issued: a JSON object.
  content text not null,
  issued_at bigint not null
);
create unique index invoices_number_unique on invoices (number);
-- GET /billing/invoices.
create index invoices_team_id_id_index on invoices (team_id, id);
create unique index invoices_team_id_month_unique on invoices (team_id, month);

-- What a payment provider said last of a team's subscription.
create table team_subscriptions (
  team_id ${id} primary key references teams (id),
  -- Null until the provider has answered once.
  status text,
  current_period_start bigint,
  current_period_end bigint,
  -- Questions to the provider are counted as they begin; the answer to an older one never replaces that to a newer one.
  asked bigint not null,
  answered bigint not null,
  -- When the provider was last asked.
  asked_at bigint,
  -- Since when a change is known that no event had told; null again with the next event.
  missed_since bigint
);
create index team_subscriptions_by_missed_since on team_subscriptions (missed_since);
-- The hourly look at periods that are over.
create index team_subscriptions_by_period_end on team_subscriptions (current_period_end);

-- Events of a payment provider, so that one that comes twice is read once.
create table payment_events (
  provider text not null,
  event_id text not null,
  -- Null where it concerns no team of this installation.
  team_id ${id},
  received_at bigint not null,
  -- Null until what it was about is known.
  read_at bigint,
  primary key (provider, event_id)
);
-- The daily removal of old ones.
create index payment_events_by_time on payment_events (received_at);

-- ========================================================
-- The installation: nodes, jobs, certificates and findings
-- ========================================================

-- How providers took the mail of each source and sending domain, by the hour; older than some days, by the day.
create table reputation_counts (
  -- The beginning of the hour, in hours since 1970.
  hour bigint not null,
  source text not null,
  -- The provider; empty for all receivers without one.
  provider text not null,
  domain_id ${id} not null,
  team_id ${id} not null,
  -- 1 for marketing mail.
  is_marketing smallint not null,
  -- accepted, deferred, bounced, complained
  outcome text not null,
  -- Why, as far as the reply says; empty if it does not.
  cause text not null,
  -- Several writers add to rows of their own.
  shard integer not null,
  -- Complaints and returned mail: so many hours before this one, the mail was accepted.
  late_hours integer not null default 0,
  -- Mail that was accepted and returned later is subtracted from what was accepted.
  count bigint not null,
  primary key (hour, source, provider, domain_id, is_marketing, outcome, cause, shard, late_hours)
);
-- GET /domains/{domain_id}/reputation, and the circuit breakers of a domain.
create index reputation_counts_domain on reputation_counts (domain_id, hour);
create index reputation_counts_team on reputation_counts (team_id, hour);

-- Recipients whose complaint or returned mail was counted for a domain, so that another report about them does not count.
create table counted_reports (
  domain_id ${id} not null,
  -- A hash of the address.
  recipient text not null,
  -- complained, bounced
  outcome text not null,
  team_id ${id} not null,
  counted_at bigint not null,
  primary key (domain_id, recipient, outcome)
);
create index counted_reports_team on counted_reports (team_id);
-- Removal of those that are older than the window.
create index counted_reports_age on counted_reports (counted_at);

-- The daily summaries of reputation that were sent to the operators, or why none was.
create table reputation_summaries (
  -- The day that it is about, in days since 1970.
  day integer primary key,
  outcome text not null,
  created_at bigint not null
);

-- Circuit breakers that limit mail, and those that did within the last days.
create table breakers (
  id ${id} not null primary key,
  team_id ${id} not null,
  -- domain: the mail of one domain. team: that of all domains of a team, whose limit holds for each of them.
  scope text not null,
  -- The domain or the team.
  subject_id ${id} not null,
  -- The name of the domain when the breaker was made; empty for a team.
  domain_name text not null,
  -- The provider; empty: all receivers together.
  provider text not null,
  -- marketing, transactional
  stream text not null,
  -- slow, paused, probing, recovering, closed
  state text not null,
  -- complaints, bounces
  cause text not null,
  -- How often its mail was paused.
  trips integer not null,
  tripped_at bigint not null,
  changed_at bigint not null,
  -- The time of the next decision.
  until_at bigint not null,
  -- Messages per minute; null if nothing is sent, or if there is no limit.
  rate double precision,
  -- Recipients who complained or bounced, of so many, when it tripped.
  bad bigint not null,
  total bigint not null,
  -- The hour since 1970 from which outcomes count, and those of this hour that do not; null: all of the window count.
  base_hour bigint,
  base_accepted bigint not null,
  base_bounced bigint not null,
  base_complained bigint not null,
  unique (subject_id, provider, stream)
);
-- Findings of one team.
create index breakers_team on breakers (team_id);

-- Domains that sent near or over the threshold of a provider when they were last checked, and the rules that they do not meet.
create table unmet_sender_rules (
  domain_id ${id} not null,
  provider text not null,
  team_id ${id} not null,
  -- The names of the rules as a JSON array.
  rules text not null,
  -- near, over
  level text not null,
  since bigint not null,
  primary key (domain_id, provider)
);
-- Findings of one team.
create index unmet_sender_rules_team on unmet_sender_rules (team_id);

-- Sources that are being warmed up, or were.
create table warm_ups (
  source text primary key,
  -- warming: limits grow. paused: limits stay as they are. ended: an operator ended it, so the settings do not start it again.
  state text not null,
  started_at bigint not null,
  changed_at bigint not null
);

-- How far the warm-up of a source is at each provider, and what it has used today.
create table warm_up_days (
  source text not null,
  -- The provider; empty for all receivers without one.
  provider text not null,
  -- The position in the schedule.
  level integer not null,
  -- The last day on which it was used, in days since 1970, and the messages of that day.
  day integer not null,
  used integer not null,
  -- The last hour in which it was used, in hours since 1970, and the messages of that hour.
  hour bigint not null,
  hour_used integer not null,
  -- How the day before was judged: new, good, bad, idle, little, paused
  judged text not null,
  -- The number of good days after which the next step is taken: more after bad days.
  days_left integer not null,
  bad_days integer not null,
  primary key (source, provider)
);

-- Refusals of sources that are being warmed up, by receiver, where no receiver speaks for all others: at small receivers, and at
-- providers whose customers write some of the replies.
create table warm_up_refusals (
  source text not null,
  -- The provider; empty for all receivers without one.
  provider text not null,
  -- In days since 1970.
  day integer not null,
  -- The registered domain of the mail servers, or of the recipient if there is a provider.
  receiver text not null,
  -- Recipients that were refused or deferred because of the source, and those that bounced for other reasons.
  mistrusted integer not null,
  bounced integer not null,
  primary key (source, provider, day, receiver)
);

-- Sources that are left out for a while, to explain what mail waits for: nothing can be sent from them, or a receiver refuses them.
create table source_rests (
  source text not null,
  -- The receiver that refuses it; empty if nothing can be sent from it.
  receiver text not null,
  until_at bigint not null,
  reason text not null,
  primary key (source, receiver)
);

-- Limits that receivers asked for by their replies, or that an operator set, until a time.
create table throttles (
  id ${id} not null primary key,
  -- The address or relay that mail leaves by; empty: all of them.
  source text not null,
  -- The provider; empty: the mail servers named in servers.
  provider text not null,
  servers text not null,
  -- The sending domain whose mail is limited; empty: all mail. Without provider and servers, it is limited everywhere.
  sender_domain text not null,
  -- marketing, transactional; empty: all mail.
  stream text not null,
  -- suspend, rate, connections, messages_per_connection
  kind text not null,
  -- The limit; null for a suspension.
  value double precision,
  started_at bigint not null,
  until_at bigint not null,
  -- How often it was raised since it began, on the way back to normal.
  step integer not null,
  -- The rule of config/providers.toml, 'breaker' for a circuit breaker, or empty for an operator.
  reaction text not null,
  -- The reply of the receiver, the figures of the circuit breaker, or the reason of the operator.
  reason text not null,
  unique (source, provider, servers, sender_domain, stream, kind)
);

-- Where the mail of each recipient domain goes, as it was last looked up.
create table recipient_domains (
  name text not null primary key,
  -- Empty: no known provider.
  provider text not null,
  -- The names of its mail servers.
  servers text not null,
  seen_at bigint not null
);
create index recipient_domains_provider on recipient_domains (provider, servers);
-- Which are forgotten.
create index recipient_domains_seen_at on recipient_domains (seen_at);

-- MTA-STS policies of recipients' domains (RFC 8461). A policy holds until it expires, even if it can no longer be fetched.
create table sts_policies (
  domain text not null primary key,
  -- The id of its record when it was fetched; empty: it was never fetched.
  policy_id text not null,
  -- The file as it was fetched.
  content text not null,
  fetched_at bigint not null,
  expires_at bigint not null,
  -- The last attempt to fetch it that failed since then, and why.
  failed_id text,
  failed_at bigint,
  failure text,
  -- The day on which mail went to the domain last.
  used_at bigint not null
);
-- Which are refreshed, and which are forgotten.
create index sts_policies_fetched_at on sts_policies (fetched_at);
create index sts_policies_used_at on sts_policies (used_at);
-- Stored policies whose last fetch failed, which a finding reports.
create index sts_policies_failing on sts_policies (fetched_at) where failed_at is not null and fetched_at > 0;

-- How TLS went with recipients' mail servers, by day, for the reports of RFC 8460.
create table tls_session_counts (
  -- 00:00 UTC.
  day bigint not null,
  domain text not null,
  -- Digests of the two next columns, which are too long for an index; that of a success is empty.
  policy_digest text not null,
  failure_digest text not null,
  -- JSON: the policy, and what went wrong; null for sessions that succeeded.
  policy text not null,
  failure text,
  sessions bigint not null,
  primary key (day, domain, policy_digest, failure_digest)
);

-- The reports of a day, and where each is sent. It shows what was sent already.
create table outgoing_tls_reports (
  -- 00:00 UTC of the day that it reports on.
  day bigint not null,
  domain text not null,
  -- A mailto or https URL; empty: the record of the domain, which names them, is to be looked up.
  target text not null,
  attempts integer not null,
  -- Null: nothing more is done.
  next_at bigint,
  -- What became of it; 'sending' if the process ended while it was posted.
  outcome text,
  primary key (day, domain, target)
);
-- Which are due.
create index outgoing_tls_reports_next_at on outgoing_tls_reports (next_at) where next_at is not null;

-- Outcomes of delivery by where mail went, in periods of five minutes.
create table provider_counts (
  source text not null,
  provider text not null,
  -- Empty where there is a provider.
  servers text not null,
  period_at bigint not null,
  accepted bigint not null,
  deferred bigint not null,
  bounced bigint not null,
  primary key (provider, servers, source, period_at)
);
-- Which are forgotten.
create index provider_counts_period_at on provider_counts (period_at);

-- Processes that deliver, which share the limits of receivers.
create table delivering_nodes (
  id ${id} not null primary key,
  -- By the clock of the database.
  heard_at bigint not null
);

-- Connections to receivers that each process that delivers has open. A row is renewed every few seconds.
create table provider_connections (
  node_id ${id} not null,
  source text not null,
  provider text not null,
  -- Empty where there is a provider.
  servers text not null,
  connections integer not null,
  -- The part of this process in the limit; null without one.
  connections_max integer,
  seen_at bigint not null,
  primary key (node_id, source, provider, servers)
);

-- What every process knows of itself alone. A row is renewed each half minute, and gone with its process or by its age.
create table node_reports (
  id ${id} not null primary key,
  name text not null,
  version text not null,
  -- JSON array.
  roles text not null,
  started_at bigint not null,
  seen_at bigint not null,
  -- JSON array.
  findings text not null,
  -- When the database last heard of the node, by the clock of the database: those of nodes may differ.
  heard_at bigint
);

-- Whoever moves a job's slot forward runs it; the other nodes find it moved.
create table cron_runs (
  job text primary key,
  slot bigint not null
);

-- Our account at each authority that was ever named, by the address of its directory.
create table acme_accounts (
  directory text primary key,
  id ${id} not null,
  -- Sealed with the instance key.
  private_key text not null,
  -- Null until the authority knows the key.
  url text,
  created_at bigint not null,
  -- The hour that the orders are counted in.
  hour bigint not null,
  orders_in_hour integer not null
);

create table certificates (
  id ${id} primary key,
  -- The first of its names, and what it is called.
  name text not null,
  -- 'host' for this installation, 'tracking' for a host that leads tracked links to us, 'mta_sts' for a policy host.
  kind text not null,
  -- All that it is to be for, sorted, with a blank between.
  names text not null,
  -- What is shown; null until there is one. The key is sealed with the instance key.
  chain text,
  private_key text,
  -- Grows with each that is issued, so that other processes see it.
  version integer not null default 0,
  starts_at bigint,
  ends_at bigint,
  -- The order under way, and the sealed key that it is for: known before the authority is told to issue.
  order_url text,
  order_key text,
  wants_new_key integer not null default 0,
  next_try_at bigint not null,
  failures integer not null default 0,
  -- Since when it fails; null while it does not.
  failing_since bigint,
  error text,
  lease_owner ${id},
  lease_until bigint,
  created_at bigint not null
);
-- What is due.
create index certificates_by_next_try on certificates (next_try_at);
create unique index certificates_name_unique on certificates (name);

create table acme_challenges (
  token text primary key,
  certificate_id ${id} not null,
  -- 'http-01' or 'tls-alpn-01'.
  kind text not null,
  name text not null,
  -- What is answered; no secret.
  key_authorization text not null,
  expires_at bigint not null
);
create index acme_challenges_by_certificate on acme_challenges (certificate_id);
create index acme_challenges_by_end on acme_challenges (expires_at);
-- What is asked for at the TLS port, and what goes with its certificate.
create index acme_challenges_by_name on acme_challenges (name);

-- The last examination of each machine, check by check.
create table examinations (
  machine text not null,
  check_name text not null,
  -- 'passed', 'failed', 'unknown' or 'skipped'.
  state text not null,
  summary text not null,
  -- JSON array of findings.
  findings text not null,
  -- JSON array of what the check could determine something about, such as addresses; empty for most checks.
  examined text not null,
  checked_at bigint not null,
  -- When all of it was last known.
  known_at bigint not null,
  primary key (machine, check_name)
);

-- Free bytes on the disk of the data folder, hour by hour.
create table disk_samples (
  machine text not null,
  at bigint not null,
  free_bytes bigint not null,
  primary key (machine, at)
);

-- One row: what was told last.
create table findings_told (
  id integer primary key,
  version integer not null,
  -- JSON array of findings, each of one thing.
  findings text not null,
  told_at bigint not null
);

-- What is still to be told of a change, and what was.
create table finding_notices (
  id ${id} primary key,
  -- 'command' or 'url'.
  channel text not null,
  body text not null,
  -- 'waiting', 'begun', 'told' or 'failed'.
  state text not null,
  attempts integer not null,
  next_try_at bigint not null,
  created_at bigint not null
);
create index finding_notices_by_age on finding_notices (created_at);
-- What is due, and what was begun and never ended.
create index finding_notices_by_try on finding_notices (state, next_try_at);

-- At most one row, in a database that was moved or is the target of a move. Every start of the program checks it.
create table database_moves (
  -- 'move': there is one.
  name text primary key,
  -- JSON: how far it is, from where or to where, when, and of which installation.
  value text not null
);
`;
}
