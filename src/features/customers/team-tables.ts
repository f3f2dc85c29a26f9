import type { TableShape } from '../../platform/db/index.ts';

/**
 * Says how the rows of a table belong to a team. A table may belong in several ways, each of which is a path of its own.
 */
export interface TeamPath {
  table: string;
  /** The column that contains the team's id or, below a parent, the value of `from` of the parent's row. */
  by: string;
  /** The table whose rows own these rows. */
  parent?: string;
  /** The column of the parent; `id` if it is not given. */
  from?: string;
  /** Precedes the team's id in the column. */
  prefix?: string;
  /** A further condition, without parameters. */
  where?: string;
  /**
   * The rows own files of the blob store, by their ids: all of which are recorded in content_files, or which may have
   * no record.
   */
  files?: 'recorded' | 'unrecorded';
  /** Removed but not exported, with the reason. */
  notExported?: string;
  /** Exported but not removed: another step of the deletion removes or keeps it. */
  isRemovedElsewhere?: true;
  /** Only on this database. */
  only?: 'sqlite';
}

const COPY = 'a copy of other rows that serves a search';
const LIMIT = 'a counter of a limit that is over within minutes';
const TOKEN = 'contains only secrets and what they lead to';

const under = (parent: string, by: string, tables: readonly string[]): TeamPath[] =>
  tables.map((table) => ({ table, by, parent }));

const listFilePaths = (parent: string): TeamPath[] => under(parent, 'owner_id', ['contents', 'content_files']);

const searchGrams = (name: string): TeamPath[] => [
  { table: `${name}_grams`, by: 'rowid', parent: `${name}_blocks`, only: 'sqlite', notExported: COPY },
];

/**
 * Lists every table that has data of teams, in the order of removal: what still sends or signs in first, and what is
 * counted last. A row is removed after everything below it, so that an interrupted removal can be continued.
 */
