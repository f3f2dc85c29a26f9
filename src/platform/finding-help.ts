import { findNearest } from '../contract/index.ts';
import { findSeverity, KNOWN, type FindingCode } from './finding.ts';

/** Explains a finding beyond its summary and its advice. */
interface FindingHelp {
  /** Names the usual causes. */
  cause: string;
  /** States when the finding ends, as the end of a sentence that begins with "It ends". */
  ends: string;
}

const EXAMINED = 'with the next examination that finds it in order (`rasket doctor`, or once a day)';
const GLANCED = 'with the next check that finds it in order (`rasket doctor`, or within `doctor.minutes`)';

/** Every code with its explanation, from which docs/findings.md and `rasket help FINDING` are made. */
const HELP: Readonly<Record<FindingCode, FindingHelp>> = {
  database_moved: {
    cause:
      'The database was moved with `rasket migrate-to-postgres` or `migrate-to-sqlite` while this node could not be reached, and its settings still name the old one.',
    ends: 'when the node starts with the settings of the new database, or is removed',
  },
  restored: {
    cause:
      'The data folder came from a backup or a copy. The original may still run, and two servers with the same queue would send every message twice.',
    ends: 'when you confirm the restore with `rasket sending on`',
  },
  sending_off: {
    cause: 'An operator ran `rasket sending off`. Mail is accepted no more, or waits; the summary has the reason.',
    ends: 'with `rasket sending on`',
  },
  storage_unwritable: {
    cause:
      'The disk is full or read-only, the folder belongs to another account, the bucket of the blobs refuses writes, or the SQLite file was deleted while its server ran.',
    ends: 'with the next file that is written and synced',
  },
  database_damaged: {
    cause:
      'A failing disk, memory errors, or a program that wrote into the database file. On PostgreSQL: a damaged page or index, or a table that somebody dropped.',
    ends: 'when a check of the whole database passes, which is tried after 5 seconds, and then less often, up to once an hour',
  },
  database_failing: {
    cause: 'The disk is full or cannot sync, or PostgreSQL is stopped, restarting, read-only or out of connections.',
    ends: 'with the next commit that succeeds; one is tried each second',
  },
  database_split: {
    cause:
      'After a failover, the former primary was started again without being made a standby, or a standby was promoted while the primary still runs. rasket uses the server on the newest timeline and never writes to the other one, but other programs may. If both are on the same timeline, only a server that a process uses already stays in use.',
    ends: 'when only one server of the URL accepts writes',
  },
  content_damaged: {
    cause: 'A file below `blobs` was changed, cut short or removed, by a failing disk or by a person.',
    ends: 'once the file is read without an error, such as after its restore',
  },
  port_not_open: {
    cause: 'Another program has the port, such as Postfix or Exim, or the account may not open ports below 1024.',
    ends: 'when the port opens; the server retries every few seconds',
  },
  delivery_not_running: {
    cause: 'The service is stopped, it ends during its start, or every running process has roles without `delivery`.',
    ends: 'when a process with the role `delivery` reports, which it does at its start and each 30 seconds',
  },
  queue_overdue: {
    cause:
      'Mail that could be tried has waited longer than `delivery.overdue_minutes`: the process is overloaded, or its limits are too low for the mail that is accepted.',
    ends: 'when no delivery is overdue',
  },
  certificate_expired: {
    cause: 'The file was not renewed, or the renewed one was written to another place.',
    ends: 'when a valid certificate is in the file; it is read within seconds',
  },
  certificate_unusable: {
    cause: 'The files changed, and cannot be read, contain no certificate, or the key belongs to another certificate.',
    ends: 'when the files can be used again; they are read within seconds',
  },
  mta_sts_unmet: {
    cause:
      'A domain has MTA-STS in the mode `enforce`, and the certificate of the receiving port is self-signed, expired or for another name than `domains.receiving_mx`.',
    ends: 'with the next check after the certificate is valid, or when no domain enforces',
  },
  backup_failed: {
    cause: 'The folder cannot be written, its disk is full, or `pg_dump` is missing or older than the server.',
    ends: 'with the next backup that succeeds',
  },
  port25_blocked: {
    cause:
      'Most hosting and home providers block outgoing port 25 until a customer asks. A firewall of your own is the other cause.',
    ends: EXAMINED,
  },
  relay_misconfigured: {
    cause: 'The password changed or expired, the relay has another certificate, or a file of its settings is missing.',
    ends: 'with the next message that the relay accepts, or the next examination in which it accepts the login',
  },
  source_unavailable: {
    cause:
      'An address was removed from the machine or not yet added to it after a restart, or the SOCKS5 proxy of a source is down or refuses the login.',
    ends: 'a minute after the last failure, as soon as the address exists',
  },
  resolver_failing: {
    cause:
      'The resolver is down or unreachable, `dns.servers` names the wrong address, or the provider answers for names that do not exist with an advertising page.',
    ends: EXAMINED,
  },
  dnssec_resolver_failing: {
    cause:
      'The resolver of `dns.dnssec_resolver` has not answered for ten minutes: it does not run, refuses this machine or has no network. Or it rejects the records of the root: the clock of the machine or its trust anchor is wrong, or somebody changes the answers between the resolver and the servers of the root.',
    ends: 'with the next test that the resolver passes, every five minutes',
  },
  reverse_dns_wrong: {
    cause:
      'The address still has the default name of the provider, or none, or `instance.host` has no A or AAAA record for it. Only the owner of the address can set its name.',
    ends: EXAMINED,
  },
  helo_name_wrong: {
    cause: 'The A or AAAA record of `instance.host`, or of `helo_name` of a region, is missing or has an old address.',
    ends: EXAMINED,
  },
  address_listed: {
    cause:
      'Somebody sent spam from the address: a customer, a stolen key, or the former owner of the address. Some lists contain all addresses of home connections.',
    ends: EXAMINED,
  },
  key_exposed: {
    cause:
      'A copy, a restore or a `chmod` gave the file another mode than 600. A program that reads it can read every secret in the database and act as the operator.',
    ends: GLANCED,
  },
  clock_wrong: {
    cause: 'No time service runs, or it reaches no server, as after a machine was suspended or restored.',
    ends: EXAMINED,
  },
  disk_low: {
    cause: 'Less than `doctor.disk_free_mb` is free: mail that is kept, backups on the same disk, or other programs.',
    ends: GLANCED,
  },
  domain_lost: {
    cause: 'The records were removed or changed at the DNS provider, the domain moved, or it expired.',
    ends: 'when the domain is verified again',
  },
  sso_provider_down: {
    cause: 'The identity provider has an outage, or this server cannot reach it by https.',
    ends: 'with the next response of the provider',
  },
  sso_provider_wrong: {
    cause:
      'The provider has another issuer or other keys than before, or the client id or secret is no longer valid. The reason is the last failure of `rasket sso get`.',
    ends: 'with the next sign-in through the provider',
  },
  sso_domain_lost: {
    cause: 'The TXT record that proves the domain was removed or changed.',
    ends: 'when the domain is verified again',
  },
  webhook_disabled: {
    cause:
      'Every attempt failed for five days, so rasket disabled the endpoint (an error). Or a person disabled it, which only its team sees (a warning). Events for it are not sent.',
    ends: 'when the webhook is enabled or deleted',
  },
  server_refused: {
    cause:
      'A receiver distrusts the address or its name, or requires something of this server, such as TLS. The summary has its reply.',
    ends: 'with the next mail that the receiver accepts, or after a day without another refusal',
  },
  provider_suspended: {
    cause: 'The provider replied that too much mail comes at once, or that the address has a bad reputation.',
    ends: 'with the suspension, whose end is in the summary, or with `rasket providers resume NAME`',
  },
  domain_refused: {
    cause:
      'A receiver refuses the sending domain: SPF, DKIM or DMARC do not pass, the sender does not exist, or mail of the domain was reported as spam.',
    ends: 'with the next mail of the domain that the receiver accepts, or after a day without another refusal',
  },
  domain_losing_records: {
    cause: 'A record was removed or changed at the DNS provider. The domain stays verified for a grace period.',
    ends: 'when its records are found again, which is checked every half hour and by `rasket domains verify`',
  },
  webhook_failing: {
    cause: 'The application is down, answers with an error or a redirect, or takes too long.',
    ends: 'with the next attempt that succeeds',
  },
  mail_held: {
    cause: 'An operator ran `rasket queue hold` for the team, one of its emails, or a destination of its mail.',
    ends: 'when the operator releases the hold (`rasket queue release`)',
  },
  broadcast_held: {
    cause: 'A person paused it, or too many of its emails bounced or were reported as spam.',
    ends: 'when somebody resumes or cancels the broadcast',
  },
  broadcast_failed: {
    cause: 'Its segment, topic or domain was deleted before it was sent.',
    ends: 'three days after the failure',
  },
  broadcast_segment_broken: {
    cause:
      'The filter of its segment names something that was deleted, such as a contact property, a topic or another segment, so it matches fewer contacts.',
    ends: 'when the filter is corrected, or the broadcast is canceled',
  },
  broadcast_pool_missing: {
    cause:
      'The operator removed the pool from the settings, or its sources or `broadcasts = true`, after the broadcast was sent or scheduled. The conditions of the other pools decide what its mail leaves by.',
    ends: 'when the settings offer the pool again, or when the broadcast is sent or canceled',
  },
  marketing_off: {
    cause: 'An operator ran `rasket sending off --marketing`. Broadcasts wait; transactional mail is sent.',
    ends: 'with `rasket sending on --marketing`',
  },
  bounce_rate_high: {
    cause:
      'The addresses are old, bought or mistyped. Receivers block senders whose mail bounces more often than `broadcasts.hold_bounce_percent` says.',
    ends: 'when the rate of the last 24 hours is below the limit',
  },
  complaint_rate_high: {
    cause:
      'People did not ask for the mail, or cannot unsubscribe easily. Receivers block senders above `broadcasts.hold_complaint_percent`.',
    ends: 'when the rate of the last 24 hours is below the limit',
  },
  sending_limited: {
    cause:
      'Within the last hours, a larger share of recipients than `[breakers]` allows reported mail of a domain or a team as spam, or did not exist. Providers block such senders, so rasket sends less, or nothing, before they do. By default, only marketing mail is limited.',
    ends: 'some time after new mail is taken well, which is tried with a few messages after the pause, or when an operator releases the breaker',
  },
  sender_rules_unmet: {
    cause:
      'Gmail, Yahoo and Outlook.com have stricter rules for senders of about 5,000 messages a day. Within 24 hours, the domain sent 80 % of that or more to one of them, and DNS, the reverse DNS of this server, replies or complaints show that a rule is not met.',
    ends: 'at the next hourly check after the rule is met, or when the domain sends less for a day',
  },
  mail_captured: {
    cause: '`delivery.capture` is true in the settings, as for a test.',
    ends: 'after a restart with `delivery.capture = false`',
  },
  backup_old: {
    cause: 'No backup was made within `backup.max_age_hours`: none is scheduled, or the timer does not run.',
    ends: 'with the next backup',
  },
  account_mail: {
    cause: 'Mail to people who sign in needs a verified domain as its sender, and there is none.',
    ends: 'when a domain is verified, or `accounts.mail_from` names one that is',
  },
  certificate_not_issued: {
    cause:
      'The authority cannot reach port 80 or 443 of the name, a CAA record forbids it, or its limit for the name is used up. The summary has its reply.',
    ends: 'when the certificate is issued',
  },
  certificate_expiring: {
    cause: 'The program that renews the file has not done so, or the authority refuses.',
    ends: 'when a newer certificate is in the file; it is read within seconds',
  },
  certificate_self_signed: {
    cause:
      'Neither `tls.certificate_file` nor `acme.directory` is set. Mail is still encrypted, but clients that verify certificates refuse the server.',
    ends: 'when the ports present a certificate of an authority',
  },
  proxy_not_trusted: {
    cause:
      'nginx, Caddy or a load balancer forwards requests from an address that `http.trusted_proxies` does not list.',
    ends: 'an hour after the last such request',
  },
  model_failing: {
    cause: 'The key is wrong or has no credit, the model was withdrawn, or its server is down.',
    ends: 'with the next usable response, or a day after the last use',
  },
  payment_events_missing: {
    cause: 'The webhook of the payment provider is missing, names another address or is signed with another secret.',
    ends: 'when an event for the subscription arrives',
  },
  versions_differ: {
    cause: 'An upgrade has not reached all nodes yet.',
    ends: 'when all running processes report the same version',
  },
  clock_stepped: {
    cause:
      'The time service corrected a clock that was wrong, a person set it, or the machine was suspended. While entries are dated in the future, lists show them above newer ones.',
    ends: 'a day after the step, or once the clock has passed the times of those entries, whichever is later',
  },
  nodes_not_heard: {
    cause: 'PgBouncer in the mode of transactions passes no notifications on, or the connection for them fails.',
    ends: 'when notifications arrive again',
  },
  resolver_slow: {
    cause: 'The resolver is far away or overloaded, or forwards to one that is.',
    ends: EXAMINED,
  },
  disk_filling: {
    cause: 'More mail is kept than before, or a log or backups grow. The estimate uses the last week.',
    ends: GLANCED,
  },
  file_limit_low: {
    cause: 'The unit or the shell limits open files below what the limits of connections in the settings add up to.',
    ends: GLANCED,
  },
  event_loop_slow: {
    cause: 'The processor is too slow for the mail, other programs use it, or the machine swaps.',
    ends: GLANCED,
  },
  dane_off: {
    cause:
      'The resolver of `dns.dnssec_resolver` answers without the AD flag, or accepts a name whose signatures are wrong: it has no trust anchor, or only forwards.',
    ends: 'when the resolver validates',
  },
  dnssec_resolver_untested: {
    cause:
      'For an hour, the resolver of `dns.dnssec_resolver` could not look up dnssec-failed.org, a name with wrong signatures: its name servers do not answer, or a firewall blocks it. DANE is on, and other mail is not affected.',
    ends: 'with the next test that the resolver passes, every five minutes',
  },
  tls_policy_unmet: {
    cause:
      'The recipient’s domain has MTA-STS or TLSA records, and its mail servers present another certificate than those require.',
    ends: 'with the next connection that meets the policy',
  },
  certificate_wrong_name: {
    cause: 'The certificate was made for another name, such as that of a web site, or `instance.host` has changed.',
    ends: GLANCED,
  },
  tls_policy_stale: {
    cause:
      'The host of the policy (`mta-sts.` and the domain) is down, has no valid certificate, or no longer serves the policy. It is asked also while DNS announces no policy, because somebody may suppress the record. The stored policy holds until it expires.',
    ends: 'when the policy is fetched again, also one that ends it (mode none), or the stored policy has expired',
  },
  former_host_named: {
    cause:
      'The host name of the server was changed with `rasket host change`, and the records of the domain still have the former one.',
    ends: 'when a check of DNS finds the records with the new name, which is within half an hour, or with `rasket domains verify`',
  },
  mta_sts_unreadable: {
    cause:
      'The host `mta-sts.` and the domain leads elsewhere, port 443 is closed, its certificate has not been issued, or a proxy does not pass the `Host` header on. Senders keep the policy they know until it expires, and then deliver without one.',
    ends: EXAMINED,
  },
  caa_forbids: {
    cause: 'The CAA records of the domain name only other authorities than the one of `acme.directory`.',
    ends: EXAMINED,
  },
};

