import { flag, integer, list, oneOf, text } from './kind.ts';
import { isAddressTemplate } from './host-template.ts';
import * as network from './network-kinds.ts';

const cidrs = list(network.cidr, { min: 0, max: 100 });
const bytes = { unit: 'bytes' };
const seconds = { unit: 'seconds' };
const smtpPorts = list(integer({ min: 0, max: 65_535, unit: 'TCP port; 0 takes any free one' }), { min: 0, max: 20 });

/** What SMTP takes: of clients that submit mail, and of other mail servers. */
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
    greylist_minutes: integer({ min: 0, max: 1440, unit: 'minutes; 0 asks nobody to come again' }),
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
  },
};
