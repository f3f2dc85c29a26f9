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
    'The database of this node is being moved, or was moved, to another one; the node accepts nothing, and stops once the move has ended.',
    'Once the move has ended, set database.driver and database.url in its settings to the new database, or remove the node; its log names the new database',
    null,
  ),
  restored: installation(
    'error',
    'This installation is a restored copy, and sends nothing until you confirm that.',
    `${HERE}once the original no longer sends mail, confirm it`,
    'rasket sending on',
  ),
  sending_off: installation('error', 'Sending is switched off.', `${HERE}see why, and turn it on`, 'rasket sending on'),
  storage_unwritable: installation(
    'error',
    'Nothing can be written to the data folder.',
    `${HERE}check the free space and the permissions of the folder`,
    'df -h',
  ),
  database_damaged: installation(
    'error',
    'The database is damaged: some of the stored data cannot be read.',
    `${HERE}stop the server, restore the newest good backup, and check the disk; until then some requests fail. List the backups`,
    'rasket backups',
  ),
  database_failing: installation(
    'error',
    'Commits to the database fail: nothing is accepted.',
    `${HERE}find the reason in the log of the server, then check the disk or PostgreSQL; the server recovers automatically. With systemd, show the log`,
    'journalctl -u rasket',
  ),
  database_split: installation(
    'error',
    'A second PostgreSQL server of the database URL accepts writes.',
    'Stop the former primary, and rebuild it as a standby of the server that the log of rasket names, for example with pg_rewind',
    null,
  ),
  content_damaged: installation(
    'error',
    'Stored content of mail is damaged: it is not shown, and mail that needs it waits.',
    `${HERE}restore the files from an undamaged backup; list the backups`,
    'rasket backups',
  ),
  port_not_open: installation(
    'error',
    'An SMTP port is not open.',
    `${HERE}see which port and why; the server retries every few seconds`,
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
    `${HERE}replace it with a renewed one; to see which file it is, run`,
    'rasket doctor',
  ),
  certificate_unusable: installation(
    'error',
    'The new certificate of the SMTP ports cannot be used; the previous one stays in use.',
    `${HERE}see why`,
    'rasket doctor',
  ),
  mta_sts_unmet: installation(
    'error',
    'Senders that apply MTA-STS deliver no mail, because the certificate of the receiving port is not valid.',
    'Install a certificate for the host of domains.receiving_mx, or have one issued by [acme]; until then, set the domains to testing',
    'rasket domains update DOMAIN --mta-sts testing',
  ),
  backup_failed: installation(
    'error',
    'The last attempt to make a backup failed.',
    `${HERE}see why, and list the backups`,
    'rasket backups',
  ),
  port25_blocked: installation(
    'error',
    'No mail server can be reached at port 25, although other outgoing connections work.',
    'Ask the provider of this machine’s network to open outgoing port 25, or send through a relay (`rasket setup`); then check again',
    'rasket doctor',
  ),
  relay_misconfigured: installation(
    'error',
    'A relay does not accept mail from this server: its login, its certificate or its settings are wrong.',
    `${HERE}see what the relay replies, correct its section under [relays] or its password, and restart the server; mail waits until then`,
    'rasket relays test',
  ),
  source_unavailable: installation(
    'error',
    'Nothing can be sent from a source of the settings.',
    `${HERE}add its address to the machine or start its proxy; mail leaves by the other sources of its pools, or waits. Show the sources with`,
    'rasket egress',
  ),
  resolver_failing: installation(
    'error',
    'The resolver does not answer, or returns answers for names that do not exist.',
    `${HERE}set dns.servers to a resolver of your own, such as unbound on the machine; show the settings`,
    'rasket config show',
  ),
  dnssec_resolver_failing: installation(
    'error',
    'The resolver that validates DNSSEC does not answer, or rejects authentic answers, so that mail waits.',
    `${HERE}start the resolver if it does not run. If it rejects answers, correct the clock, then its trust anchor (unbound-anchor, for unbound). If both are correct, somebody changes answers on their way to the resolver: let it ask over TLS or another network. Test it again`,
    'rasket doctor',
  ),
  reverse_dns_wrong: installation(
    'error',
    'An address that mail is sent from has no name in reverse DNS that resolves back to it; large receivers refuse such mail.',
    'At the provider of this machine’s address, set its reverse DNS to instance.host, and make that name resolve to the address; then check again',
    'rasket doctor',
  ),
  helo_name_wrong: installation(
    'error',
    'The EHLO name is not in DNS, or points to other addresses than those that mail is sent from.',
    'Publish A and AAAA records for instance.host, or helo_name of the region, with this machine’s addresses; then check again',
    'rasket doctor',
  ),
  address_listed: installation(
    'error',
    'An address that mail is sent from is on a blocklist.',
    'Find out what was sent, stop it, then ask the list to remove the address. See the waiting mail',
    'rasket queue',
  ),
  key_exposed: installation(
    'error',
    'Other accounts of a machine can read the instance key, which opens all secrets in the database.',
    `${HERE}give the file the mode 600; if somebody may have read it, replace the key with rasket rekey`,
    'chmod 600 /var/lib/rasket/instance.key',
  ),
  clock_wrong: installation(
    'error',
    'The clock of a machine is wrong: signatures and one-time passwords are refused.',
    `${HERE}synchronize the clock; with systemd`,
    'timedatectl set-ntp true',
  ),
  disk_low: installation(
    'error',
    'The disk of the data folder is almost full.',
    `${HERE}free some space, or reduce retention_days of the plans; show the free space`,
    'df -h',
  ),
  domain_lost: team(
    'error',
    'A domain is no longer verified: its DNS records are missing or wrong.',
    'See what is wrong with its records',
    'rasket domains list',
  ),
  sso_provider_down: team(
    'error',
    'An identity provider of single sign-on does not answer.',
    'Contact the provider; until then, an owner who is exempt signs in with a password. See its settings',
    'rasket sso get',
  ),
  sso_provider_wrong: team(
    'error',
    'An identity provider of single sign-on returns invalid responses.',
    'Fix the provider, then sign in through it once. See its settings',
    'rasket sso get',
  ),
  sso_domain_lost: team(
    'error',
    'A domain of single sign-on is no longer verified, and its addresses cannot sign in through it.',
    'Publish its record again, then verify it. See the records',
    'rasket sso get',
  ),
  webhook_disabled: team(
    'error',
    'A webhook was disabled after five days without success.',
    'Enable it again once its endpoint responds',
    'rasket webhooks list',
  ),
  server_refused: installation(
    'warning',
    'A receiver refuses mail because of this server: its addresses, their names or their reputation.',
    `${HERE}see how other servers see it, and correct that; the finding ends with the next mail that the receiver accepts`,
    'rasket doctor',
  ),
  provider_suspended: installation(
    'warning',
    'Nothing is sent to a mailbox provider for a while, because its reply asked for that.',
    'As an operator, see the replies and the mail that waits',
    'rasket providers',
  ),
  domain_refused: team(
    'warning',
    'A receiver refuses mail because of its sending domain: authentication, sender or reputation.',
    'See what is wrong with the records of the domain',
    'rasket domains list',
  ),
  domain_losing_records: team(
    'warning',
    'DNS records of a verified domain are missing or wrong.',
    'See what is wrong with its records',
    'rasket domains list',
  ),
  former_host_named: team(
    'warning',
    'DNS records of a domain contain the former host name of this server, which soon no longer counts.',
    'Publish the records with the new name. See them',
    'rasket domains list',
  ),
  webhook_failing: team(
    'warning',
    'All attempts to deliver to a webhook fail.',
    'See its responses',
    'rasket webhooks list',
  ),
  mail_held: team('warning', 'Mail is on hold by an operator.', 'As an operator, list the holds', 'rasket queue holds'),
  broadcast_held: team(
    'warning',
    'A broadcast is on hold.',
    'See why, then resume or cancel it',
    'rasket broadcasts list',
  ),
  broadcast_failed: team(
    'warning',
    'A broadcast failed because something that it needs was deleted.',
    'See why, and duplicate it',
    'rasket broadcasts list --status failed',
  ),
  broadcast_segment_broken: team(
    'warning',
    'The segment of a waiting broadcast filters by something that was deleted, such as a property or topic.',
    'Cancel it and choose another segment',
    'rasket broadcasts list --status scheduled',
  ),
  broadcast_pool_missing: team(
    'warning',
    'A waiting broadcast chose a pool of sources that broadcasts may not choose any more, so its mail leaves as other marketing mail does.',
    'Cancel it and choose another pool for a copy, or let the mail leave as it does',
    'rasket broadcasts list --status scheduled',
  ),
  marketing_off: team(
    'warning',
    'Marketing mail is switched off.',
    `${HERE}see why, and turn it on`,
    'rasket sending on --marketing',
  ),
  bounce_rate_high: team(
    'warning',
    'More mail of a stream bounced within 24 hours than large receivers accept.',
    'Remove the addresses that bounce from your lists, and send only to people who asked for your mail. List the emails',
    'rasket emails list',
  ),
  complaint_rate_high: team(
    'warning',
    'More mail of a stream was reported as spam within 24 hours than large receivers accept.',
    'Send only to people who asked for your mail, and make it easy to unsubscribe. List the emails',
    'rasket emails list',
  ),
  sending_limited: team(
    'warning',
    'A circuit breaker slows down or pauses mail, because too many recipients reported it as spam or too much of it bounced.',
    'Send only to people who asked for your mail, and remove addresses that bounce. An operator can release the mail; list what is limited',
    'rasket breakers',
  ),
  sender_rules_unmet: team(
    'warning',
    'A domain sends near or over the threshold of a mailbox provider, and does not meet one of its rules for senders.',
    'See which rules, and what to do',
    'rasket domains rules DOMAIN',
  ),
  mail_captured: installation(
    'warning',
    'No mail leaves this machine: all mail is captured and counted as delivered.',
    `${HERE}set delivery.capture = false in the settings, and restart the server; show the settings`,
    'rasket config show',
  ),
  backup_old: installation(
    'warning',
    'There is no backup, or the last one is too old.',
    `${HERE}list the backups`,
    'rasket backups',
  ),
  account_mail: installation(
    'warning',
    'Account mail cannot be sent: nobody can sign up or choose a new password.',
    'Verify a domain of any team, or correct accounts.mail_from; until then, create links with',
    'rasket users reset ADDRESS',
  ),
  certificate_not_issued: installation(
    'warning',
    'An authority does not issue or renew a certificate.',
    'As an operator, see why, and when the next attempt is',
    'rasket tls status',
  ),
  certificate_expiring: installation(
    'warning',
    'The certificate of the SMTP ports expires soon.',
    `${HERE}renew it; to see which file it is, run`,
    'rasket doctor',
  ),
  certificate_self_signed: installation(
    'warning',
    'The SMTP ports use a self-signed certificate, which other servers cannot verify.',
    `${HERE}set tls.certificate_file in the settings to a certificate from an authority; show the settings`,
    'rasket config show',
  ),
  proxy_not_trusted: installation(
    'warning',
    'A proxy in front of the API is not in the settings: limits by address count all its clients as one.',
    `${HERE}add it to http.trusted_proxies in the settings, and restart the server; show the settings`,
    'rasket config show',
  ),
  model_failing: installation(
    'warning',
    'The language model of the AI helpers does not return usable answers.',
    `${HERE}check [ai] in the settings, the key, and the account at its provider; show the settings`,
    'rasket config show',
  ),
  payment_events_missing: installation(
    'warning',
    'The payment provider has changed subscriptions without sending an event.',
    'At the payment provider, check whether its events are sent to /billing/events of this server, and what the responses are',
    null,
  ),
  versions_differ: installation(
    'warning',
    'Nodes run different versions.',
    'Upgrade all nodes to the newest version',
    null,
  ),
  clock_stepped: installation(
    'warning',
    'The clock of a machine was set forward or back within the last day.',
    `${HERE}check that the clock is correct and synchronized`,
    'timedatectl',
  ),
  nodes_not_heard: installation(
    'warning',
    'A process is not notified of commits by other nodes in PostgreSQL, and polls for them, which takes longer.',
    'If database.url points to a pooler, set database.listen_url to PostgreSQL itself; the log of the process has the reason',
    null,
  ),
  resolver_slow: installation(
    'warning',
    'The resolver is slow; each delivery waits for several answers.',
    `${HERE}set dns.servers to a nearer one, such as unbound on the machine; show the settings`,
    'rasket config show',
  ),
  disk_filling: installation(
    'warning',
    'At the current rate, the disk of the data folder will be full soon.',
    `${HERE}free some space, or reduce retention_days of the plans; show the free space`,
    'df -h',
  ),
  file_limit_low: installation(
    'warning',
    'The limit of open files is lower than the settings need: connections are refused before their limits are reached.',
    `${HERE}raise LimitNOFILE of the unit, and restart the server; edit the unit`,
    'systemctl edit rasket',
  ),
  event_loop_slow: installation(
    'warning',
    'The server runs what is due too late: requests and deliveries wait for each other.',
    `${HERE}see what uses the processor; or run some of the roles in another process`,
    'top',
  ),
  dane_off: installation(
    'warning',
    'DANE is off: the resolver that should validate DNSSEC believes forged answers.',
    `${HERE}make the resolver of dns.dnssec_resolver validate (unbound with a trust anchor does). Without one, set it to "": mail is then sent without DANE; show the settings`,
    'rasket config show',
  ),
  dnssec_resolver_untested: installation(
    'warning',
    'The resolver that validates DNSSEC could not be tested, so that some REQUIRETLS mail waits.',
    `${HERE}see whether the resolver can look up dnssec-failed.org, which it must reject; test it again`,
    'rasket doctor',
  ),
  tls_policy_unmet: installation(
    'warning',
    'Mail waits, because no mail server of its domain meets the TLS policy of that domain.',
    `Only the owner of the domain can correct its policy or its mail servers. ${HERE}to send without the policy, add the domain to delivery.tls_exceptions; see what waits`,
    'rasket queue',
  ),
  tls_policy_stale: installation(
    'warning',
    'The MTA-STS policy of a domain that mail goes to could not be fetched again for days.',
    `If other policies are fetched, only the owner of the domain can correct the host of its policy. ${HERE}to send without the policy, add the domain to delivery.tls_exceptions; show the settings`,
    'rasket config show',
  ),
  certificate_wrong_name: installation(
    'warning',
    'The certificate does not include instance.host, the name that mail servers and clients connect to.',
    `${HERE}install a certificate for that name, or have one issued by [acme]; see its status`,
    'rasket tls status',
  ),
  mta_sts_unreadable: installation(
    'warning',
    'The MTA-STS policy of a domain that enforces it cannot be read from its policy host.',
    'Let the policy host lead to this server over HTTPS with a valid certificate; until then, set the domains to testing',
    'rasket domains update DOMAIN --mta-sts testing',
  ),
  caa_forbids: installation(
    'warning',
    'A CAA record forbids the authority in the settings to issue a certificate.',
    'Add a CAA record for the authority to the existing ones; then try again',
    'rasket tls renew',
  ),
};

const ORDER = Object.keys(KNOWN) as FindingCode[];

/** Maximum number of subjects shown for one finding. */
const SUBJECTS_MAX = 10;
export const COUNTED_MAX = 1000;

/** Builds a finding from its code and further details. */
export function buildFinding(
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
      Number(findSeverity(b) === 'error') - Number(findSeverity(a) === 'error') ||
      ORDER.indexOf(a.code) - ORDER.indexOf(b.code),
  );

export const findSeverity = ({ code, severity }: Pick<Finding, 'code' | 'severity'>): Known['severity'] =>
  severity ?? KNOWN[code].severity;

/** Codes that are based on receivers' statements, which are only trusted if several agree. */
const SAID_BY_RECEIVERS: ReadonlySet<FindingCode> = new Set<FindingCode>([
  'server_refused',
  'domain_refused',
  'provider_suspended',
]);

/** Reports whether a finding proves a fault on our side; a single receiver may claim anything about us. */
export const isProven = (finding: Finding): boolean =>
  !SAID_BY_RECEIVERS.has(finding.code) || findSeverity(finding) === 'error';
