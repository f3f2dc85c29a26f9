import type { TableShape } from '../../platform/db/index.ts';

/**
 * Tables whose rows about a person an erasure removes, or from which it removes the address. Those of the contact go with
 * it; all others are changed if mail is erased as well.
 */
export const ERASED_TABLES: ReadonlySet<string> = new Set([
  'ai_diagnoses',
  'approvals',
  'automation_entries',
  'automation_occurrences',
  'automation_refusals',
  'automation_run_steps',
  'automation_runs',
  'broadcast_links',
  'broadcast_recipients',
  'contact_engagement',
  'contact_custom_events',
  'contact_history',
  'contact_import_failures',
  'contact_import_skipped_values',
  'contact_imports',
  'contact_link_clicks',
  'contact_numbers',
  'contact_texts',
  'contact_topics',
  'contacts',
  'content_files',
  'contents',
  'deliveries',
  'delivery_attempts',
  'email_attachments',
  'email_bodies',
  'email_messages',
  'email_shares',
  'email_tags',
  'emails',
  'events',
  'form_sign_ups',
  'inbox_draft_files',
  'inbox_drafts',
  'inbox_emails',
  'inbox_message_ids',
  'inbox_participants',
  'inbox_threads',
  'playground_messages',
  'received_attachments',
  'received_bodies',
  'received_emails',
  'request_logs',
  'segment_members',
  'topic_confirmations',
  'tracked_clicks',
  'webhook_attempts',
  'webhook_payloads',
]);

const SETTING = 'was written by the team, which can change it';
const ACCOUNT = 'belongs to the account of a person; rasket members and rasket users remove it';

/** Tables of a team that are searched for the address after an erasure, and why rows that have it are kept. */
export const KEPT_TABLES_OF_PERSON: Readonly<Record<string, string>> = {
  approvals: 'the call of an app waits for a decision; repeat the erasure after it',
  audit_log: 'shows who changed what; entries cannot be changed, and are removed after audit.retention_days',
  automation_versions: SETTING,
  sign_up_forms: SETTING,
  broadcast_reviews: 'shows who approved a broadcast; removed with the broadcast',
  broadcasts: SETTING,
  events: 'tells endpoints which contact was erased; removed after retention_days of the plan',
  idempotency_keys: 'prevents that a repeated call sends twice; removed after a day',
  inbound_rules: SETTING,
  inboxes: SETTING,
  invoices: 'kept as books',
  segments: SETTING,
  suppressions: 'prevents further mail to the address; rasket suppressions remove lifts it',
  team_invitations: ACCOUNT,
  teams: SETTING,
  template_versions: SETTING,
  topics: SETTING,
  webhook_payloads: 'tells endpoints which contact was erased; removed after retention_days of the plan',
  webhooks: SETTING,
};

/** Tables with a hash of the address, which an erasure keeps. */
export const HASHED_TABLES: Readonly<Record<string, string>> = {
  broadcast_recipients: 'a hash, so that the address does not get the same broadcast again; removed with its report',
  consent_records: 'a hash, so that an address that is added again stays opted out, and as proof of decisions',
  form_sign_up_addresses: 'a hash, which limits how often the address can be signed up; removed by its age',
  topic_confirmation_mails:
    'a hash, which limits how often the address is asked to confirm a topic; removed by its age',
};

const OTHERS = 'the content of mail between the team and other people is theirs';

/** What an erasure does not search for the address, and why. */
export const NOT_SEARCHED: Readonly<Record<string, string>> = {
  automation_runs: 'payloads of runs of other contacts; removed after retention_days of the plan',
  contact_history: 'payloads of custom events of other contacts; removed after retention_days of the plan',
  contacts: 'properties of other contacts',
  contents: OTHERS,
  email_bodies: OTHERS,
  email_messages: OTHERS,
  inbox_emails: OTHERS,
  inbox_threads: 'notes of the team in threads of other people',
  received_bodies: OTHERS,
  shared_bodies: 'the text that recipients of a broadcast or a batch share',
  users: ACCOUNT,
  webhook_attempts:
    'what endpoints answered when they were told that the contact was erased; removed after retention_days',
};

/** Tables of accounts, which are the same for all teams. */
const ACCOUNT_TABLES: readonly string[] = [
  'account_notices',
  'device_logins',
  'failed_sign_ins',
  'oauth_codes',
  'oauth_consents',
  'password_resets',
  'sessions',
  'sign_in_attempts',
  'sign_ups',
  'sso_identities',
];

/**
 * Tables without the address of a recipient: with ids, counts, hashes and states, with names that a team or an operator
 * chose, or with what mail servers and providers say about domains.
 */
const WITHOUT_ADDRESSES: ReadonlySet<string> = new Set([
  'acme_accounts',
  'acme_challenges',
  'ai_requests',
  'api_keys',
  'automation_exits',
  'automations',
  'billing_months',
  'billing_team_months',
  'breakers',
  'broadcast_counts',
  'broadcast_images',
  'broadcast_link_clicks',
  'certificates',
  'contact_counts',
  'contact_properties',
  'counted_reports',
  'cron_runs',
  'custom_events',
  'database_moves',
  'delivering_nodes',
  'disk_samples',
  'dkim_keys',
  'dns_published',
  'dns_setups',
  'domain_claims',
  'domain_records',
  'domain_report_counts',
  'domain_report_sessions',
  'domain_report_sources',
  'domain_reports',
  'domains',
  'email_search_blocks',
  'examinations',
  'finding_notices',
  'findings_told',
  'form_proofs',
  'greylist',
  'images',
  'inbox_answering',
  'inbox_labels',
  'inbox_search_blocks',
  'inbox_thread_labels',
  'instance_settings',
  'invoice_series',
  'metric_counts',
  'mfa_challenges',
  'mfa_failures',
  'mfa_recovery_codes',
  'mfa_secrets',
  'node_reports',
  'oauth_clients',
  'oauth_grants',
  'oauth_sends',
  'oauth_tokens',
  'operators',
  'outgoing_tls_reports',
  'page_shares',
  'payment_events',
  'plan_terms',
  'provider_connections',
  'provider_counts',
  'queue_holds',
  'rate_limits',
  'received_storage',
  'recipient_domains',
  'reputation_counts',
  'reputation_summaries',
  'schema_migrations',
  'schema_migrations_lock',
  'source_rests',
  'sso_answers',
  'sso_connections',
  'sso_domains',
  'stream_counts',
  'sts_policies',
  'sts_withdrawals',
  'table_changes',
  'team_deletions',
  'team_members',
  'team_plans',
  'team_subscriptions',
  'templates',
  'throttles',
  'tls_session_counts',
  'unmet_sender_rules',
  'usage_counters',
  'warm_up_days',
  'warm_up_refusals',
  'warm_ups',
  'webhook_events',
  'webhook_listener_events',
  'webhook_listeners',
  'webhook_replays',
]);

/** Returns the tables of a database about which nothing is said here: nobody knows whether an erasure has to change them. */
export function listUnclassifiedTables(shapes: readonly TableShape[]): string[] {
  const known = new Set([
    ...ERASED_TABLES,
    ...Object.keys(KEPT_TABLES_OF_PERSON),
    ...Object.keys(HASHED_TABLES),
    ...Object.keys(NOT_SEARCHED),
    ...ACCOUNT_TABLES,
    ...WITHOUT_ADDRESSES,
  ]);
  return shapes
    .map(({ name }) => name)
    .filter((name) => !known.has(name) && !/_grams(?:_(?:data|idx|content|docsize|config))?$/.test(name));
}