export const TEAM_PATHS: readonly TeamPath[] = [
  // Programs and people that act for the team.
  { table: 'api_keys', by: 'team_id' },
  { table: 'webhook_listeners', by: 'team_id' },
  { table: 'webhook_listener_events', by: 'listener_id', parent: 'webhook_listeners', notExported: COPY },
  { table: 'webhooks', by: 'team_id' },
  ...under('webhooks', 'webhook_id', ['webhook_events', 'webhook_attempts']),
  { table: 'webhook_payloads', by: 'team_id' },
  { table: 'webhook_replays', by: 'team_id', notExported: LIMIT },
  { table: 'oauth_consents', by: 'team_id', notExported: TOKEN },
  { table: 'oauth_codes', by: 'team_id', notExported: TOKEN },
  { table: 'oauth_sends', by: 'team_id', notExported: LIMIT },
  { table: 'oauth_grants', by: 'team_id' },
  { table: 'oauth_tokens', by: 'grant_id', parent: 'oauth_grants', notExported: TOKEN },
  { table: 'approvals', by: 'team_id' },
  { table: 'team_invitations', by: 'team_id' },
  { table: 'sessions', by: 'sso_team_id', notExported: TOKEN },
  { table: 'sso_connections', by: 'team_id' },
  { table: 'sso_identities', by: 'connection_id', parent: 'sso_connections' },
  { table: 'sso_domains', by: 'team_id' },
  { table: 'team_members', by: 'team_id', isRemovedElsewhere: true },
  // Domains.
  { table: 'domains', by: 'team_id', isRemovedElsewhere: true },
  { table: 'domain_records', by: 'domain_id', parent: 'domains', isRemovedElsewhere: true },
  { table: 'dkim_keys', by: 'domain_id', parent: 'domains', isRemovedElsewhere: true },
  { table: 'dns_published', by: 'domain_id', parent: 'domains', isRemovedElsewhere: true },
  { table: 'dns_setups', by: 'team_id', isRemovedElsewhere: true },
  { table: 'dns_published', by: 'domain_id', parent: 'dns_setups', from: 'domain_id' },
  ...under('domains', 'domain_id', [
    'domain_report_sources',
    'domain_report_sessions',
    'domain_report_counts',
    'domain_reports',
  ]),
  { table: 'breakers', by: 'team_id' },
  { table: 'unmet_sender_rules', by: 'team_id' },
  { table: 'throttles', by: 'sender_domain', parent: 'domains', from: 'name' },
  { table: 'domain_claims', by: 'team_id' },
  // Mail that waits in the queue.
  { table: 'deliveries', by: 'team_id', isRemovedElsewhere: true },
  // Automations, broadcasts and the audience.
  { table: 'automations', by: 'team_id' },
  ...under('automations', 'automation_id', [
    'automation_versions',
    'automation_runs',
    'automation_entries',
    'automation_refusals',
    'automation_exits',
    'automation_occurrences',
  ]),
  ...under('automation_runs', 'run_id', ['automation_run_steps']),
  { table: 'custom_events', by: 'team_id' },
  ...under('custom_events', 'custom_event_id', ['contact_custom_events']),
  { table: 'broadcasts', by: 'team_id' },
  ...under('broadcasts', 'broadcast_id', [
    'broadcast_recipients',
    'broadcast_links',
    'broadcast_counts',
    'broadcast_images',
    'broadcast_reviews',
  ]),
  { table: 'page_shares', by: 'team_id' },
  { table: 'contact_imports', by: 'team_id', files: 'unrecorded' },
  ...under('contact_imports', 'import_id', ['contact_import_failures', 'contact_import_skipped_values']),
  ...listFilePaths('contact_imports'),
  { table: 'topic_confirmations', by: 'team_id' },
  { table: 'form_sign_ups', by: 'team_id' },
  { table: 'sign_up_forms', by: 'team_id' },
  { table: 'topic_confirmation_mails', by: 'topic_id', parent: 'sign_up_forms' },
  { table: 'topics', by: 'team_id' },
  ...under('topics', 'topic_id', ['topic_confirmation_mails']),
  { table: 'segments', by: 'team_id' },
  ...under('segments', 'segment_id', ['segment_members']),
  { table: 'contact_properties', by: 'team_id' },
  { table: 'contact_texts', by: 'property_id', parent: 'contact_properties', notExported: COPY },
  { table: 'contact_numbers', by: 'property_id', parent: 'contact_properties', notExported: COPY },
  { table: 'contacts', by: 'team_id' },
  ...under('contacts', 'contact_id', ['contact_topics']),
  { table: 'contact_engagement', by: 'team_id' },
  { table: 'contact_link_clicks', by: 'team_id' },
  { table: 'contact_counts', by: 'team_id' },
  { table: 'contact_history', by: 'team_id' },
  { table: 'consent_records', by: 'team_id' },
  // Mail.
  { table: 'idempotency_keys', by: 'team_id', notExported: 'responses that are repeated for a day' },
  { table: 'inboxes', by: 'team_id' },
  ...under('inboxes', 'inbox_id', ['inbox_labels', 'inbox_threads', 'inbox_emails']),
  { table: 'inbox_drafts', by: 'inbox_id', parent: 'inboxes', files: 'unrecorded' },
  { table: 'inbox_message_ids', by: 'inbox_id', parent: 'inboxes', notExported: COPY },
  { table: 'inbox_participants', by: 'inbox_id', parent: 'inboxes', notExported: COPY },
  { table: 'inbox_search_blocks', by: 'inbox_id', parent: 'inboxes', notExported: COPY },
  ...searchGrams('inbox_search'),
  ...under('inbox_threads', 'thread_id', ['inbox_thread_labels']),
  { table: 'inbox_answering', by: 'thread_id', parent: 'inbox_threads', notExported: 'is over within minutes' },
  ...under('inbox_drafts', 'draft_id', ['inbox_draft_files']),
  ...listFilePaths('inbox_drafts'),
  { table: 'inbound_rules', by: 'team_id' },
  { table: 'received_emails', by: 'team_id', files: 'recorded' },
  ...under('received_emails', 'received_id', ['received_bodies', 'received_attachments']),
  ...under('received_emails', 'subject_id', ['events']),
  ...listFilePaths('received_emails'),
  { table: 'received_storage', by: 'team_id' },
  { table: 'emails', by: 'team_id', files: 'recorded' },
  ...under('emails', 'email_id', [
    'delivery_attempts',
    'email_bodies',
    'email_messages',
    'email_attachments',
    'email_shares',
    'broadcast_link_clicks',
    'tracked_clicks',
    'ai_diagnoses',
  ]),
  ...under('emails', 'subject_id', ['events']),
  { table: 'queue_holds', by: 'value', parent: 'emails', where: "kind = 'email_id'" },
  ...listFilePaths('emails'),
  { table: 'queue_holds', by: 'value', where: "kind = 'team_id'" },
  { table: 'email_tags', by: 'team_id' },
  { table: 'email_search_blocks', by: 'team_id', notExported: COPY },
  ...searchGrams('email_search'),
  { table: 'shared_bodies', by: 'team_id' },
  { table: 'playground_messages', by: 'team_id', files: 'unrecorded', notExported: 'mail that development captured' },
  ...listFilePaths('playground_messages'),
  { table: 'suppressions', by: 'team_id' },
  // The condition matches the index of these events; all others are below emails.
  { table: 'events', by: 'team_id', where: "substr(type, 1, 6) <> 'email.'" },
  { table: 'images', by: 'team_id', files: 'unrecorded' },
  ...listFilePaths('images'),
  { table: 'templates', by: 'team_id' },
  ...under('templates', 'template_id', ['template_versions']),
  // Counts and logs.
  { table: 'metric_counts', by: 'team_id' },
  { table: 'stream_counts', by: 'team_id' },
  { table: 'reputation_counts', by: 'team_id' },
  { table: 'counted_reports', by: 'team_id', notExported: LIMIT },
  { table: 'rate_limits', by: 'bucket', prefix: 'team:', notExported: LIMIT },
  { table: 'ai_requests', by: 'team_id', notExported: LIMIT },
  { table: 'request_logs', by: 'team_id' },
  { table: 'payment_events', by: 'team_id' },
  { table: 'team_subscriptions', by: 'team_id' },
  { table: 'audit_log', by: 'team_id' },
];

