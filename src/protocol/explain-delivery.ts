const RETRIED = 'No action is needed: delivery is retried automatically.';

/** Explanations of our own reason codes. */
const REASONS: Readonly<Record<string, Explanation>> = {
  dns_failure: {
    sentence: 'The domain’s name servers did not return where its mail is delivered.',
    advice: `${RETRIED} If the problem persists, the owner of the domain has to fix its name servers.`,
  },
  resolver_failure: {
    sentence: 'The resolver of this server did not return where mail for this domain is delivered.',
    advice: `${RETRIED} If mail to all domains is delayed, the operator of this server has to fix its resolver; rasket doctor checks it. If only mail to this domain is delayed, its name servers are too slow.`,
  },
  unreachable: {
    sentence: 'No connection to any of the domain’s mail servers could be made.',
    advice: `${RETRIED} If mail to all domains is delayed, check that this machine can connect to port 25 of other servers.`,
  },
  destination_down: {
    sentence: 'No attempt was made, because the domain’s mail servers had failed a moment before.',
    advice: RETRIED,
  },
  connection_lost: { sentence: 'The mail server closed the connection during the delivery.', advice: RETRIED },
  timeout: { sentence: 'The mail server did not respond in time.', advice: RETRIED },
  tls_unavailable: {
    sentence:
      'The sending domain requires an encrypted connection, and the mail server offers none that meets its requirements.',
    advice: 'Set tls of the domain to opportunistic if mail to this recipient may travel unencrypted.',
  },
  tls_policy_unmet: {
    sentence:
      'The recipient’s domain has a policy that requires TLS (MTA-STS or TLSA records), and none of its mail servers meets it.',
    advice: `${RETRIED} Only the owner of the recipient’s domain can correct its policy or its mail servers. The header TLS-Required: No sends a mail without the policy.`,
  },
  protocol_error: {
    sentence: 'The mail server did not follow the SMTP protocol.',
    advice: `${RETRIED} If the problem persists, report it to the recipient’s administrator; the transcript shows the SMTP dialogue.`,
  },
  relay_misconfigured: {
    sentence:
      'The relay of this server does not accept its mail: its login, its certificate or its settings are wrong.',
    advice: 'The operator of this server has to fix it; rasket relays list shows the relays.',
  },
  local_trouble: {
    sentence: 'A problem on this server prevented the message from being sent.',
    advice: 'The server’s log has the details; delivery is retried automatically.',
  },
  content_damaged: {
    sentence: 'The stored content of the message differs from what was accepted, so it was not sent.',
    advice:
      'The operator finds the damaged file with `rasket findings all` and restores it from a backup; then the message is sent automatically.',
  },
  domain_unverified: {
    sentence: 'The sending domain is no longer verified, so the mail would be refused.',
    advice: 'Publish its DNS records again; the domain shows which one is missing.',
  },
  no_such_domain: {
    sentence: 'The recipient’s domain does not exist.',
    advice: 'Check the address for typing mistakes after the @, and correct or remove it.',
  },
  takes_no_mail: {
    sentence: 'The recipient’s domain states that it accepts no mail.',
    advice: 'Remove the address; nobody receives mail there.',
  },
  no_route: {
    sentence: 'No mail server of the recipient’s domain can be found.',
    advice:
      'Check the address for typing mistakes after the @; if there are none, the owner of the domain has to fix its MX records.',
  },
  blocked_address: {
    sentence: 'The domain’s mail servers have addresses that this server may not connect to, such as private ones.',
    advice: 'If this is your own network, allow it with network.mail_allow_private.',
  },
  routing_loop: {
    sentence: 'The domain’s mail would be sent back to this server.',
    advice:
      'The MX record of the domain names this server, but this server does not receive mail for the domain: change the record or enable receiving.',
  },
  too_large: {
    sentence: 'The message is larger than the recipient’s mail server accepts.',
    advice: 'Send a smaller message, for example with a link instead of an attachment.',
  },
  smtputf8_unsupported: {
    sentence: 'The address contains characters that the recipient’s mail server does not support.',
    advice: 'Ask the recipient for an address with ASCII characters only.',
  },
  malformed_address: {
    sentence: 'The address cannot be used in SMTP.',
    advice: 'Correct or remove the address.',
  },
  domain_removed: {
    sentence: 'The sending domain was removed before the message was sent.',
    advice: 'Add the domain again, then send the message again.',
  },
  dropped_by_operator: {
    sentence: 'The operator of this server removed the message from the queue.',
    advice: 'Ask the operator before sending it again.',
  },
  broadcast_canceled: {
    sentence: 'The broadcast was canceled while the message was on hold.',
    advice: null,
  },
  ambiguous_submission: {
    sentence:
      'The connection was lost just after the message had been handed over, and no report has confirmed since whether it arrived.',
    advice: 'Ask the recipient before sending it again: it may have arrived.',
  },
};

