import type { Region as ContractRegion } from '../../contract/index.ts';
import { validate as isCronText } from 'node-cron';
import { flag, integer, integerOrNone, list, oneOf, percent, text, textOrEmpty, secret, type Kind } from './kind.ts';
import { doctorSection } from './doctor-settings.ts';
import * as network from './network-kinds.ts';
import { providerFields } from './provider-settings.ts';
import { hasOnlyHostPlaceholder, isHostTemplate, smtpSections, tlsSections } from './port-settings.ts';
import { findTimeZone } from '../../protocol/time-zone.ts';

const isWebAddress = (value: string): boolean => /^https?:$/.test(URL.parse(value)?.protocol ?? '');

/** Backups of the installation, and the confirmation before a newer program changes it. */
const backupSections = {
  backup: {
    schedule: textOrEmpty('a time of day in UTC, such as 03:30', (value) => /^([01]\d|2[0-3]):[0-5]\d$/.test(value)),
    keep: integer({ min: 1, max: 1000, unit: 'backups' }),
    directory: text('the path of a folder, not empty', (value) => value !== '' && !value.includes('\0')),
    pg_programs: textOrEmpty(
      'the path of a folder from the root',
      (value) => value.startsWith('/') && !value.includes('\0'),
    ),
    max_age_hours: integer({ min: 1, max: 8760, unit: 'hours' }),
  },
  upgrade: {
    backup: flag(),
    backup_age_hours: integerOrNone({ max: 8760, unit: 'hours; 0 for any age' }),
    room_percent: integer({ min: 0, max: 1000, unit: 'per cent of the size of the database; 0 turns the check off' }),
    beside_old_nodes: flag(),
    url: textOrEmpty('the http or https address of the manifest.json of a release', isWebAddress),
    public_key: textOrEmpty('a public key of the form "ssh-ed25519 AAAA…"', (value) =>
      /^ssh-ed25519 [\w+/]{68}={0,2}( .*)?$/.test(value),
    ),
  },
};

const isSocksText = (value: string): boolean => /^[^\p{Cc}]+$/u.test(value) && Buffer.byteLength(value) <= 255;

const MASKED = (value: string): string => (value === '' ? '' : '***');

/** The store for content that is too large for a row. */
const blobsSection = {
  store: oneOf(['files', 's3']),
  endpoint: network.originOrEmpty,
  region: text('the name of a region, such as eu-central-1', (value) => /^[a-z0-9-]{1,64}$/i.test(value)),
  bucket: textOrEmpty('the name of a bucket, 3 to 63 lower-case letters, digits, dots and hyphens', (value) =>
    /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(value),
  ),
  prefix: textOrEmpty(
    'segments of letters, digits, dots, hyphens and underscores, with slashes between them',
    (value) => /^[\w-][\w.-]*(\/[\w-][\w.-]*)*$/.test(value) && value.length <= 200,
  ),
  path_style: flag(),
  access_key: textOrEmpty('an access key of 1 to 200 characters without spaces and slashes', (value) =>
    /^[\x21-\x2e\x30-\x7e]{1,200}$/.test(value),
  ),
  secret_key: secret(
    textOrEmpty('a secret key of 1 to 500 characters without spaces', (value) => /^[\x21-\x7e]{1,500}$/.test(value)),
    MASKED,
  ),
  secret_key_file: textOrEmpty('the path of a file', (value) => !value.includes('\0')),
  timeout_seconds: integer({ min: 1, max: 300, unit: 'seconds' }),
  give_up_seconds: integer({ min: 1, max: 600, unit: 'seconds' }),
  requests_max: integer({ min: 1, max: 1000, unit: 'requests' }),
  cache_bytes: integer({ min: 0, max: 1_099_511_627_776, unit: 'bytes' }),
};

const cidrs = list(network.cidr, { min: 0, max: 100 });
const seconds = { unit: 'seconds' };
const bytes = { unit: 'bytes' };
const filePathOrEmpty = textOrEmpty('the path of a file', (value) => !value.includes('\0'));

