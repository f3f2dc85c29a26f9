const RETRIED = 'Nothing to do: it is tried again by itself.';

/** Explanations of our own reason codes. */
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

const byReason = ({ outcome, reason }: Ended): Explanation => REASONS[reason ?? ''] ?? OUTCOMES[outcome];

interface ReplyRule extends Explanation {
  /** Matched against the text of the reply, which contains the enhanced code too. */
  says: RegExp;
  /**
   * The first digit of the replies that the rule is for; without it, the rule is for every refusal. A temporary failure
   * is never a reason to remove an address.
   */
  only?: '4' | '5';
}

const RETRIED_AFTER_REPLY = 'It is tried again by itself.';
const NOTHING_TO_DO = `Nothing to do. ${RETRIED_AFTER_REPLY}`;
const GIVEN_UP = 'It was given up; send it again when that is over.';

const NO_SUCH_MAILBOX =
  /(?:user|mailbox|recipient|address|account)\b.{0,80}(?:unknown|not (?:found|exist)|does ?n[o']t exist|invalid|no longer|unavailable)|no such|unknown (?:user|recipient)|does not exist|\b5\.1\.(?:1|10|2|3)\b|\b5\.4\.1 recipient address rejected: access denied/i;
const BY_RULE =
  /only accepts? mail from|restricted|not (?:allowed|authorized|permitted)|access denied|policy|prohibit|\b[45]\.7\.\d+\b/i;

/** The first matching rule decides: rules on wording come before rules on codes. */
const RULES: readonly ReplyRule[] = [
  {
    says: /grey ?list|gray ?list|greylisted|try again (?:in|after) \d/i,
    sentence: 'The mail server turns unknown senders away once and takes them a little later (greylisting).',
    advice: NOTHING_TO_DO,
  },
  {
    says: /\bloop|\b5\.4\.6\b|too many hops/i,
    sentence: 'The message went around in a circle at the other side.',
    advice: 'The recipient’s administrator has to mend their forwarding.',
  },
  {
    says: /\b[45]\.5\.3\b|too many (?:recipients|rcpts?)\b(?!.*\b(?:second|minute|hour|day|rate|limit))/i,
    sentence: 'The mail server takes only so many recipients in one transaction; the rest has to come in the next.',
    advice: NOTHING_TO_DO,
  },
  {
    says: /\b(?:rate\b|too (?:many|much)|throttl|exceeded the (?:rate|limit)|deferred due to user complaints|\[TSS?0\d\]|4\.7\.28|temporarily deferred|unusual rate)/i,
    sentence: 'The mail server takes mail from this server only slowly at the moment.',
    advice: `${RETRIED_AFTER_REPLY} If it lasts, send less at once until the server’s address is better known.`,
  },
  {
    // Must come before the blocklists: here the recipient's mail server itself bans the address, not a list.
    says: /banned send(?:ing ip|er)|\b5\.7\.(?:511|60[6-9]|6[1-4]\d)\b/i,
    sentence: 'The address of this server is banned at the recipient’s mail server.',
    advice: 'Find out what was sent, and ask for delisting at the link in the reply.',
  },
  {
    says: /spamhaus|\brbl\b|dnsbl|block ?list|black ?list|blocklisted|listed (?:by|in|at|on)|barracudacentral|spamcop|sorbs/i,
    sentence: 'The address of this server is on a blocklist that the recipient’s mail server asks.',
    advice: 'Follow the link in the reply, find out what was sent, and ask the list to take it off.',
  },
  {
    says: /reverse dns|\bPTR\b|rdns|4\.7\.25|5\.7\.25|cannot find your (?:reverse )?hostname|no reverse|client host rejected: cannot find/i,
    sentence: 'The address of this server has no name in reverse DNS, or not the one it greets with.',
    advice: 'Have the provider of the machine set the reverse DNS (PTR) to the value of instance.host.',
  },
  {
    // Must come before DMARC, SPF and DKIM: such a reply names all of them, with the result of each.
    says: /\b5\.7\.515\b|required authentication level/i,
    sentence:
      'The recipient’s mail server demands SPF, DKIM and DMARC of the sending domain, and not all of them held.',
    advice: 'The domain shows what is wrong with its records.',
  },
  {
    says: /dmarc/i,
    sentence:
      'The sending domain’s DMARC policy asked for the refusal: neither SPF nor DKIM agreed with the From address.',
    advice: 'The domain shows what is wrong with its records.',
  },
  {
    says: /\b[45]\.7\.26\b|unauthenticated/i,
    sentence: 'The recipient’s mail server could not make sure who sent it: neither SPF nor DKIM held.',
    advice: 'The domain shows what is wrong with its records.',
  },
  {
    only: '4',
    says: /\bsender\b.{0,200}\b(?:unverified|verif(?:y|ication) (?:in progress|callout))/i,
    sentence: 'The recipient’s mail server could not make sure yet that the sender’s address exists.',
    advice: `${RETRIED_AFTER_REPLY} If it lasts, see that the sender’s domain takes mail for this address.`,
  },
  {
    says: /\b[45]\.1\.[78]\b|\b5\.7\.27\b|sender (?:address )?(?:rejected|verif)/i,
    sentence: 'The recipient’s mail server does not accept the sender’s address, or could not find its domain.',
    advice: 'The sending domain shows which of its records are missing.',
  },
  {
    says: /\bspf\b|5\.7\.2[34]|4\.7\.2[34]|not (?:authorized|permitted|allowed) to send (?:mail )?(?:for|from)/i,
    sentence: 'The recipient’s mail server found that this server may not send for the domain (SPF).',
    advice: 'The domain shows what is wrong with its SPF record.',
  },
  {
    says: /\bdkim\b|5\.7\.2[0-2]\b/i,
    sentence: 'The recipient’s mail server did not accept the DKIM signature.',
    advice: 'The domain shows whether the published key is the one in use.',
  },
  {
    says: /(?:\bdns\b|\bresolv(?:e|ing)\b|look(?:ing)? ?up).{0,60}\b(?:sender|sending|mail from)(?:[’']s)? (?:domain|address)|\b(?:sender|sending|mail from)(?:[’']s)? (?:domain|address).{0,60}(?:\bdns\b|\bresolve\b|look ?up)/i,
    sentence: 'The recipient’s mail server could not look up the sending domain in DNS.',
    advice: `Look at the DNS of the sending domain: do its name servers answer from outside? ${RETRIED_AFTER_REPLY}`,
  },
  {
    says: /reputation|poor sender|5\.7\.1 .*(?:ip|address).*(?:low|poor)/i,
    sentence: 'The recipient’s mail server thinks badly of this server’s address or of the domain.',
    advice: 'Send only to people who asked for it, and slowly at first; bounces and complaints make it worse.',
  },
  {
    says: /virus|malware|infected|trojan/i,
    sentence: 'The recipient’s mail server found a virus in the message.',
    advice: 'Look through its attachments before sending it again.',
  },
  {
    says: /attachment|file type|executable|potential security issue/i,
    sentence: 'The recipient’s mail server does not take one of the attachments.',
    advice: 'Send a link in place of the file.',
  },
  {
    says: /phish|\bspam|unsolicited|junk|content (?:was |is )?(?:reject|refus|filter)|message content/i,
    sentence: 'The recipient’s mail server took the message for spam.',
    advice: 'Look at its text and links; the recipient can ask their administrator to let it pass.',
  },
  {
    says: /quota|mailbox (?:is |was )?(?:temporarily )?full|over ?quota|out of storage|insufficient (?:disk|storage)|\b[45]\.2\.2\b/i,
    sentence: 'The recipient’s mailbox is full.',
    advice: 'Reach them another way; the address itself is good.',
  },
  {
    says: /message (?:size|is )?(?:too (?:big|large)|exceeds)|size (?:limit )?exceed|too large|\b5\.3\.4\b|\b5\.2\.3\b/i,
    sentence: 'The message is larger than the recipient’s mail server takes.',
    advice: 'Send it smaller, for instance with a link in place of an attachment.',
  },
  {
    only: '5',
    says: /disabled|inactive|deactivated|suspended|(?:mailbox|account|user|address).{0,40}\bremoved|\b5\.2\.1\b/i,
    sentence: 'The mailbox exists, and is closed or not in use any more.',
    advice: 'Remove the address.',
  },
  {
    only: '5',
    says: /\bmoved\b|\b5\.1\.6\b/i,
    sentence: 'The mailbox has moved, and the old address is good no more.',
    advice: 'Ask the recipient for the new address.',
  },
  {
    says: /relay|\b5\.7\.1 .*not (?:permitted|allowed).*relay|we do not relay/i,
    sentence: 'The mail server that the domain names does not take mail for it.',
    advice: 'Look for a typing mistake behind the @; otherwise the domain’s owner has to mend its MX record.',
  },
  {
    says: /starttls|\btls\b|encrypt|\b5\.7\.10\b/i,
    sentence: 'The mail server takes mail over an encrypted connection only, and none came about.',
    advice: 'The transcript shows where the handshake broke off.',
  },
  {
    only: '5',
    // 5.1.10 alone is ambiguous: other servers use it for a mailbox.
    says: /^556|\bnull ?mx\b|domain (?:does not|doesn[’']t) accept (?:any )?(?:e-?)?mail/i,
    sentence: 'The recipient’s domain says that it takes no mail at all.',
    advice: 'Remove the address; nobody can be reached there.',
  },
  {
    only: '4',
    says: /\b(?:mailbox|account)\b.{0,80}(?:unavailable|busy|locked|in use|disabled|inactive|suspended)|\b4\.2\.\d+\b/i,
    sentence: 'The mailbox takes no mail for now: it is busy or locked.',
    advice: NOTHING_TO_DO,
  },
  {
    only: '4',
    says: /unverified address|address verification|(?:user|mailbox|recipient|address|account)\b.{0,80}(?:unknown|not (?:found|exist)|does ?n[o'’]t exist)|no such|unknown (?:user|recipient)|\b4\.1\.\d+\b/i,
    sentence: 'The mail server does not know yet whether there is such a mailbox.',
    advice: `${RETRIED_AFTER_REPLY} If it lasts, look for a typing mistake in the address.`,
  },
  {
    only: '5',
    says: NO_SUCH_MAILBOX,
    sentence: 'There is no such mailbox.',
    advice: 'Look for a typing mistake in the address; otherwise remove it.',
  },
  {
    only: '4',
    says: BY_RULE,
    sentence:
      'The mail server puts the message off: it makes unknown senders wait (greylisting), or has a limit or rule.',
    advice: `${RETRIED_AFTER_REPLY} If it lasts, its reply may name the rule.`,
  },
  {
    says: BY_RULE,
    sentence: 'A rule of the recipient’s mail server does not allow this message.',
    advice: 'Its reply may name the rule; the recipient’s administrator can make an exception.',
  },
  {
    only: '4',
    says: /\b4\.4\.[12]\b|time(?:d )?-?out/i,
    sentence: 'A connection at the mail server broke off, or took too long.',
    advice: NOTHING_TO_DO,
  },
  {
    only: '4',
    says: /\b4\.4\.\d+\b|no route|routing|host not found/i,
    sentence: 'The other side could not find the way to the mailbox for now.',
    advice: `${RETRIED_AFTER_REPLY} If it lasts, the recipient’s administrator has to mend their routing.`,
  },
  {
    says: /\b5\.4\.\d+\b|no route|routing|host not found/i,
    sentence: 'The other side could not find the way to the mailbox.',
    advice: 'The recipient’s administrator has to mend their routing.',
  },
  {
    says: /\b[45]\.3\.\d+\b|try (?:again )?later|unavailable|local (?:problem|error)|system|overload|busy|maintenance/i,
    sentence: 'The recipient’s mail server has a problem of its own.',
    advice: RETRIED_AFTER_REPLY,
  },
  {
    says: /\b[45]\.6\.\d+\b/i,
    sentence: 'The recipient’s mail server cannot take a message of this form.',
    advice: 'Send it as plain text, or without its unusual parts.',
  },
];

/** Explains a refusing reply. A rule that advises to wait does not apply if the message is not retried. */
function byReply(reply: string, isRetried: boolean): Explanation | undefined {
  if (/^2/.test(reply)) return undefined;
  const rule = RULES.find(({ says, only }) => (!only || reply.startsWith(only)) && says.test(reply));
  if (!rule) return undefined;
  const { sentence, advice } = rule;
  if (isRetried) return { sentence, advice };
  return { sentence, advice: advice?.replace(NOTHING_TO_DO, GIVEN_UP).replace(RETRIED_AFTER_REPLY, GIVEN_UP) ?? null };
}

/** The result of an attempt for one recipient. */
export interface Ended {
  outcome: 'delivered' | 'deferred' | 'bounced' | 'suppressed' | 'failed' | 'ambiguous';
  /** Our reason code; null if the outcome says it all. */
  reason: string | null;
  /** The mail server's reply, on one line with its codes; null if no server was contacted. */
  reply: string | null;
}

/** The name that the built-in mailbox of a development server uses instead of a mail server's name. */
export const PLAYGROUND = 'playground';

/** The reply that the mailbox simulator records, without a connection, for messages that count as delivered. */
export const SIMULATED = 'Delivered by the mailbox simulator';

/** The server that was contacted; nulls if none was reached. */
interface Peer {
  mx: string | null;
  /** Null if there was no connection, as for the playground: a foreign server with the same name has an address. */
  address: string | null;
  /** The relay that was to forward the message; the recipient's own mail server was not contacted then. */
  relay?: string | null;
}

export interface Explanation {
  sentence: string;
  /** Null if there is nothing to do. */
  advice: string | null;
}

/**
 * Explains the result. The reply takes precedence over our own reason code; if both are unknown, the explanation says
 * so.
 */
export function explainDelivery(ended: Ended, { mx, address, relay }: Peer = { mx: null, address: null }): Explanation {
  if (ended.outcome === 'delivered' && mx !== null && address === null) {
    if (mx === PLAYGROUND) return CAUGHT;
    if (ended.reply?.endsWith(SIMULATED)) return ANSWERED;
  }
  if (relay) {
    const throughRelay = explainRelay(ended, relay);
    if (throughRelay) return throughRelay;
  }
  const isReply = ended.reason === null || ended.reason === 'refused' || ended.reason === 'refused_for_now';
  const fromReply = isReply && ended.reply !== null ? byReply(ended.reply, ended.outcome === 'deferred') : undefined;
  return fromReply ?? byReason(ended);
}

const CAUGHT: Explanation = {
  sentence: 'It was kept in the playground of this server, and went nowhere.',
  advice: 'The playground shows what there is.',
};

const ANSWERED: Explanation = {
  sentence: 'The mailbox simulator of this server answered for the recipient; nothing left this server.',
  advice: null,
};

/** Explains the result of a delivery through a relay; undefined if the explanation is the same as without one. */
function explainRelay({ outcome, reason }: Ended, relay: string): Explanation | undefined {
  if (outcome === 'delivered')
    return {
      sentence: `The relay ${relay} took the message and passes it on to the recipient’s mail server.`,
      advice: null,
    };
  switch (reason) {
    case 'relay_misconfigured':
      return {
        sentence: `The relay ${relay} does not accept mail from this server: its login, its certificate or its settings are wrong.`,
        advice: `The operator of this server has to mend it, which rasket relays test ${relay} examines; then it is sent by itself.`,
      };
    case 'unreachable':
      return {
        sentence: `The relay ${relay} could not be connected to.`,
        advice: `${RETRIED} If it lasts, the operator of this server finds out why with rasket relays test ${relay}.`,
      };
    case 'destination_down':
      return {
        sentence: `It was not tried, because the relay ${relay} had failed a moment before.`,
        advice: RETRIED,
      };
    default:
      return undefined;
  }
}
