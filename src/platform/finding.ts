import type { Finding as Presented, FindingCode } from '../contract/index.ts';

import { CAUSES, type ReplyCause, type Responsible } from '../protocol/smtp-reply/index.ts';

type CauseFor<R extends Responsible> = {
  [Cause in ReplyCause]: (typeof CAUSES)[Cause]['responsible'] extends R ? Cause : never;
}[ReplyCause];

/**
 * Excludes `relay`, which mostly means a wrong MX record of the recipient, and our relays, which have a finding of
 * their own.
 */
export type OperatorCause = Exclude<CauseFor<'operator'>, 'relay' | 'relay_misconfigured'>;
export type OwnerCause = CauseFor<'domain owner'>;

/** Reports whether refusals for a cause are reported as a finding. */
export function isReported(cause: ReplyCause): cause is OperatorCause | OwnerCause {
  if (cause === 'relay' || cause === 'relay_misconfigured') return false;
  const { responsible } = CAUSES[cause];
  return responsible === 'operator' || responsible === 'domain owner';
}

/** Refusals for one cause by one receiver since it last accepted mail. */
export interface Refusals {
  cause: OperatorCause | OwnerCause;
  /** A provider, or the domain of a mail server. */
  receiver: string;
  /** The sending domain if its owner has to act; null if the operator has to. */
  domain: { teamId: string; id: string } | null;
  region: string;
  /** Number of refused attempts. */
  count: number;
  /** Time of the first refusal. */
  since: number;
  /** The last email that was refused, and the reply to it. */
  emailId: string;
  reply: string;
}

export type { FindingCode };

export interface Finding extends Omit<Presented, 'since' | 'severity'> {
  /** Milliseconds since the epoch. */
  since: number | null;
  /** Overrides the severity of the code. */
  severity?: Presented['severity'] | undefined;
  /** Refused domains, in the report of a node: the reader of the report shows them to their teams. */
  refusals?: readonly Refusals[];
}

interface Known {
  severity: Presented['severity'];
  /** A text that names nothing of an installation or a team. */
  says: string;
  advice: Presented['advice'];
  /** Every team sees the finding; other findings are shown only to the teams concerned. */
  isOfInstallation: boolean;
}

const HERE = 'On the server’s machine, ';
const installation = (severity: Known['severity'], says: string, words: string, command: string | null): Known => ({
  severity,
  says,
  advice: { words, command },
  isOfInstallation: true,
});
const team = (severity: Known['severity'], says: string, words: string, command: string | null): Known => ({
  severity,
  says,
  advice: { words, command },
  isOfInstallation: false,
});