/** Sections whose settings are fixed. Only kinds are here; defaults and reasons are in config/default.toml. */
const sections = {
  node: {
    processes: integer({ min: 0, max: 256, unit: 'processes; 0 for one for each core' }),
  },
  instance: {
    host: network.hostName,
    host_grace_days: integer({ min: 1, max: 365, unit: 'days' }),
    env: text('a word of 1 to 32 lower-case letters, digits and hyphens', (value) => /^[a-z0-9-]{1,32}$/.test(value)),
  },
  http: {
    host: network.listenAddress,
    port: integer({ min: 0, max: 65_535, unit: 'TCP port; 0 takes any free one' }),
    public_url: network.originOrEmpty,
    body_limit_bytes: integer({ min: 1024, max: 268_435_456, ...bytes }),
    email_body_limit_bytes: integer({ min: 1024, max: 268_435_456, ...bytes }),
    shutdown_seconds: integer({ min: 0, max: 300, ...seconds }),
    trusted_proxies: cidrs,
  },
  ...tlsSections,
  ...smtpSections,
  database: {
    driver: oneOf(['better-sqlite3', 'sqlite3', 'pg']),
    url: network.postgresUrlOrEmpty,
    listen_url: network.postgresUrlOrEmpty,
    path: text('the path of a file, not empty', (value) => value !== '' && !value.includes('\0')),
    pool_max: integer({ min: 1, max: 1000, unit: 'connections' }),
    wait_seconds: integer({ min: 0, max: 3600, unit: 'seconds; 0 does not wait' }),
  },
  dns: {
    servers: list(network.dnsServer, { min: 0, max: 10 }),
    dnssec_resolver: network.dnsServerOrEmpty,
    timeout_ms: integer({ min: 100, max: 60_000, unit: 'milliseconds' }),
    tries: integer({ min: 1, max: 10, unit: 'questions' }),
    authority_port: integer({ min: 1, max: 65_535, unit: 'port' }),
    look_ms: integer({ min: 100, max: 60_000, unit: 'milliseconds' }),
    diagnosis_ms: integer({ min: 0, max: 30_000, unit: 'milliseconds; 0 turns the diagnosis off' }),
  },
  delivery: {
    smtp_port: integer({ min: 1, max: 65_535, unit: 'TCP port' }),
    relay: textOrEmpty('the name of a section [relays.<name>]', (value) => entryName.test(value)),
    fallback_relay: textOrEmpty('the name of a section [relays.<name>]', (value) => entryName.test(value)),
    max_connections: integer({ min: 1, max: 10_000, unit: 'connections' }),
    max_connections_per_destination: integer({ min: 1, max: 10_000, unit: 'connections' }),
    max_connections_per_address: integer({ min: 1, max: 10_000, unit: 'connections' }),
    max_messages_per_connection: integer({ min: 1, max: 10_000, unit: 'messages' }),
    idle_seconds: integer({ min: 0, max: 300, ...seconds }),
    connect_timeout_seconds: integer({ min: 1, max: 600, ...seconds }),
    open_timeout_seconds: integer({ min: 1, max: 3600, ...seconds }),
    reply_timeout_seconds: integer({ min: 1, max: 3600, ...seconds }),
    envelope_timeout_seconds: integer({ min: 1, max: 3600, ...seconds }),
    content_timeout_seconds: integer({ min: 1, max: 3600, ...seconds }),
    content_bytes_per_second: integer({ min: 1024, max: 1_048_576, unit: 'bytes a second' }),
    data_timeout_seconds: integer({ min: 1, max: 3600, ...seconds }),
    max_in_flight: integer({ min: 1, max: 2000, unit: 'messages' }),
    lease_seconds: integer({ min: 1, max: 86_400, ...seconds }),
    retry_minutes: list(integer({ min: 1, max: 10_080, unit: 'minutes' }), { min: 1, max: 100 }),
    give_up_hours: integer({ min: 1, max: 720, unit: 'hours' }),
    ambiguous_hours: integer({ min: 1, max: 48, unit: 'hours' }),
    overdue_minutes: integer({ min: 1, max: 10_080, unit: 'minutes' }),
    capture: flag(),
    verify_enforced_tls: flag(),
    mta_sts: flag(),
    mta_sts_port: integer({ min: 1, max: 65_535, unit: 'TCP port' }),
    tls_exceptions: list(network.domainOfMail, { min: 0, max: 1000 }),
    feedback_id: flag(),
    list_id: flag(),
    poll_ms: integer({ min: 1, max: 60_000, unit: 'milliseconds' }),
  },
  breakers: {
    enabled: flag(),
    window_hours: integer({ min: 1, max: 72, unit: 'hours' }),
    complaint_slow_percent: percent(),
    complaint_pause_percent: percent(),
    complaint_floor: integer({ min: 1, max: 10_000_000, unit: 'recipients' }),
    complaints_min: integer({ min: 3, max: 100_000, unit: 'recipients' }),
    bounce_slow_percent: percent(),
    bounce_pause_percent: percent(),
    bounce_floor: integer({ min: 1, max: 10_000_000, unit: 'recipients' }),
    bounces_min: integer({ min: 3, max: 100_000, unit: 'recipients' }),
    slow_messages_per_minute: integer({ min: 1, max: 100_000, unit: 'messages per minute' }),
    pause_minutes: integer({ min: 1, max: 1440, unit: 'minutes' }),
    probe_messages_per_minute: integer({ min: 1, max: 100_000, unit: 'messages per minute' }),
    probe_recipients: integer({ min: 1, max: 1_000_000, unit: 'recipients' }),
    transactional: flag(),
  },
  warm_up: {
    daily: list(integer({ min: 1, max: 100_000_000, unit: 'messages' }), { min: 1, max: 120 }),
    hours: integer({ min: 1, max: 24, unit: 'hours' }),
    idle_days: integer({ min: 2, max: 365, unit: 'days' }),
  },
  tls_reports: {
    send: flag(),
    without_failures: flag(),
    organization: textOrEmpty(
      'a name of at most 200 characters on one line',
      (value) => value.length <= 200 && !/\p{Cc}/u.test(value),
    ),
    contact: network.bareAddressOrEmpty('postmaster@example.com'),
    suppress: list(network.addressOrDomain, { min: 0, max: 1000 }),
  },
  development: {
    any_sender: flag(),
    any_host: flag(),
  },
  network: {
    mail_allow_private: cidrs,
    http_allow_private: cidrs,
    dns_allow_private: cidrs,
  },
  rate_limit: {
    requests_per_second: integer({ min: 1, max: 100_000, unit: 'requests a second' }),
    burst: integer({ min: 1, max: 100_000, unit: 'requests' }),
  },
  attachments: {
    limit_bytes: integer({ min: 1024, max: 268_435_456, ...bytes }),
    fetch_seconds: integer({ min: 1, max: 60, ...seconds }),
  },
  storage: {
    inline_bytes: integer({ min: 0, max: 1_048_576, ...bytes }),
    row_bytes: integer({ min: 0, max: 1_048_576, ...bytes }),
  },
  blobs: blobsSection,
  logs: {
    enabled: flag(),
    body_bytes: integer({ min: 0, max: 1_048_576, ...bytes }),
    retention_days: integer({ min: 1, max: 3650, unit: 'days' }),
  },
  ...backupSections,
  audit: {
    retention_days: integer({ min: 30, max: 36_500, unit: 'days' }),
  },
  operators: {
    subjects: oneOf(['hash', 'text', 'none']),
  },
  log: {
    level: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
    format: oneOf(['json', 'pretty']),
  },
  domains: {
    spf: text(
      'an SPF record of at most 255 characters that begins with "v=spf1 ", with {host} as its only placeholder',
      isSpf,
    ),
    return_path_mx: text('a host name, or one with {host} in it, such as mx.{host}', isHostTemplate),
    receiving_mx: text('a host name, or one with {host} in it, such as mx.{host}', isHostTemplate),
    dmarc: text(
      'a DMARC record of at most 255 characters that begins with "v=DMARC1; p=", with {return_path} as its only placeholder',
      isDmarc,
    ),
    ed25519: flag(),
    grace_hours: integer({ min: 0, max: 720, unit: 'hours' }),
    rotate_days: integer({ min: 0, max: 3650, unit: 'days; 0 for never' }),
    retire_days: integer({ min: 0, max: 365, unit: 'days' }),
    mx_priority: integer({ min: 0, max: 65_535, unit: 'MX priority' }),
    verify_seconds: integer({ min: 0, max: 3600, ...seconds }),
    sweep: text('a cron expression of five fields in UTC, such as */30 * * * *', isFiveFieldCron),
  },
  mta_sts: {
    host: text('a host name, or one with {host} in it, such as mta-sts.{host}', isHostTemplate),
    testing_max_age: integer({ min: 60, max: 31_557_600, ...seconds }),
    enforce_max_age: integer({ min: 86_400, max: 31_557_600, ...seconds }),
  },
  tracking: {
    host: text('a host name, or one with {host} in it, such as links.{host}', isHostTemplate),
    scheme: oneOf(['https', 'http']),
    caa_issuer: network.hostName,
    scanner_seconds: integer({ min: 0, max: 60, ...seconds }),
    burst_seconds: integer({ min: 0, max: 60, ...seconds }),
    journal_bytes: integer({ min: 65_536, max: 1_073_741_824, ...bytes }),
  },
  webhooks: {
    max_in_flight: integer({ min: 0, max: 10_000, unit: 'requests' }),
    max_in_flight_per_endpoint: integer({ min: 1, max: 1000, unit: 'requests' }),
    check_connection: flag(),
    lease_seconds: integer({ min: 1, max: 86_400, ...seconds }),
    poll_ms: integer({ min: 1, max: 60_000, unit: 'milliseconds' }),
  },
  imports: {
    max_at_once: integer({ min: 1, max: 100, unit: 'imports' }),
    slice_seconds: integer({ min: 0, max: 3600, ...seconds }),
    lease_seconds: integer({ min: 1, max: 86_400, ...seconds }),
    poll_ms: integer({ min: 1, max: 60_000, unit: 'milliseconds' }),
  },
  automations: {
    max_at_once: integer({ min: 1, max: 1000, unit: 'runs' }),
    lease_seconds: integer({ min: 1, max: 86_400, ...seconds }),
    poll_ms: integer({ min: 1, max: 60_000, unit: 'milliseconds' }),
  },
  forms: {
    sign_ups_per_client_per_hour: integer({ min: 1, max: 1_000_000, unit: 'addresses' }),
    sign_ups_per_form_per_hour: integer({ min: 1, max: 10_000_000, unit: 'addresses' }),
  },
  broadcasts: {
    max_at_once: integer({ min: 1, max: 100, unit: 'broadcasts' }),
    overdue_hours: integer({ min: 1, max: 8760, unit: 'hours' }),
    hold_bounce_percent: percent(),
    hold_complaint_percent: percent(),
    hold_after: integer({ min: 1, max: 1_000_000, unit: 'emails' }),
    hold_complaint_after: integer({ min: 1, max: 1_000_000, unit: 'emails' }),
    queued_max: integer({ min: 500, max: 1_000_000, unit: 'emails' }),
    lease_seconds: integer({ min: 1, max: 86_400, ...seconds }),
    poll_ms: integer({ min: 1, max: 60_000, unit: 'milliseconds' }),
  },
  images: {
    max_bytes: integer({ min: 1024, max: 52_428_800, ...bytes }),
    max_bytes_per_team: integer({ min: 1024, max: 1_099_511_627_776, ...bytes }),
  },
  sessions: {
    days: integer({ min: 1, max: 365, unit: 'days' }),
    secure_cookie: flag(),
  },
  sso: {
    allow_private: cidrs,
    answer_seconds: integer({ min: 1, max: 60, ...seconds }),
    session_hours: integer({ min: 1, max: 8760, unit: 'hours' }),
  },
  oauth: {
    private_scheme_redirects: list(
      text('an address with a scheme of its own, such as app.example:/callback', isPrivateScheme),
      { min: 0, max: 100 },
    ),
    refresh_days: integer({ min: 1, max: 3650, unit: 'days' }),
  },
  accounts: {
    sign_up: oneOf(['invitation', 'open', 'closed']),
    mail_from: network.bareAddressOrEmpty('accounts@example.com'),
  },
  reputation: {
    summary_to: list(network.bareAddress('ops@example.com'), { min: 0, max: 20 }),
    summary_hour: integer({ min: 0, max: 23, unit: 'hour of the day in UTC' }),
  },
  metrics: {
    token_file: filePathOrEmpty,
    domains: integer({ min: 0, max: 1000, unit: 'domains' }),
    host: network.listenAddress,
    port: integer({ min: 0, max: 65_535, unit: 'TCP port; 0 opens none' }),
  },
  doctor: doctorSection,
  traces: {
    endpoint: network.modelUrlOrEmpty,
    headers_file: filePathOrEmpty,
    sample_percent: integer({ min: 1, max: 100, unit: 'per cent of traces' }),
  },
  ai: {
    kind: oneOf(['openai', 'anthropic']),
    url: network.modelUrlOrEmpty,
    model: textOrEmpty('the name of a model, at most 200 characters without spaces', (value) =>
      /^[\x21-\x7e]{1,200}$/.test(value),
    ),
    key_file: filePathOrEmpty,
    timeout_seconds: integer({ min: 1, max: 600, ...seconds }),
  },
  billing: {
    currency: text('three capital letters of ISO 4217, of a currency with hundredths, such as EUR', hasCents),
    series: text('1 to 20 capital letters, digits and hyphens, such as INV', (value) =>
      /^[A-Z0-9-]{1,20}$/.test(value),
    ),
    time_zone: text(
      'the name of an IANA time zone, such as Europe/Berlin',
      (value) => findTimeZone(value) !== undefined,
    ),
    issuer: textOrEmpty('a name and address of at most 500 characters on one line', (value) =>
      /^[^\p{Cc}\p{Zl}\p{Zp}]{1,500}$/u.test(value),
    ),
    self_service: flag(),
  },
  team: {
    default_plan: text('the name of a plan', (value) => entryName.test(value)),
    default_region: oneOf(['us-east-1', 'eu-west-1', 'sa-east-1', 'ap-northeast-1'] satisfies ContractRegion[]),
    deletion_grace_days: integer({ min: 0, max: 365, unit: 'days' }),
  },
} satisfies Record<string, Record<string, Kind<unknown>>>;