const CODES = Object.keys(KNOWN) as FindingCode[];

/** Reports whether a word is the code of a finding. */
export const isFindingCode = (word: string): word is FindingCode => CODES.includes(word as FindingCode);

/** Returns the code that was probably meant. */
export const suggestFinding = (word: string): string | undefined => findNearest(word, CODES) ?? findByWords(word);

const WORD_LETTERS_MIN = 3;

/** Finds the code that has most words of a name in common, such as certificate_expired for `cert_expired`. */
function findByWords(name: string): string | undefined {
  const given = name.split('_').filter((word) => word.length >= WORD_LETTERS_MIN);
  const countCommon = (code: string): number =>
    code.split('_').filter((word) => given.some((one) => word.startsWith(one) || one === `${word}s`)).length;
  const [best] = CODES.map((code) => ({ code, common: countCommon(code) }))
    .filter(({ common }) => common > 0)
    .toSorted((a, b) => b.common - a.common || a.code.length - b.code.length);
  return best?.code;
}

/** Renders the explanation of a finding for a terminal; lines are not wrapped. */
export function renderFindingHelp(code: FindingCode): string {
  const { says, advice } = KNOWN[code];
  const { cause, ends } = HELP[code];
  const parts = [
    `${code} (${findSeverity({ code })})`,
    says,
    `Cause: ${cause}`,
    `What to do: ${advice.words}${advice.command === null ? '.' : `:\n\n  ${advice.command}`}`,
    `It ends ${ends}.`,
  ];
  return `${parts.join('\n\n')}\n`;
}