/** Every code with its default texts, most severe first. */
export const KNOWN: Readonly<Record<FindingCode, Known>> = {
  database_moved: installation(
    'error',
    'The database of this node is being or was moved to another one; the node takes nothing, and stops once the move has ended.',
    'Once the move has ended, let database.driver and database.url of its settings lead to where it was moved, or take the node out; where that is, says its log',
    null,
  ),
  restored: installation(
    'error',
    'This installation is a restored copy, and sends nothing until that is confirmed.',
    `${HERE}once the original sends no more, confirm it`,
    'rasket sending on',
  ),
  sending_off: installation(
    'error',
    'Sending is switched off.',
    `${HERE}see why and switch it on`,
    'rasket sending on',
  ),
  storage_unwritable: installation(
    'error',
    'Nothing can be written to the data folder.',
    `${HERE}look at free space and permissions of`,
    'df -h',
  ),
  database_damaged: installation(
    'error',
    'The database is damaged: part of what is stored cannot be read.',
    `${HERE}stop the server, restore the newest good backup, and have the disk examined; until then some calls fail. Which backups there are, says`,
    'rasket backups',
  ),
  database_failing: installation(
    'error',
    'Commits to the database fail: nothing is accepted.',
    `${HERE}find the reason in the log of the server, then check the disk or PostgreSQL; the server recovers by itself. The log, with systemd, shows`,
    'journalctl -u rasket',
  ),
  content_damaged: installation(
    'error',
    'Stored content of mail is damaged: it is not shown, and mail that needs it waits.',
    `${HERE}put the files back from a backup that is whole; which backups there are, says`,
    'rasket backups',
  ),
  port_not_open: installation(
    'error',
    'An SMTP port is not open.',
    `${HERE}see which port and why; the server tries it again every few seconds`,
    'rasket doctor',
  ),
  delivery_not_running: installation(
    'error',
    'No process delivers mail.',
    `${HERE}start one`,
    'systemctl start rasket',
  ),
  queue_overdue: installation(
    'error',
    'Mail that is due is not being delivered.',
    'As an operator, see what waits',
    'rasket queue',
  ),
  certificate_expired: installation(
    'error',
    'The certificate of the SMTP ports has expired.',
    `${HERE}put a renewed one in its place; which file that is, says`,
    'rasket doctor',
  ),
  certificate_unusable: installation(
    'error',
    'The new certificate of the SMTP ports cannot be used; the one before stays.',
    `${HERE}see why`,
    'rasket doctor',
  ),
  backup_failed: installation(
    'error',
    'The last try to make a backup failed.',
    `${HERE}see why, and which backups there are`,
    'rasket backups',
  ),
  port25_blocked: installation(
    'error',
    'No mail server can be reached at port 25, while other connections lead out.',
    'Ask whoever runs this machine’s network to open port 25 outbound, or send through a relay, which `rasket setup` asks for; then look again',
    'rasket doctor',
  ),
  relay_misconfigured: installation(
    'error',
    'A relay does not accept mail from this server: its login, its certificate or its settings are wrong.',
    `${HERE}see what the relay says, correct its section [relays] or its password, and let the server load them; mail waits until then`,
    'rasket relays test',
  ),
  resolver_failing: installation(
    'error',
    'The resolver does not answer, or answers for names that do not exist.',
    `${HERE}name a resolver of your own as dns.servers, such as unbound on the machine; which settings are in force, says`,
    'rasket config show',
  ),
  reverse_dns_wrong: installation(
    'error',
    'An address that mail is sent from has no name in reverse DNS that leads back to it; large receivers refuse such mail.',
    'Where this machine’s address comes from, set its reverse DNS to instance.host, and let that name lead to the address; then look again',
    'rasket doctor',
  ),
  helo_name_wrong: installation(
    'error',
    'The EHLO name is not in DNS, or points to other addresses than those that mail is sent from.',
    'Let instance.host, or helo_name of the region, lead to this machine’s addresses by A and AAAA records; then look again',
    'rasket doctor',
  ),
  address_listed: installation(
    'error',
    'An address that mail is sent from stands on a list of blocked addresses.',
    'Find out what was sent, end it, then ask the list to take the address off; what is waiting, says',
    'rasket queue',
  ),
  clock_wrong: installation(
    'error',
    'The clock of a machine is wrong: signatures and one-time passwords are refused.',
    `${HERE}let the clock be set, with systemd by`,
    'timedatectl set-ntp true',
  ),
  disk_low: installation(
    'error',
    'Little is free on the disk of the data folder.',
    `${HERE}make room, or shorten retention_days of the plans; how much is free, says`,
    'df -h',
  ),
  domain_lost: team(
    'error',
    'A domain is not verified any more: its DNS records are gone or wrong.',
    'See what is wrong with its records',
    'rasket domains list',
  ),
  sso_provider_down: team(
    'error',
    'An identity provider of single sign-on does not answer.',
    'Ask those who run it; until then, an owner who is exempt signs in with a password. Its settings:',
    'rasket sso get',
  ),
  sso_provider_wrong: team(
    'error',
    'An identity provider of single sign-on answers what cannot be trusted.',
    'Mend it, then sign in through it once; its settings:',
    'rasket sso get',
  ),
  sso_domain_lost: team(
    'error',
    'A domain of single sign-on is proven no more, and its addresses sign in by it no more.',
    'Publish its record again, then prove it; the records:',
    'rasket sso get',
  ),
  webhook_disabled: team(
    'error',
    'A webhook was disabled after five days without success.',
    'Enable it again once its endpoint answers',
    'rasket webhooks list',
  ),
  server_refused: installation(
    'warning',
    'A receiver refuses mail because of this server: its addresses, their names or their use.',
    `${HERE}see what others see of it, and correct that; the refusals end with the next mail that the receiver takes`,
    'rasket doctor',
  ),
  domain_refused: team(
    'warning',
    'A receiver refuses mail because of its sending domain: authentication, sender or reputation.',
    'See what is wrong with the records of the domain',
    'rasket domains list',
  ),
  domain_losing_records: team(
    'warning',
    'DNS records of a verified domain are gone or wrong.',
    'See what is wrong with its records',
    'rasket domains list',
  ),
  webhook_failing: team(
    'warning',
    'A webhook answers no attempt with success.',
    'See how it answers',
    'rasket webhooks list',
  ),
  mail_held: team(
    'warning',
    'Mail is held back by an operator.',
    'As an operator, see the holds',
    'rasket queue holds',
  ),
  broadcast_held: team(
    'warning',
    'A broadcast is held.',
    'See why, then resume or cancel it',
    'rasket broadcasts list',
  ),
  broadcast_failed: team(
    'warning',
    'A broadcast failed: what it needs was deleted.',
    'See why, and duplicate it',
    'rasket broadcasts list --status failed',
  ),
  broadcast_segment_broken: team(
    'warning',
    'A broadcast waits for a segment whose filter names a property or topic that was deleted.',
    'Cancel it and name another segment',
    'rasket broadcasts list --status scheduled',
  ),
  marketing_off: team(
    'warning',
    'Marketing mail is switched off.',
    `${HERE}see why and switch it on`,
    'rasket sending on --marketing',
  ),
  bounce_rate_high: team(
    'warning',
    'More mail of a stream bounced within 24 hours than large receivers accept.',
    'Remove the addresses that bounce from your lists, and send only to people who asked for it; which mail bounced, shows',
    'rasket emails list',
  ),
  complaint_rate_high: team(
    'warning',
    'More mail of a stream was reported as spam within 24 hours than large receivers accept.',
    'Send only to people who asked for it, and make it easy to unsubscribe; which mail was reported, shows',
    'rasket emails list',
  ),
  mail_captured: installation(
    'warning',
    'No mail leaves: all of it is captured on this machine and counted as delivered.',
    `${HERE}set delivery.capture = false in the settings, and start the server again; which are in force, says`,
    'rasket config show',
  ),
  backup_old: installation(
    'warning',
    'There is no backup, or the last one is too old.',
    `${HERE}see which there are`,
    'rasket backups',
  ),
  account_mail: installation(
    'warning',
    'Nobody can be mailed about an account: to sign up, or to choose a new password.',
    'Verify a domain of any team, or correct accounts.mail_from; until then, give out links with',
    'rasket users reset ADDRESS',
  ),
  certificate_not_issued: installation(
    'warning',
    'An authority does not issue or renew a certificate.',
    'As an operator, see why, and when it is tried again',
    'rasket tls status',
  ),
  certificate_expiring: installation(
    'warning',
    'The certificate of the SMTP ports expires soon.',
    `${HERE}renew it; which file that is, says`,
    'rasket doctor',
  ),
  certificate_self_signed: installation(
    'warning',
    'The SMTP ports show a self-signed certificate, which proves nothing.',
    `${HERE}name a real one as tls.certificate_file in the settings; which are in force, says`,
    'rasket config show',
  ),
  proxy_not_trusted: installation(
    'warning',
    'A proxy in front of the API is not named in the settings: limits by address count all callers behind it as one.',
    `${HERE}name it in http.trusted_proxies of the settings and start the server again; which are in force, says`,
    'rasket config show',
  ),
  model_failing: installation(
    'warning',
    'The language model of the AI helpers gives no answer that can be used.',
    `${HERE}look at [ai] in the settings, at the key and at the account of its provider; which settings are in force, says`,
    'rasket config show',
  ),
  payment_events_missing: installation(
    'warning',
    'The payment provider has changed subscriptions without an event about it.',
    'At the payment provider, look whether its events are sent to /billing/events of this server, and how they are answered',
    null,
  ),
  versions_differ: installation(
    'warning',
    'Nodes run different versions.',
    'Bring all of them to one version, the newest',
    null,
  ),
  clock_stepped: installation(
    'warning',
    'The clock of a machine was set forward or back within the last day.',
    `${HERE}check that the clock is right, and synchronized`,
    'timedatectl',
  ),
  nodes_not_heard: installation(
    'warning',
    'A process does not hear what other nodes commit to PostgreSQL, and finds it by polling, which takes longer.',
    'Where database.url leads to a pooler, let database.listen_url lead to PostgreSQL itself; why it does not hear, says its log',
    null,
  ),
  resolver_slow: installation(
    'warning',
    'The resolver is slow; each delivery waits for several of its answers.',
    `${HERE}name a nearer one as dns.servers, such as unbound on the machine; which settings are in force, says`,
    'rasket config show',
  ),
  disk_filling: installation(
    'warning',
    'As it grows, the disk of the data folder is full soon.',
    `${HERE}make room, or shorten retention_days of the plans; how much is free, says`,
    'df -h',
  ),
  file_limit_low: installation(
    'warning',
    'Fewer files may be open than the settings need: connections are refused before their limits are met.',
    `${HERE}raise LimitNOFILE of the unit, and start the server again; systemd takes a change by`,
    'systemctl edit rasket',
  ),
  certificate_wrong_name: installation(
    'warning',
    'The certificate does not bear instance.host, the name that mail servers and clients call.',
    `${HERE}put one for that name in its place, or let one be issued under [acme]; how it stands, says`,
    'rasket tls status',
  ),
  caa_forbids: installation(
    'warning',
    'A CAA record keeps the authority of the settings from issuing a certificate.',
    'Add a CAA record for the authority beside the others; then have it tried again',
    'rasket tls renew',
  ),
};