const OUTCOMES: Readonly<Record<Ended['outcome'], Explanation>> = {
  delivered: { sentence: 'The recipient’s mail server accepted the message.', advice: null },
  deferred: { sentence: 'The mail server did not accept the message for now.', advice: RETRIED },
  bounced: {
    sentence: 'The mail server refused the message permanently.',
    advice: 'The reply of the server is the only information; the recipient’s administrator may know more.',
  },
  suppressed: {
    sentence: 'The address is on your suppression list, so nothing was sent to it.',
    advice: 'If the address is valid again, remove it from the list.',
  },
  failed: { sentence: 'The message could not be sent.', advice: null },
  ambiguous: {
    sentence: 'The connection was lost just after the message had been handed over: it may or may not have arrived.',
    advice: 'It is never sent a second time; a report from the recipient’s server may still tell whether it arrived.',
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

const RETRIED_AFTER_REPLY = 'Delivery is retried automatically.';
const NOTHING_TO_DO = `No action is needed. ${RETRIED_AFTER_REPLY}`;
const GIVEN_UP = 'No further attempts are made; send the message again when the problem is solved.';

const NO_SUCH_MAILBOX =
  /(?:user|mailbox|recipient|address|account)\b.{0,80}(?:unknown|not (?:found|exist)|does ?n[o']t exist|invalid|no longer|unavailable)|no such|unknown (?:user|recipient)|does not exist|\b5\.1\.(?:1|10|2|3)\b|\b5\.4\.1 recipient address rejected: access denied/i;
const BY_RULE =
  /only accepts? mail from|restricted|not (?:allowed|authorized|permitted)|access denied|policy|prohibit|\b[45]\.7\.\d+\b/i;

/** The first matching rule decides: rules on wording come before rules on codes. */
const RULES: readonly ReplyRule[] = [
  {
    says: /grey ?list|gray ?list|greylisted|try again (?:in|after) \d/i,
    sentence: 'The mail server refuses unknown senders once and accepts their mail a little later (greylisting).',
    advice: NOTHING_TO_DO,
  },
  {
    says: /\bloop|\b5\.4\.6\b|too many hops/i,
    sentence: 'The message was forwarded in a loop at the recipient’s side.',
    advice: 'The recipient’s administrator has to fix their forwarding.',
  },
  {
    says: /\b[45]\.5\.3\b|too many (?:recipients|rcpts?)\b(?!.*\b(?:second|minute|hour|day|rate|limit))/i,
    sentence:
      'The mail server limits the recipients per transaction; the remaining recipients have to be sent in another.',
    advice: NOTHING_TO_DO,
  },
  {
    says: /\b(?:rate\b|too (?:many|much)|throttl|exceeded the (?:rate|limit)|deferred due to user complaints|\[TSS?0\d\]|4\.7\.28|temporarily deferred|unusual rate)/i,
    sentence: 'The mail server limits the rate of mail from this server at the moment.',
    advice: `${RETRIED_AFTER_REPLY} If the problem persists, send less at a time until the server’s address has a better reputation.`,
  },
  {
    // Must come before the blocklists: here the recipient's mail server itself bans the address, not a list.
    says: /banned send(?:ing ip|er)|\b5\.7\.(?:511|60[6-9]|6[1-4]\d)\b/i,
    sentence: 'The address of this server is blocked by the recipient’s mail server.',
    advice: 'Find out what was sent, and ask for delisting at the link in the reply.',
  },
  {
    says: /spamhaus|\brbl\b|dnsbl|block ?list|black ?list|blocklisted|listed (?:by|in|at|on)|barracudacentral|spamcop|sorbs/i,
    sentence: 'The address of this server is on a blocklist that the recipient’s mail server uses.',
    advice: 'Find out what was sent, follow the link in the reply, and ask the list to delist the address.',
  },
  {
    says: /reverse dns|\bPTR\b|rdns|4\.7\.25|5\.7\.25|cannot find your (?:reverse )?hostname|no reverse|client host rejected: cannot find/i,
    sentence: 'The address of this server has no name in reverse DNS, or a name that differs from its EHLO name.',
    advice: 'Ask the provider of the machine to set its reverse DNS (PTR) to the value of instance.host.',
  },
  {
    // Must come before DMARC, SPF and DKIM: such a reply names all of them, with the result of each.
    says: /\b5\.7\.515\b|required authentication level/i,
    sentence:
      'The recipient’s mail server requires SPF, DKIM and DMARC of the sending domain, and not all of them passed.',
    advice: 'View the domain to see what is wrong with its records.',
  },
  {
    says: /dmarc/i,
    sentence:
      'The DMARC policy of the sending domain requires the refusal: neither SPF nor DKIM aligned with the From address.',
    advice: 'View the domain to see what is wrong with its records.',
  },
  {
    says: /\b[45]\.7\.26\b|unauthenticated/i,
    sentence: 'The recipient’s mail server could not authenticate the sender: neither SPF nor DKIM passed.',
    advice: 'View the domain to see what is wrong with its records.',
  },
  {
    only: '4',
    says: /\bsender\b.{0,200}\b(?:unverified|verif(?:y|ication) (?:in progress|callout))/i,
    sentence: 'The recipient’s mail server could not verify yet that the sender’s address exists.',
    advice: `${RETRIED_AFTER_REPLY} If the problem persists, check that the sender’s domain accepts mail for this address.`,
  },
  {
    says: /\b[45]\.1\.[78]\b|\b5\.7\.27\b|sender (?:address )?(?:rejected|verif)/i,
    sentence: 'The recipient’s mail server does not accept the sender’s address, or could not find its domain.',
    advice: 'View the sending domain to see which of its records are missing.',
  },
  {
    says: /\bspf\b|5\.7\.2[34]|4\.7\.2[34]|not (?:authorized|permitted|allowed) to send (?:mail )?(?:for|from)/i,
    sentence: 'The recipient’s mail server found that SPF does not allow this server to send for the domain.',
    advice: 'View the domain to see what is wrong with its SPF record.',
  },
  {
    says: /\bdkim\b|5\.7\.2[0-2]\b/i,
    sentence: 'The recipient’s mail server did not accept the DKIM signature.',
    advice: 'View the domain to see whether the published key is the one in use.',
  },
  {
    says: /(?:\bdns\b|\bresolv(?:e|ing)\b|look(?:ing)? ?up).{0,60}\b(?:sender|sending|mail from)(?:[’']s)? (?:domain|address)|\b(?:sender|sending|mail from)(?:[’']s)? (?:domain|address).{0,60}(?:\bdns\b|\bresolve\b|look ?up)/i,
    sentence: 'The recipient’s mail server could not look up the sending domain in DNS.',
    advice: `Check that the name servers of the sending domain can be reached from the internet. ${RETRIED_AFTER_REPLY}`,
  },
  {
    says: /reputation|poor sender|5\.7\.1 .*(?:ip|address).*(?:low|poor)/i,
    sentence: 'The address of this server or the sending domain has a bad reputation at the recipient’s mail server.',
    advice:
      'Send only to people who asked for your mail, and slowly at first; bounces and complaints make the reputation worse.',
  },
  {
    says: /virus|malware|infected|trojan/i,
    sentence: 'The recipient’s mail server found a virus in the message.',
    advice: 'Check the attachments before you send the message again.',
  },
  {
    says: /attachment|file type|executable|potential security issue/i,
    sentence: 'The recipient’s mail server does not accept one of the attachments.',
    advice: 'Send a link instead of the file.',
  },
  {
    says: /phish|\bspam|unsolicited|junk|content (?:was |is )?(?:reject|refus|filter)|message content/i,
    sentence: 'The recipient’s mail server classified the message as spam.',
    advice: 'Check the text and the links of the message; the recipient can ask their administrator to allow it.',
  },
  {
    says: /quota|mailbox (?:is |was )?(?:temporarily )?full|over ?quota|out of storage|insufficient (?:disk|storage)|\b[45]\.2\.2\b/i,
    sentence: 'The recipient’s mailbox is full.',
    advice: 'Contact the recipient another way; the address itself is valid.',
  },
  {
    says: /message (?:size|is )?(?:too (?:big|large)|exceeds)|size (?:limit )?exceed|too large|\b5\.3\.4\b|\b5\.2\.3\b/i,
    sentence: 'The message is larger than the recipient’s mail server accepts.',
    advice: 'Send a smaller message, for example with a link instead of an attachment.',
  },
  {
    only: '5',
    says: /disabled|inactive|deactivated|suspended|(?:mailbox|account|user|address).{0,40}\bremoved|\b5\.2\.1\b/i,
    sentence: 'The mailbox exists, but is closed or no longer in use.',
    advice: 'Remove the address.',
  },
  {
    only: '5',
    says: /\bmoved\b|\b5\.1\.6\b/i,
    sentence: 'The mailbox has moved, and the old address is no longer valid.',
    advice: 'Ask the recipient for the new address.',
  },
  {
    says: /relay|\b5\.7\.1 .*not (?:permitted|allowed).*relay|we do not relay/i,
    sentence: 'The mail server of the domain does not accept mail for the domain.',
    advice:
      'Check the address for typing mistakes after the @; if there are none, the owner of the domain has to fix its MX record.',
  },
  {
    says: /starttls|\btls\b|encrypt|\b5\.7\.10\b/i,
    sentence: 'The mail server accepts mail over encrypted connections only, and TLS could not be established.',
    advice: 'The transcript shows where the handshake failed.',
  },
  {
    only: '5',
    // 5.1.10 alone is ambiguous: other servers use it for a mailbox.
    says: /^556|\bnull ?mx\b|domain (?:does not|doesn[’']t) accept (?:any )?(?:e-?)?mail/i,
    sentence: 'The recipient’s domain states that it accepts no mail.',
    advice: 'Remove the address; nobody receives mail there.',
  },
  {
    only: '4',
    says: /\b(?:mailbox|account)\b.{0,80}(?:unavailable|busy|locked|in use|disabled|inactive|suspended)|\b4\.2\.\d+\b/i,
    sentence: 'The mailbox accepts no mail for now: it is busy or locked.',
    advice: NOTHING_TO_DO,
  },
  {
    only: '4',
    says: /unverified address|address verification|(?:user|mailbox|recipient|address|account)\b.{0,80}(?:unknown|not (?:found|exist)|does ?n[o'’]t exist)|no such|unknown (?:user|recipient)|\b4\.1\.\d+\b/i,
    sentence: 'The mail server does not know yet whether the mailbox exists.',
    advice: `${RETRIED_AFTER_REPLY} If the problem persists, check the address for typing mistakes.`,
  },
  {
    only: '5',
    says: NO_SUCH_MAILBOX,
    sentence: 'There is no such mailbox.',
    advice: 'Check the address for typing mistakes; if there are none, remove it.',
  },
  {
    only: '4',
    says: BY_RULE,
    sentence:
      'The mail server defers the message: it delays unknown senders (greylisting), or applies a limit or a rule.',
    advice: `${RETRIED_AFTER_REPLY} If the problem persists, the reply of the server may name the rule.`,
  },
  {
    says: BY_RULE,
    sentence: 'A rule of the recipient’s mail server does not allow this message.',
    advice: 'The reply of the server may name the rule; the recipient’s administrator can make an exception.',
  },
  {
    only: '4',
    says: /\b4\.4\.[12]\b|time(?:d )?-?out/i,
    sentence: 'A connection at the mail server was lost, or took too long.',
    advice: NOTHING_TO_DO,
  },
  {
    only: '4',
    says: /\b4\.4\.\d+\b|no route|routing|host not found/i,
    sentence: 'The recipient’s side cannot route the message to the mailbox for now.',
    advice: `${RETRIED_AFTER_REPLY} If the problem persists, the recipient’s administrator has to fix their routing.`,
  },
  {
    says: /\b5\.4\.\d+\b|no route|routing|host not found/i,
    sentence: 'The recipient’s side could not route the message to the mailbox.',
    advice: 'The recipient’s administrator has to fix their routing.',
  },
  {
    says: /\b[45]\.3\.\d+\b|try (?:again )?later|unavailable|local (?:problem|error)|system|overload|busy|maintenance/i,
    sentence: 'The recipient’s mail server has a problem of its own.',
    advice: RETRIED_AFTER_REPLY,
  },
  {
    says: /\b[45]\.6\.\d+\b/i,
    sentence: 'The recipient’s mail server does not support the format of the message.',
    advice: 'Send the message as plain text, or without its unusual parts.',
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
  sentence: 'The message was stored in the playground and did not leave this server.',
  advice: 'The playground shows all stored messages.',
};

const ANSWERED: Explanation = {
  sentence: 'The mailbox simulator of this server replied for the recipient; nothing left this server.',
  advice: null,
};

/** Explains the result of a delivery through a relay; undefined if the explanation is the same as without one. */
function explainRelay({ outcome, reason }: Ended, relay: string): Explanation | undefined {
  if (outcome === 'delivered')
    return {
      sentence: `The relay ${relay} accepted the message and forwards it to the recipient’s mail server.`,
      advice: null,
    };
  switch (reason) {
    case 'relay_misconfigured':
      return {
        sentence: `The relay ${relay} does not accept mail from this server: its login, its certificate or its settings are wrong.`,
        advice: `The operator of this server has to fix it; rasket relays test ${relay} shows the cause. Then the message is sent automatically.`,
      };
    case 'unreachable':
      return {
        sentence: `No connection to the relay ${relay} could be made.`,
        advice: `${RETRIED} If the problem persists, the operator of this server finds the cause with rasket relays test ${relay}.`,
      };
    case 'destination_down':
      return {
        sentence: `No attempt was made, because the relay ${relay} had failed a moment before.`,
        advice: RETRIED,
      };
    default:
      return undefined;
  }
}