/**
 * Sections of named entries. An added entry takes the values it omits from the entry named here; a provider has those
 * of everyone else.
 */
export const entrySections = {
  plans: {
    template: 'standard',
    fields: {
      name: text('a name of 1 to 64 characters on one line', (value) => /^[^\p{Cc}]{1,64}$/u.test(value)),
      included_emails: integer({ min: 0, max: 1_000_000_000, unit: 'emails a month' }),
      monthly_price_cents: integer({ min: 0, max: 100_000_000, unit: 'cents a month' }),
      overage_per_1000_cents: integerOrNone({ max: 100_000_000, unit: 'cents for 1,000 emails; 0 for none' }),
      overage_emails: integer({ min: 0, max: 1_000_000_000, unit: 'emails a month' }),
      marketing_emails: integer({ min: 0, max: 1_000_000_000, unit: 'marketing emails a month' }),
      daily_cap: integerOrNone({ max: 1_000_000_000, unit: 'emails a day; 0 for no limit' }),
      domain_limit: integer({ min: 0, max: 100_000, unit: 'domains' }),
      contact_limit: integer({ min: 0, max: 1_000_000_000, unit: 'contacts' }),
      webhook_endpoint_limit: integer({ min: 0, max: 10_000, unit: 'endpoints' }),
      retention_days: integer({ min: 1, max: 3650, unit: 'days' }),
      ai_credits: integer({ min: 0, max: 1_000_000_000, unit: 'answers of the AI helpers a month' }),
      received_daily_cap: integerOrNone({ max: 1_000_000_000, unit: 'received emails a day; 0 for no limit' }),
      received_storage_mb: integer({ min: 0, max: 1_000_000_000, unit: 'MiB' }),
    },
  },
  regions: {
    template: 'eu-west-1',
    fields: {
      helo_name: network.hostNameOrEmpty,
      source_v4: network.ipv4OrEmpty,
      source_v6: network.ipv6OrEmpty,
      address_family: oneOf(['auto', 'ipv4', 'ipv6']),
      smarthost: network.hostAndPortOrEmpty,
      relay: textOrEmpty('the name of a section [relays.<name>], or "direct"', (value) => entryName.test(value)),
      sandbox: flag(),
    },
  },
  relays: {
    template: 'main',
    fields: {
      host: network.serverOrEmpty,
      port: integer({ min: 1, max: 65_535, unit: 'TCP port' }),
      tls: oneOf(['starttls', 'implicit']),
      ca_file: filePathOrEmpty,
      authentication: oneOf(['auto', 'plain', 'login', 'cram-md5', 'xoauth2', 'none']),
      user: textOrEmpty('a user name of 1 to 500 characters on one line', (value) => /^[^\p{Cc}]{1,500}$/u.test(value)),
      password: network.passwordOrEmpty,
      password_file: filePathOrEmpty,
      token_file: filePathOrEmpty,
      helo_name: network.hostNameOrEmpty,
      domains: list(network.hostName, { min: 0, max: 1000 }),
      max_connections: integer({ min: 1, max: 1000, unit: 'connections' }),
      max_messages_per_connection: integer({ min: 1, max: 10_000, unit: 'messages' }),
      messages_per_minute: integerOrNone({ max: 1_000_000, unit: 'messages a minute; 0 for no limit' }),
    },
  },
  sources: {
    template: 'main',
    fields: {
      source_v4: network.ipv4OrEmpty,
      source_v6: network.ipv6OrEmpty,
      helo_name: network.hostNameOrEmpty,
      address_family: oneOf(['auto', 'ipv4', 'ipv6']),
      relay: textOrEmpty('the name of a section [relays.<name>]', (value) => entryName.test(value)),
      socks5: network.hostAndPortOrEmpty,
      socks5_user: textOrEmpty('a user name of 1 to 255 bytes on one line', isSocksText),
      socks5_password: secret(textOrEmpty('a password of 1 to 255 bytes on one line', isSocksText), MASKED),
      socks5_password_file: filePathOrEmpty,
      warm_up: flag(),
    },
  },
  pools: {
    template: 'main',
    fields: {
      sources: list(
        text(
          'the name of a section [sources.<name>], with a weight from 1 to 1000 after a colon, such as "first:3"; without one it is 1',
          (value) => readMember(value) !== undefined,
        ),
        { min: 0, max: 100 },
      ),
      regions: list(
        text('the name of a section [regions.<name>]', (value) => entryName.test(value)),
        { min: 0, max: 100 },
      ),
      domains: list(network.hostName, { min: 0, max: 1000 }),
      streams: list(oneOf(['transactional', 'marketing']), { min: 0, max: 2 }),
      broadcasts: flag(),
    },
  },
  dns_providers: {
    template: 'cloudflare',
    fields: {
      kind: oneOf(['rfc2136', 'cloudflare']),
      zones: list(network.hostName, { min: 0, max: 1000 }),
      teams: list(text('the slug of a team, or "*" for all', isSlugOrStar), { min: 0, max: 1000 }),
      ttl_seconds: integer({ min: 30, max: 86_400, ...seconds }),
      server: network.serverOrEmpty,
      port: integer({ min: 1, max: 65_535, unit: 'port' }),
      key_name: textOrEmpty(
        'the name of a TSIG key, 1 to 253 letters, digits, dots, hyphens and underscores',
        isKeyName,
      ),
      key_algorithm: oneOf(['hmac-sha256', 'hmac-sha384', 'hmac-sha512']),
      key_secret: network.tsigSecretOrEmpty,
      key_secret_file: filePathOrEmpty,
      api_url: text('an https URL without a query, a user name or a trailing slash', isApiUrl),
      token: network.apiTokenOrEmpty,
      token_file: filePathOrEmpty,
    },
  },
  providers: { template: undefined, fields: providerFields },
} satisfies Record<string, { template: string | undefined; fields: Record<string, Kind<unknown>> }>;