const ORDER = Object.keys(KNOWN) as FindingCode[];

/** Maximum number of subjects shown for one finding. */
const SUBJECTS_MAX = 10;
export const COUNTED_MAX = 1000;

/** Builds a finding from its code and further details. */
export function findingOf(
  code: FindingCode,
  {
    summary = KNOWN[code].says,
    subjects = [],
    count = subjects.length,
    since = null,
    node = null,
    advice = KNOWN[code].advice,
    severity,
  }: Partial<Omit<Finding, 'code'>> = {},
): Finding {
  return {
    code,
    summary,
    since,
    node,
    advice,
    count: Math.min(COUNTED_MAX, Math.max(1, count)),
    subjects: subjects.slice(0, SUBJECTS_MAX),
    ...(severity === undefined ? {} : { severity }),
  };
}

export const gravestFirst = (findings: readonly Finding[]): Finding[] =>
  findings.toSorted(
    (a, b) =>
      Number(severityOf(b) === 'error') - Number(severityOf(a) === 'error') ||
      ORDER.indexOf(a.code) - ORDER.indexOf(b.code),
  );

export const severityOf = ({ code, severity }: Pick<Finding, 'code' | 'severity'>): Known['severity'] =>
  severity ?? KNOWN[code].severity;

/** Codes that are based on receivers' statements, which are only trusted if several agree. */
const SAID_BY_RECEIVERS: ReadonlySet<FindingCode> = new Set<FindingCode>(['server_refused', 'domain_refused']);

/** Reports whether a finding proves a fault on our side; a single receiver may claim anything about us. */
export const isProven = (finding: Finding): boolean =>
  !SAID_BY_RECEIVERS.has(finding.code) || severityOf(finding) === 'error';