/** Renders docs/findings.md. */
export function renderFindingsPage(): string {
  const renderList = (isOfInstallation: boolean): string =>
    CODES.filter((code) => KNOWN[code].isOfInstallation === isOfInstallation)
      .map((code) => `[${code}](#${code})`)
      .join(', ');
  return [
    INTRODUCTION,
    '## All findings',
    `Of the installation: ${renderList(true)}.`,
    `Of a team: ${renderList(false)}.`,
    ...CODES.flatMap(renderSection),
  ]
    .join('\n\n')
    .concat('\n');
}

function renderSection(code: FindingCode): string[] {
  const { says, advice } = KNOWN[code];
  const { cause, ends } = HELP[code];
  const command = advice.command === null ? '.' : `: \`${advice.command}\``;
  return [
    `## ${code}`,
    `_${findSeverity({ code }) === 'error' ? 'Error' : 'Warning'}._ ${says}`,
    [`- **Cause.** ${cause}`, `- **What to do.** ${advice.words}${command}`, `- **It ends** ${ends}.`].join('\n'),
  ];
}

const INTRODUCTION = `# Findings

A finding is something that is wrong now. \`rasket doctor\` shows all of them with the checks of the machine, \`rasket findings\` those of a team, \`rasket findings all\` those of the installation, and \`rasket help NAME\` prints what this page says about one. They are also in \`GET /ready\`, on the overview of the console, and in \`rasket_findings\` of [\`/metrics\`](monitoring.md#get-metrics).

An **error** means that something does not work; page a person. A **warning** means that something works, but not as it should, or not for much longer. There is no history: a finding disappears with its cause.

\`rasket doctor\` ends with the code of the first problem that it meets:

| exit code | meaning |
| --- | --- |
| 0 | nothing is wrong, or there are only warnings |
| 1 | something does not work: a finding is an error, or the machine could not be examined |
| 69 | no server answers at the address |
| 70 | the server answers, but cannot serve requests (\`GET /ready\` returns 503) |
| 77 | the server does not accept the key, or no key is set for a server elsewhere |

This page is generated from the program; a test compares them.`;