/** Underscores are not allowed in entry names: `eu_west_1` and `eu-west-1` would have the same environment variable. */
export const entryName = /^[a-z0-9]+(-[a-z0-9]+)*$/;

/** Reads a source of a pool, with its share of the mail. */
export function readMember(text: string): { name: string; weight: number } | undefined {
  const [, name = '', weight = '1'] = /^([^:]+)(?::(\d{1,4}))?$/.exec(text) ?? [];
  const share = Number(weight);
  return entryName.test(name) && share >= 1 && share <= 1000 ? { name, weight: share } : undefined;
}

type Values<Kinds> = { readonly [Key in keyof Kinds]: Kinds[Key] extends Kind<infer Value> ? Value : never };
type Fixed = { readonly [Section in keyof typeof sections]: Values<(typeof sections)[Section]> };

export type Plan = Values<(typeof entrySections)['plans']['fields']>;
export type Region = Values<(typeof entrySections)['regions']['fields']>;
export type RelaySettings = Values<(typeof entrySections)['relays']['fields']>;
export type SourceSettings = Values<(typeof entrySections)['sources']['fields']>;
export type PoolSettings = Values<(typeof entrySections)['pools']['fields']>;
export type ProviderSettings = Values<(typeof entrySections)['providers']['fields']>;
export type DnsProviderSettings = Values<(typeof entrySections)['dns_providers']['fields']>;

