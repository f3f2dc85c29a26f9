import type { Ended, Explanation } from './ended.ts';

const RETRIED = 'Nothing to do: it is tried again by itself.';

/** What we found ourselves. */
const REASONS: Readonly<Record<string, Explanation>> = {
  dns_failure: {
    sentence: 'The domain’s name servers could not say where its mail goes.',
    advice: `${RETRIED} If it lasts, the domain’s owner has to mend its name servers.`,
  },
  resolver_failure: {
    sentence: 'Our resolver did not answer where mail for this domain goes.',
    advice: `${RETRIED} If mail to every domain waits like this, the operator of this server has to mend its resolver, which rasket doctor examines. If only mail to this domain waits, its name servers are too slow.`,
  },
  unreachable: {
    sentence: 'None of the domain’s mail servers could be connected to.',
    advice: `${RETRIED} If mail to every domain waits like this, check that this machine may make connections to port 25.`,
  },
  destination_down: {
    sentence: 'It was not tried, because the domain’s mail servers had failed a moment before.',
    advice: RETRIED,
  },
  connection_lost: { sentence: 'The mail server closed the connection in the middle.', advice: RETRIED },
  timeout: { sentence: 'The mail server did not answer in time.', advice: RETRIED },
  tls_unavailable: {
    sentence:
      'The sending domain demands an encrypted connection, and the mail server offers none that is good enough.',
    advice: 'Set tls of the domain to opportunistic if mail to this recipient may travel unencrypted.',
  },
  protocol_error: {
    sentence: 'The mail server did not speak SMTP as it should.',
    advice: `${RETRIED} If it lasts, the recipient’s administrator has to be told; the transcript shows what was said.`,
  },
  relay_misconfigured: {
    sentence:
      'The relay of this server does not accept its mail: its login, its certificate or its settings are wrong.',
    advice: 'The operator of this server has to mend it; rasket relays list shows which relays there are.',
  },
  local_trouble: {
    sentence: 'A problem of this server kept the message from being sent.',
    advice: 'The server’s log says which; it is tried again by itself.',
  },
  content_damaged: {
    sentence: 'The stored content of the message differs from what was accepted, so it was not sent.',
    advice:
      'The operator finds the damaged file in `rasket findings all` and puts it back from a backup; then it is sent by itself.',
  },
  domain_unverified: {
    sentence: 'The sending domain is not verified any more, so the mail would be refused.',
    advice: 'Publish its DNS records again; the domain shows which one is missing.',
  },
  no_such_domain: {
    sentence: 'The recipient’s domain does not exist.',
    advice: 'Look for a typing mistake behind the @, and correct or remove the address.',
  },
  takes_no_mail: {
    sentence: 'The recipient’s domain says that it takes no mail at all.',
    advice: 'Remove the address; nobody can be reached there.',
  },
  no_route: {
    sentence: 'The recipient’s domain names no mail server that can be found.',
    advice: 'Look for a typing mistake behind the @; otherwise its owner has to mend its MX records.',
  },
  blocked_address: {
    sentence: 'The domain’s mail servers have addresses that this server may not connect to, such as private ones.',
    advice: 'If that is your own network, allow it with network.mail_allow_private.',
  },
  routing_loop: {
    sentence: 'The domain’s mail would come back to this very server.',
    advice:
      'Its MX record names this server although it does not receive for the domain: change the record or turn receiving on.',
  },
  too_large: {
    sentence: 'The message is larger than the recipient’s mail server takes.',
    advice: 'Send it smaller, for instance with a link in place of an attachment.',
  },
  smtputf8_unsupported: {
    sentence: 'The address has letters that the recipient’s mail server cannot take.',
    advice: 'Ask the recipient for an address of plain letters.',
  },
  malformed_address: {
    sentence: 'The address cannot be written in SMTP.',
    advice: 'Correct or remove the address.',
  },
  domain_removed: {
    sentence: 'The sending domain was removed before the mail went out.',
    advice: 'Add the domain again and send anew.',
  },
  dropped_by_operator: {
    sentence: 'The operator of this server took it out of the queue.',
    advice: 'Ask the operator before sending it again.',
  },
  broadcast_canceled: {
    sentence: 'Its broadcast was canceled while it was held.',
    advice: null,
  },
  ambiguous_submission: {
    sentence:
      'The connection broke just when the message had been handed over, and nobody has said since whether it arrived.',
    advice: 'Ask the recipient before sending it again: it may have arrived.',
  },
};

const OUTCOMES: Readonly<Record<Ended['outcome'], Explanation>> = {
  delivered: { sentence: 'The recipient’s mail server took the message.', advice: null },
  deferred: { sentence: 'The mail server did not take the message for now.', advice: RETRIED },
  bounced: {
    sentence: 'The mail server refused the message for good.',
    advice: 'Its reply is all that it said; the recipient’s administrator can say more.',
  },
  suppressed: {
    sentence: 'The address is on your suppression list, so nothing was sent to it.',
    advice: 'If it is good again, take it off that list.',
  },
  failed: { sentence: 'The message could not be sent.', advice: null },
  ambiguous: {
    sentence: 'The connection broke just when the message had been handed over: it may have arrived or not.',
    advice: 'It is never sent a second time; whether it arrived may still turn out by a notice from the other side.',
  },
};

export const byReason = ({ outcome, reason }: Ended): Explanation => REASONS[reason ?? ''] ?? OUTCOMES[outcome];
