import { flag, integer, list, oneOf, text, secret, textOrEmpty } from './kind.ts';
import * as network from './network-kinds.ts';
import { readHttpsUrl } from '../../protocol/https-url.ts';

const cidrs = list(network.cidr, { min: 0, max: 100 });
const bytes = { unit: 'bytes' };
const seconds = { unit: 'seconds' };
const smtpPorts = list(integer({ min: 0, max: 65_535, unit: 'TCP port; 0 takes any free one' }), { min: 0, max: 20 });

/** The SMTP listeners: for clients that submit mail, and for other mail servers. */
export const smtpSections = {
  smtp: {
    host: network.listenAddressOrEmpty,
    trusted_proxies: cidrs,
    message_bytes: integer({ min: 65_536, max: 268_435_456, ...bytes }),
    max_connections: integer({ min: 1, max: 100_000, unit: 'connections' }),
    max_connections_per_address: integer({ min: 1, max: 100_000, unit: 'connections' }),
    idle_seconds: integer({ min: 1, max: 3600, ...seconds }),
    content_timeout_seconds: integer({ min: 1, max: 3600, ...seconds }),
    content_bytes_per_second: integer({ min: 1, max: 1_048_576, unit: 'bytes a second' }),
  },
  submission: {
    ports: smtpPorts,
    tls_ports: smtpPorts,
    insecure_login: flag(),
    login_seconds: integer({ min: 1, max: 3600, ...seconds }),
    max_connections_per_key: integer({ min: 1, max: 100_000, unit: 'connections' }),
    messages_per_minute_per_key: integer({ min: 1, max: 10_000_000, unit: 'messages a minute' }),
    messages_per_minute_per_team: integer({ min: 1, max: 10_000_000, unit: 'messages a minute' }),
    failed_logins_max: integer({ min: 1, max: 100_000, unit: 'failed logins' }),
  },
  receiving: {
    ports: smtpPorts,
    greeting_delay_ms: integer({ min: 0, max: 60_000, unit: 'milliseconds' }),
    greylist_minutes: integer({ min: 0, max: 1440, unit: 'minutes; 0 turns greylisting off' }),
    greylist_retry_hours: integer({ min: 1, max: 240, unit: 'hours' }),
    greylist_known_days: integer({ min: 1, max: 3650, unit: 'days' }),
    greylist_max: integer({ min: 1, max: 100_000_000, unit: 'senders and networks' }),
    postmaster: text('an address, or one with {host} in it, such as postmaster@{host}', isAddressTemplate),
    report_addresses: list(text('an address, or one with {host} in it, such as fbl@{host}', isAddressTemplate), {
      min: 0,
      max: 100,
    }),
    recipients_max: integer({ min: 1, max: 10_000, unit: 'recipients' }),
    refusals_max: integer({ min: 1, max: 10_000, unit: 'refusals' }),
    messages_per_minute_per_address: integer({ min: 1, max: 1_000_000, unit: 'messages a minute' }),
    memory_bytes: integer({ min: 1_048_576, max: 17_179_869_184, ...bytes }),
    spool_bytes: integer({ min: 1_048_576, max: 1_099_511_627_776, ...bytes }),
    attachment_bytes: integer({ min: 0, max: 268_435_456, ...bytes }),
    dmarc: oneOf(['keep', 'mark', 'refuse']),
    clamd: network.hostAndPortOrEmpty,
    clamd_down: oneOf(['defer', 'accept']),
    rspamd: network.hostAndPortOrEmpty,
    judge_seconds: integer({ min: 2, max: 300, ...seconds }),
    read_seconds: integer({ min: 2, max: 300, ...seconds }),
    reports_retention_days: integer({ min: 1, max: 3650, unit: 'days' }),
    report_parts_max: integer({ min: 0, max: 1_000_000_000, unit: 'sources and failures' }),
  },
};

const ports = list(integer({ min: 0, max: 65_535, unit: 'TCP port; 0 takes any free one' }), { min: 0, max: 20 });
const filePathOrEmpty = textOrEmpty('the path of a file', (value) => !value.includes('\0'));
const hmacKeyOrEmpty = secret(
  textOrEmpty('an HMAC key of 16 to 512 bytes in base64url', (value) => /^[A-Za-z0-9_-]{22,683}={0,2}$/.test(value)),
  (value) => (value === '' ? '' : '***'),
);
const directory = textOrEmpty(
  'an https URL, such as https://acme-v02.api.letsencrypt.org/directory',
  (value) => typeof readHttpsUrl(value) !== 'string',
);

/** The TLS ports of the API, and the source of the certificate for all ports. */
export const tlsSections = {
  https: { host: network.listenAddressOrEmpty, ports, redirect_ports: ports },
  tls: { certificate_file: filePathOrEmpty, key_file: filePathOrEmpty },
  acme: {
    directory,
    agree_to_terms: flag(),
    contact: network.bareAddressOrEmpty('admin@example.com'),
    eab_key_id: textOrEmpty('the key id of an external account, 1 to 500 characters without spaces', (value) =>
      /^[\x21-\x7E]{1,500}$/.test(value),
    ),
    eab_hmac_key: hmacKeyOrEmpty,
    names: list(network.hostNameOrWildcard, { min: 0, max: 99 }),
    tracking_hosts: flag(),
    challenge: oneOf(['http-01', 'tls-alpn-01', 'dns-01']),
    dns_provider: textOrEmpty('the name of an entry of [dns_providers]', (value) => /^[a-z0-9-]{1,100}$/.test(value)),
    dns_seconds: integer({ min: 1, max: 3600, unit: 'seconds' }),
    orders_per_hour: integer({ min: 1, max: 10_000, unit: 'orders an hour' }),
    answer_seconds: integer({ min: 1, max: 300, unit: 'seconds' }),
    allow_private: list(network.cidr, { min: 0, max: 100 }),
  },
};

export function isHostTemplate(value: string): boolean {
  return hasOnlyHostPlaceholder(value) && 'value' in network.hostName.read(value.replaceAll('{host}', 'localhost'));
}

function isAddressTemplate(value: string): boolean {
  return (
    hasOnlyHostPlaceholder(value) && /^[a-z0-9._+-]{1,64}@[^@\s]{1,253}$/i.test(value.replaceAll('{host}', 'localhost'))
  );
}

/** SPF macros such as %{i} are not our placeholders (RFC 7208 §7.2). */
export function hasOnlyHostPlaceholder(value: string): boolean {
  return !/[{}]/.test(value.replaceAll(/%\{[^{}]*\}/g, '').replaceAll('{host}', ''));
}