/** The last rows of a team: they stay until its last month is closed, and then go together. */
export const BILLED_PATHS: readonly TeamPath[] = [
  { table: 'team_plans', by: 'team_id' },
  { table: 'usage_counters', by: 'team_id' },
  { table: 'billing_team_months', by: 'team_id' },
  { table: 'team_deletions', by: 'team_id', notExported: 'the state of a deletion' },
  { table: 'teams', by: 'id' },
];

/** Exported with a team, and kept, or removed by other steps. */
export const ALSO_EXPORTED: readonly TeamPath[] = [
  { table: 'invoices', by: 'team_id' },
  { table: 'users', by: 'id', parent: 'team_members', from: 'user_id' },
];

/** Tables whose rows belong to a person. They go with the account of a person who is in no other team. */
export const PERSON_PATHS: readonly TeamPath[] = [
  ...under('sessions', 'session_id', ['device_logins', 'oauth_consents']),
  ...under('oauth_grants', 'grant_id', ['oauth_tokens']),
  ...under('users', 'user_id', [
    'sessions',
    'oauth_codes',
    'oauth_grants',
    'oauth_sends',
    'account_notices',
    'mfa_recovery_codes',
    'mfa_failures',
    'mfa_challenges',
    'mfa_secrets',
    'sso_identities',
    'password_resets',
  ]),
  { table: 'audit_log', by: 'actor_id', parent: 'users', where: 'team_id is null' },
  { table: 'audit_log', by: 'subject_id', parent: 'users', where: 'team_id is null' },
  ...['sign_ups', 'password_resets', 'failed_sign_ins'].map((table) => ({
    table,
    by: 'email_key',
    parent: 'users',
    from: 'email_key',
  })),
];

