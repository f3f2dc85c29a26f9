import type { Kind } from './kind.ts';
import { integer, list, oneOf, secret, text, textOrEmpty } from './kind.ts';
import * as network from './network-kinds.ts';
import { webhookKey } from '../../protocol/webhook-signature.ts';

/** The checks of an examination, in the order in which they are shown. */
export const CHECKS = [
  'port25',
  'relays',
  'reverse_dns',
  'helo',
  'dnsbl',
  'resolver',
  'clock',
  'disk',
  'files',
  'secrets',
  'event_loop',
  'certificates',
  'caa',
  'policy_hosts',
  'backups',
  'database',
] as const;

const seconds = { unit: 'seconds' };
const secretOrEmpty = secret(
  textOrEmpty('a webhook secret, "whsec_" followed by base64 of 24 to 64 bytes', isWebhookSecret),
  (value) => (value === '' ? '' : '***'),
);
const argument = text('a word of 1 to 4096 characters on one line', (value) => /^[^\p{Cc}]{1,4096}$/u.test(value));

/** The external checks, their schedule, and the recipients of notifications. */
export const doctorSection = {
  checks: list(oneOf(CHECKS), { min: 0, max: CHECKS.length }),
  hours: list(integer({ min: 0, max: 23, unit: 'hour of the day in UTC' }), { min: 0, max: 24 }),
  minutes: integer({ min: 0, max: 30, unit: 'minutes; 0 checks nothing between examinations' }),
  seconds: integer({ min: 1, max: 60, ...seconds }),
  mail_servers: list(network.hostName, { min: 0, max: 10 }),
  dnsbl_zones: list(network.hostName, { min: 0, max: 20 }),
  resolver_ms: integer({ min: 1, max: 60_000, unit: 'milliseconds' }),
  clock_source: textOrEmpty('an http or https URL, or sntp://host, such as sntp://ntp.example.com', isClockSource),
  clock_seconds: integer({ min: 2, max: 3600, ...seconds }),
  event_loop_ms: integer({ min: 1, max: 60_000, unit: 'milliseconds' }),
  disk_free_mb: integer({ min: 0, max: 1_000_000_000, unit: 'MiB' }),
  disk_days: integer({ min: 0, max: 365, unit: 'days; 0 ignores growth' }),
  notify_command: list(argument, { min: 0, max: 50 }),
  notify_url: textOrEmpty('an https URL without a user name, or an http URL on this machine', isNotifyUrl),
  notify_secret: secretOrEmpty,
  changes_per_hour: integer({ min: 1, max: 60, unit: 'changes an hour' }),
  notify_seconds: integer({ min: 1, max: 300, ...seconds }),
} satisfies Record<string, Kind<unknown>>;

function isWebhookSecret(value: string): boolean {
  try {
    const { symmetricKeySize: bytes = 0 } = webhookKey(value);
    return bytes >= 24 && bytes <= 64;
  } catch {
    return false;
  }
}

function isClockSource(value: string): boolean {
  const url = URL.parse(value);
  return url !== null && /^(https?|sntp):\/\/[^\s\\#@/]/.test(value) && url.username === '' && url.hostname !== '';
}

function isNotifyUrl(value: string): boolean {
  const url = URL.parse(value);
  if (!url || !/^https?:\/\/[^\s\\#@/]/.test(value) || url.username !== '') return false;
  return url.protocol === 'https:' || /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
}
