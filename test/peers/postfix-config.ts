import path from 'node:path';

/** main.cf. Nothing of the system's Postfix is touched, no name is looked up, and no service could send mail away. */
export function mainSettings(dir: string, mailboxOwner: number, over: Record<string, string>): string {
  const at = (...parts: string[]): string => path.join(dir, ...parts);
  const settings: Record<string, string> = {
    compatibility_level: '3.6',
    queue_directory: at('queue'),
    data_directory: at('data'),
    maillog_file: at('log'),
    maillog_file_prefixes: dir,
    myhostname: 'mx.sink.test',
    mydomain: 'sink.test',
    mydestination: '',
    mynetworks: '',
    local_recipient_maps: '',
    alias_maps: '',
    alias_database: '',
    local_header_rewrite_clients: '',
    inet_interfaces: '127.0.0.1',
    inet_protocols: 'ipv4',
    smtpd_peername_lookup: 'no',
    default_transport: 'error:5.7.1 this Postfix belongs to a test and sends nothing',
    relay_transport: '$default_transport',
    virtual_transport: 'virtual',
    virtual_mailbox_domains: 'example.org, example.net',
    virtual_mailbox_base: at('mail'),
    virtual_mailbox_maps: `regexp:${at('etc', 'mailboxes')}`,
    virtual_minimum_uid: '1',
    virtual_uid_maps: `static:${mailboxOwner}`,
    virtual_gid_maps: `static:${mailboxOwner}`,
    smtpd_relay_restrictions: 'reject_unauth_destination',
    smtpd_recipient_restrictions: `check_recipient_access texthash:${at('etc', 'access')}`,
    // Otherwise Postfix waits a second before each answer to a client that has made mistakes.
    smtpd_error_sleep_time: '0',
    ...over,
  };
  return Object.entries(settings)
    .map(([name, value]) => `${name} = ${value}\n`)
    .join('');
}

/** Passes everything on to one port of this machine, and comes again within seconds where that is deaf. */
export const passingOn = (port: number): Record<string, string> => ({
  default_transport: `smtp:[127.0.0.1]:${port}`,
  mynetworks: '127.0.0.0/8',
  smtpd_relay_restrictions: 'permit_mynetworks, reject',
  smtp_tls_security_level: 'encrypt',
  disable_dns_lookups: 'yes',
  queue_run_delay: '1s',
  minimal_backoff_time: '1s',
  maximal_backoff_time: '1s',
  default_destination_concurrency_failed_cohort_limit: '0',
});

/**
 * master.cf without chroot. One smtpd process serves one connection (`max_use=1`), so that what a test changes holds
 * for every connection made after it, without waiting for a reload to reach all processes.
 */
export function masterTable(address: string, port: number): string {
  // service, type, private, unprivileged, chroot, wakeup, maxproc, command
  return `
${address}:${port} inet       n - n -   - smtpd -o max_use=1
cleanup           unix       n - n -   0 cleanup
qmgr              unix       n - n   1 1 qmgr
tlsmgr            unix       - - n -   1 tlsmgr
rewrite           unix       - - n -   - trivial-rewrite
bounce            unix       - - n -   0 bounce
defer             unix       - - n -   0 bounce
trace             unix       - - n -   0 bounce
anvil             unix       - - n -   1 anvil
proxymap          unix       - - n -   - proxymap
error             unix       - - n -   - error
smtp              unix       - - n -   - smtp
retry             unix       - - n -   - error
virtual           unix       - n n -   - virtual
postlog           unix-dgram n - n -   1 postlogd
`;
}