/** Tables of the installation that stay when a team is deleted, with the reason. */
export const KEPT_TABLES: Readonly<Record<string, string>> = {
  acme_accounts: 'belongs to the installation',
  acme_challenges: 'goes with its certificate',
  billing_months: 'belongs to the installation',
  certificates: 'goes when the host name is no longer used',
  cron_runs: 'belongs to the installation',
  database_moves: 'belongs to the installation',
  delivering_nodes: 'belongs to the installation',
  disk_samples: 'belongs to the installation',
  examinations: 'is written anew by the next examination',
  finding_notices: 'goes by its age',
  findings_told: 'is written anew with the next change',
  form_proofs: 'contains only random challenges, which go by their age',
  form_sign_up_addresses: 'contains only hashes, which go by their age',
  greylist: 'contains only hashes, which go by their age',
  instance_settings: 'belongs to the installation',
  invoice_series: 'belongs to the installation',
  invoices: 'are kept as books',
  node_reports: 'is written anew every half minute',
  oauth_clients: 'belong to all teams; one that no team uses goes by its age',
  operators: 'belong to the installation',
  outgoing_tls_reports: 'counts the mail of all teams, and goes by its age',
  plan_terms: 'belongs to the installation',
  provider_connections: 'belongs to the installation',
  provider_counts: 'counts the mail of all teams, and goes by its age',
  recipient_domains: 'is of the mail of all teams, and goes by its age',
  schema_migrations: 'belongs to the installation',
  schema_migrations_lock: 'belongs to the installation',
  sign_in_attempts: 'contains only hashes, which go by their age',
  sso_answers: 'contains only hashes, which go by their age',
  reputation_summaries: 'belongs to the installation',
  sts_policies: 'is of the mail of all teams, and goes by its age',
  sts_withdrawals: 'keeps the name of a domain for as long as senders apply its policy',
  table_changes: 'belongs to the installation',
  tls_session_counts: 'counts the mail of all teams, and goes by its age',
  users: 'go if they are in no other team',
  source_rests: 'belongs to the installation',
  warm_up_days: 'belongs to the installation',
  warm_up_refusals: 'belongs to the installation',
  warm_ups: 'belongs to the installation',
};

/**
 * Columns that contain a secret, or a hash that is compared with one. They are never exported.
 */
export const SECRET_COLUMNS: Readonly<Record<string, readonly string[]>> = {
  api_keys: ['token_hash'],
  dkim_keys: ['private_key_sealed'],
  email_shares: ['token_hash'],
  page_shares: ['token_hash'],
  oauth_grants: ['code_hash', 'refresh_family', 'refresh_hash', 'refresh_previous_hash', 'refresh_seed'],
  sso_connections: ['client_secret'],
  team_invitations: ['token_hash'],
  users: ['password_hash'],
  webhooks: ['secret_sealed', 'previous_secret_sealed'],
  webhook_listeners: ['secret_sealed'],
};

/** Columns of text that contain JSON, in the tables that have them. */
export const JSON_COLUMNS: ReadonlySet<string> = new Set([
  'ab_decision',
  'ab_test',
  'admin_emails',
  'agent_actions',
  'asked',
  'authentication',
  'bcc_list',
  'cc_list',
  'contact_ids',
  'data',
  'details',
  'diagnosis',
  'fallback_value',
  'fallbacks',
  'filter',
  'former_tracking_subdomains',
  'forward_to',
  'graph',
  'limits',
  'merge_values',
  'options',
  'payload_schema',
  'postal_address',
  'recipients',
  'reply_to_list',
  'tags',
  'to_list',
  'variables',
]);

/** Lists the paths on a database. */
export const pathsOn = (dialect: 'sqlite' | 'pg', paths: readonly TeamPath[]): TeamPath[] =>
  paths.filter(({ only }) => only === undefined || only === dialect);

/** Returns the tables of a database about which nothing is said here: nobody knows whether they have data of a team. */
export function listUnknownTables(shapes: readonly TableShape[]): string[] {
  const known = new Set([
    ...[...TEAM_PATHS, ...BILLED_PATHS, ...PERSON_PATHS].map(({ table }) => table),
    ...Object.keys(KEPT_TABLES),
  ]);
  return shapes
    .map(({ name }) => name)
    .filter((name) => !known.has(name) && !/_grams_(data|idx|content|docsize|config)$/.test(name));
}