/** Keys are spelled as in the file, so that one search finds a setting and all code that reads it. Deeply frozen. */
export interface Config extends Fixed {
  /** Set by the command, never by a setting. In development all mail belongs to the one person who runs it. */
  readonly profile: 'production' | 'development';
  readonly plans: Readonly<Record<string, Plan>>;
  /**
   * Plans that were removed from the files while teams still have them, unchanged; the program adds them when it
   * starts.
   */
  readonly retired_plans?: Readonly<Record<string, Plan>>;
  readonly regions: Readonly<Record<string, Region>>;
  readonly relays: Readonly<Record<string, RelaySettings>>;
  readonly sources: Readonly<Record<string, SourceSettings>>;
  readonly pools: Readonly<Record<string, PoolSettings>>;
  readonly dns_providers: Readonly<Record<string, DnsProviderSettings>>;
  /** The mailbox providers of config/providers.toml and of the settings, with the limits that hold for them. */
  readonly providers: Readonly<Record<string, ProviderSettings>>;
}

export type Source = 'default' | 'profile' | 'file' | 'env' | 'override';
/** The source of each value, by dotted key such as `regions.eu-west-1.helo_name`. */
export type Sources = ReadonlyMap<string, Source>;

export type DeepPartial<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { [Key in keyof T]?: DeepPartial<T[Key]> }
    : T;

function isSlugOrStar(value: string): boolean {
  return value === '*' || /^[a-z0-9]+(-[a-z0-9]+)*$/.test(value);
}

function isKeyName(value: string): boolean {
  return value.length <= 253 && /^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\.?$/i.test(value);
}

/** A scheme that browsers handle themselves cannot be an app's scheme. */
function isPrivateScheme(value: string): boolean {
  const ofBrowsers =
    /^(?:about|blob|data|file|filesystem|ftp|https?|javascript|mailto|tel|vbscript|view-source|wss?):/i;
  return /^[a-z][a-z0-9+.-]*:[\x21-\x7e]{1,2000}$/i.test(value) && !/[#\\]/.test(value) && !ofBrowsers.test(value);
}

function isApiUrl(value: string): boolean {
  return /^https:\/\/[^\\?#@\s]+[^/\\?#@\s]$/.test(value) && URL.canParse(value);
}

function hasCents(value: string): boolean {
  if (!/^[A-Z]{3}$/.test(value) || !Intl.supportedValuesOf('currency').includes(value)) return false;
  const format = new Intl.NumberFormat('en', { style: 'currency', currency: value });
  return format.resolvedOptions().maximumFractionDigits === 2;
}

function isSpf(value: string): boolean {
  return /^v=spf1 [\x20-\x7e]+$/.test(value) && value.length <= 255 && hasOnlyHostPlaceholder(value);
}

function isDmarc(value: string): boolean {
  const hasOtherPlaceholder = /[{}]/.test(value.replaceAll('{return_path}', ''));
  return (
    /^v=DMARC1; ?p=(none|quarantine|reject)(;[\x20-\x7e]*)?$/.test(value) && value.length <= 255 && !hasOtherPlaceholder
  );
}

/** node-cron would accept a sixth field for seconds, which reads like five fields shifted by one. */
function isFiveFieldCron(value: string): boolean {
  return value.trim().split(/\s+/).length === 5 && isCronText(value);
}

export const sectionNames: readonly string[] = [...Object.keys(sections), ...Object.keys(entrySections)];

const fixedKinds = new Map<string, Kind<unknown>>(
  Object.entries(sections).flatMap(([section, kinds]) =>
    Object.entries(kinds).map(([name, kind]): [string, Kind<unknown>] => [`${section}.${name}`, kind]),
  ),
);

const entryFields = new Map<string, Map<string, Kind<unknown>>>(
  Object.entries(entrySections).map(([section, { fields }]) => [
    section,
    new Map<string, Kind<unknown>>(Object.entries(fields)),
  ]),
);

/** Returns the kind of a key, or undefined if no setting has that name. */
export function findKind(key: string): Kind<unknown> | undefined {
  const entry = splitEntryKey(key);
  return fixedKinds.get(key) ?? (entry && entryFields.get(entry.section)?.get(entry.field));
}

export function splitEntryKey(key: string): { section: string; name: string; field: string } | undefined {
  const [section = '', name = '', field, ...rest] = key.split('.');
  if (field === undefined || rest.length > 0 || !entryFields.has(section) || !entryName.test(name)) return undefined;
  return { section, name, field };
}

/** Lists all keys for the given entries, such as `regions.eu-west-1`. */
export function listKeys(entries: Iterable<string>): string[] {
  const keys = [...fixedKinds.keys()];
  for (const entry of entries) {
    const fields = entryFields.get(entry.split('.')[0] ?? '');
    keys.push(...[...(fields?.keys() ?? [])].map((field) => `${entry}.${field}`));
  }
  return keys;
}

export function isEntrySection(section: string): boolean {
  return entryFields.has(section);
}

/**
 * Returns the variable of a key: RASKET_HTTP_PORT for `http.port`, RASKET_REGIONS_EU_WEST_1_SANDBOX for
 * `regions.eu-west-1.sandbox`.
 */
export function variableName(key: string): string {
  return `RASKET_${key.toUpperCase().replaceAll(/[.-]/g, '_')}`;
}

/** The domain of the test addresses in applications written for Resend. In production it is an ordinary domain. */
const RESEND_TEST_DOMAIN = 'resend.dev';

/** Lists the domains whose addresses the mailbox simulator accepts mail for. */
export const listSimulatorDomains = ({ instance, profile }: Pick<Config, 'instance' | 'profile'>): string[] => [
  `simulator.${instance.host}`.toLowerCase(),
  ...(profile === 'development' ? [RESEND_TEST_DOMAIN] : []),
];

export const isSimulatorDomain = (config: Pick<Config, 'instance' | 'profile'>, name: string): boolean =>
  listSimulatorDomains(config).includes(name);

/**
 * Returns the plan for a team's `plan_code`. A plan that was removed from the config still serves the teams that have
 * it; a code that was never in it means the default plan. Use `isPlan` instead before anything that cannot be undone.
 */
export function planNamed(config: Config, code: string | undefined): { code: string; plan: Plan } {
  const { default_plan: fallback } = config.team;
  const { retired_plans: retired = {} } = config;
  if (code !== undefined && !isPlan(config, code) && Object.hasOwn(retired, code)) {
    const plan = retired[code];
    if (plan) return { code, plan };
  }
  const known = code !== undefined && isPlan(config, code) ? code : fallback;
  const plan = config.plans[known];
  if (!plan) throw new Error(`the config has no plan ${known}`);
  return { code: known, plan };
}

/** Own properties only, because `constructor` may or may not be the name of a plan. */
export const isPlan = (config: Config, code: string): boolean => Object.hasOwn(config.plans, code);

/**
 * Returns the number of emails that a team may send a month: those included in its plan, and those beyond them that are
 * charged.
 */
export const computeMonthlyLimit = (plan: Plan): number => plan.included_emails + plan.overage_emails;
