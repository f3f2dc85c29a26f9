export type BounceType = 'Permanent' | 'Transient' | 'Undetermined';

export type BounceSubType =
  | 'General'
  | 'NoEmail'
  | 'MailboxFull'
  | 'MessageTooLarge'
  | 'ContentRejected'
  | 'AttachmentRejected'
  | 'Undetermined';

/** The class of a rule's reasons, as the table in docs/receiving.md names it. */
export type BounceReason =
  | 'no such mailbox'
  | 'mailbox moved'
  | 'mailbox closed'
  | 'no such domain'
  | 'domain takes no mail'
  | 'refused without a reason'
  | 'mailbox full'
  | 'mailbox closed for now'
  | 'message too large'
  | 'attachment refused'
  | 'content refused'
  | 'blocklist or reputation'
  | 'policy'
  | 'too much at once'
  | 'sender refused'
  | 'sender not authenticated'
  | 'relaying denied'
  | 'network, or given up'
  | 'system or routing';

/** All conditions that a rule names must hold. */
export interface BounceRule {
  reason: BounceReason;
  type: BounceType;
  subType: BounceSubType;
  enhanced?: RegExp;
  codes?: readonly number[];
  text?: RegExp;
  why: string;
}

/**
 * Order is contract: the first rule that holds decides. `Permanent` is kept for replies that condemn the address,
 * because it suppresses the recipient; a message that was refused for what it is leaves the address alone.
 */
export const bounceRules: readonly BounceRule[] = [
  {
    reason: 'sender refused',
    enhanced: /^\d\.(?:1\.[78]|7\.27)$/,
    type: 'Transient',
    subType: 'General',
    why: 'RFC 3463 §3.2, RFC 7505: the fault is in the address of the sender',
  },
  {
    reason: 'sender refused',
    text: /\b(?:sender|mail from|return[- ]path)(?: (?:<address>|e-?mail|address|domain|host|is|was|has been))*[: ]*(?:rejected|refused|denied|blocked|invalid|unknown|does ?n[o']t|not (?:found|accepted|allowed|exist|valid)|verif)|domain of sender|unrout(?:e)?able sender|valid from\b|sender verif|\b(?:helo|ehlo)\b/i,
    type: 'Transient',
    subType: 'General',
    why: 'some say so under 5.1.1 or 5.1.0, as if the recipient were meant',
  },
  {
    reason: 'sender not authenticated',
    text: /\b(?:spf|dkim|dmarc)\b|unauthenticated|authentication (?:is )?(?:required|failed)|must authenticate|turn on smtp auth|reverse dns|\brdns\b|\bptr\b|no reverse|cannot (?:find|resolve) your|client host rejected: cannot/i,
    type: 'Transient',
    subType: 'General',
    why: 'cured at the sender, under whatever code it is said',
  },
  {
    reason: 'blocklist or reputation',
    text: /black ?list|block(?:ed)? ?list|\brbl\b|dnsbl|spamhaus|spamcop|barracuda|sorbs|reputation|\bbanned\b|blocked (?:using|due|ip)|\bip\b.{0,40}(?:blocked|listed|rejected|denied)|(?<!not )\blisted (?:at|by|on|in)\b|messages from .{0,40}weren'?t sent/i,
    type: 'Transient',
    subType: 'ContentRejected',
    why: 'a verdict over the sending host; said under 5.1.1 and 5.1.3 as well',
  },
  {
    reason: 'too much at once',
    text: /too many (?:messages|connections|e?-?mails?|recipients|errors|requests|sessions)|(?:rate|frequency) (?:is )?(?:limit|exceed|control)|receiving mail at a rate|throttl|sending limit|too (?:fast|quickly)|(?:this|per) (?:hour|minute|second)\b|try again later/i,
    type: 'Transient',
    subType: 'General',
    why: 'passes with time, whatever the code',
  },
  {
    reason: 'mailbox full',
    text: /quota|(?:mailbox|mail ?folder|mail ?box|inbox) (?:is |was |has )?(?:temporarily )?(?:too )?full|mailbox exceeds|mailbox (?:size )?limit|out of storage|storage (?:space|limit)|insufficient (?:disk|storage)|not enough (?:disk|storage)/i,
    type: 'Transient',
    subType: 'MailboxFull',
    why: 'many servers report a full mailbox under a general code, and some under 5.1.1',
  },
  {
    reason: 'mailbox closed for now',
    text: /temporar(?:y|ily) (?:disabled|suspended|locked|inactive|unavailable|closed|deactivated|blocked)/i,
    type: 'Transient',
    subType: 'General',
    why: 'it may open again',
  },
  {
    reason: 'no such domain',
    enhanced: /^\d\.1\.2$/,
    type: 'Permanent',
    subType: 'NoEmail',
    why: 'RFC 3463 §3.2: bad destination system',
  },
  {
    reason: 'mailbox moved',
    enhanced: /^\d\.1\.6$/,
    type: 'Permanent',
    subType: 'NoEmail',
    why: 'RFC 3463 §3.2: moved without a forwarding address',
  },
  {
    reason: 'domain takes no mail',
    text: /\bnull ?mx\b|indicated no smtp service|(?:domain|host|server) (?:does ?n[o'’]t|do not) accept (?:any )?(?:e-?)?mail/i,
    type: 'Permanent',
    subType: 'NoEmail',
    why: 'RFC 7504, RFC 7505: the domain says so',
  },
  {
    reason: 'no such mailbox',
    enhanced: /^\d\.1\.(?:1|10|3)$/,
    type: 'Permanent',
    subType: 'NoEmail',
    why: 'RFC 3463 §3.2, RFC 7505: the mailbox does not exist, or its address is malformed',
  },
  {
    reason: 'mailbox full',
    enhanced: /^\d\.2\.2$/,
    type: 'Transient',
    subType: 'MailboxFull',
    why: 'RFC 3463 §3.3: a full mailbox can be emptied',
  },
  {
    reason: 'message too large',
    enhanced: /^\d\.(?:3\.4|2\.3)$/,
    type: 'Transient',
    subType: 'MessageTooLarge',
    why: 'RFC 3463 §3.3, §3.4: too big for the system or for the mailbox; a smaller message passes',
  },
  {
    reason: 'attachment refused',
    text: /attachment|file type|executable|potential security issue|blocked because its content/i,
    type: 'Transient',
    subType: 'AttachmentRejected',
    why: 'the filters name the file, not the recipient',
  },
  {
    reason: 'message too large',
    text: /message (?:size|is )?(?:too (?:big|large)|exceeds)|size (?:limit )?exceed|exceed(?:s|ed)? (?:the )?(?:maximum|fixed|size)|too large|message size limit|mail size/i,
    type: 'Transient',
    subType: 'MessageTooLarge',
    why: '552 stands for a full mailbox and for a large message; only the text tells',
  },
  {
    reason: 'content refused',
    text: /\bspam|\bspamm|junk|virus|malware|phish|unsolicited|content (?:was |is )?(?:reject|refus|filter)/i,
    type: 'Transient',
    subType: 'ContentRejected',
    why: 'a verdict over the content; said after RCPT as often as after DATA, and under any code',
  },
  {
    reason: 'mailbox closed',
    text: /(?:user|mailbox|recipient|address|account)(?: \S{1,80})?(?: is| was| has been| have been)? ?(?:disabled|inactive|deactivated|suspended|discontinued|frozen|locked|closed|blocked|expired)|disabled (?:recipient|user|account|mailbox)|inactive (?:recipient|user|account)/i,
    type: 'Permanent',
    subType: 'General',
    why: 'RFC 3463 §3.3 has 5.2.1 for it; said under 5.7.13, 5.5.0 and no enhanced code as well',
  },
  {
    reason: 'no such mailbox',
    text: /(?:user|mailbox|recipients?|address|account|alias|addressee|userid)(?: name)?(?: \S{1,80})?(?: is| was| has been)? ?(?:unknown|not (?:found|exist|known|recogni[sz]ed|listed)|does ?n[o']t (?:exist|have)|doesn't have|invalid|unavailable or (?:does )?not exist|no longer)|(?:no such|unknown|invalid|illegal|nonexistent|non-existent|no valid) (?:user|mailbox|recipient|address|account|addressee|person|local|final delivery userid)|does ?n[o']t exist(?! in dns)|no (?:mailbox|account) (?:here )?by that name|not a (?:known|valid) (?:user|mailbox|recipient)|not listed in (?:the )?(?:domino directory|public name)|user (?:doesn't|does not) have|unrouteable address|\(000C05A6\) Unknown|(?:adressat|benutzer|empf(?:ä|ae)nger) (?:\S{1,80} )?(?:unbekannt|existiert nicht|nicht gefunden)|(?:utilisateur|destinataire|adresse) (?:\S{1,80} )?(?:inconnue?|n'existe pas)|usuario (?:\S{1,80} )?(?:desconocido|no existe)|(?:utente|destinatario) (?:\S{1,80} )?(?:sconosciuto|inesistente)/i,
    type: 'Permanent',
    subType: 'NoEmail',
    why: 'large providers and older servers say so under 5.7.1, 5.2.1, 5.5.0, 5.0.0 or no enhanced code at all',
  },
  {
    reason: 'no such mailbox',
    enhanced: /^\d\.4\.1$/,
    text: /recipient address rejected: access denied/i,
    type: 'Permanent',
    subType: 'NoEmail',
    why: 'Exchange Online says so at its edge of an address that its directory does not have',
  },
  {
    reason: 'no such domain',
    text: /(?:host|domain)(?: or domain)?(?: name)?(?: \S{1,80})?(?: is| was)? ?(?:unknown|not found(?!,? ?try again)|does ?n[o']t exist)|(?:unknown|no such|invalid|illegal|nonexistent|non-existent) (?:host|domain)(?! name\b(?! found))|could ?n[o']t (?:be )?(?:find|found)(?: \S{1,40}){0,3} (?:any host|mail exchanger)|name or service not known|nxdomain|domain is not reachable|non-existent hosts?/i,
    type: 'Permanent',
    subType: 'NoEmail',
    why: 'said under 5.4.4, 5.4.0 and 5.0.0, which are the statuses of routing; try again is an answer of DNS that does not last',
  },
  {
    reason: 'relaying denied',
    text: /\brelay(?:ing|ed)?\b.{0,60}(?:denied|\bnot\b|prohibit|reject|forbid|refus)|\b(?:not|unable to|cannot|no|insecure mail|open)\b.{0,40}\brelay/i,
    type: 'Transient',
    subType: 'ContentRejected',
    why: 'the server that was asked does not serve the domain, which its owner or a DNS record can change',
  },
  {
    reason: 'mailbox closed',
    enhanced: /^\d\.2\.1$/,
    type: 'Permanent',
    subType: 'General',
    why: 'RFC 3463 §3.3: the mailbox exists but is disabled',
  },
  {
    reason: 'content refused',
    enhanced: /^\d\.6\.\d+$/,
    type: 'Transient',
    subType: 'ContentRejected',
    why: 'RFC 3463 §3.7: media or conversion; the message is at fault',
  },
  {
    reason: 'policy',
    enhanced: /^\d\.7\.(?:[0-3]|1[0-9])$/,
    type: 'Transient',
    subType: 'ContentRejected',
    why: 'RFC 3463 §3.8: policy against this message or sender, not proof that the address is bad',
  },
  {
    reason: 'sender not authenticated',
    enhanced: /^\d\.7\.\d+$/,
    type: 'Transient',
    subType: 'General',
    why: 'RFC 7372 and others: SPF, DKIM, DMARC, reverse DNS, TLS; cured at the sender',
  },
  {
    reason: 'policy',
    text: /polic(?:y|ies)|violation|prohibit|\b(?:message|mail|e-?mail|delivery|connection|request|transaction)(?: \S{1,30}){0,2} (?:rejected|refused|denied|blocked|filtered|not (?:accepted|allowed|permitted))|not (?:allowed|authori[sz]ed|permitted)|(?:denied|blocked|refused|rejected) by|access denied|cannot send|only accepts?|^[\d .#]*(?:<address>[\W]*)?(?:rejected|refused|denied|blocked)\W*$/i,
    type: 'Transient',
    subType: 'ContentRejected',
    why: 'a refusal that names a rule or the message, and not the mailbox, is none of the address',
  },
  {
    reason: 'network, or given up',
    text: /retry time(?:out)? exceeded|for a long time|(?:queue|message) (?:too long|expired)|in the queue too long|delivery (?:time )?expired|timed? ?out|connection (?:was )?(?:refused|reset|lost|dropped|closed)|not respond|could ?n[o'’]t (?:be )?connect|unable to connect|establish an smtp connection|network (?:is )?unreachable|no route to host/i,
    type: 'Transient',
    subType: 'General',
    why: 'servers that were not reached in time say nothing about the mailbox',
  },
  {
    reason: 'refused without a reason',
    text: /mailbox (?:is )?(?:unavailable|not available)/i,
    type: 'Permanent',
    subType: 'General',
    why: 'RFC 5321 §4.2.3, in words, under 5.5.0 or without a code',
  },
  {
    reason: 'system or routing',
    enhanced: /^\d\.(?:3|4|5)\.\d+$/,
    type: 'Undetermined',
    subType: 'Undetermined',
    why: 'RFC 3463 §3.4-§3.6: system, routing or protocol trouble says nothing about the mailbox',
  },
  {
    reason: 'refused without a reason',
    enhanced: /^\d\.(?:1|2)\.\d+$/,
    type: 'Permanent',
    subType: 'General',
    why: 'RFC 3463 §3.2, §3.3: some other fault of the address or the mailbox',
  },
  {
    reason: 'domain takes no mail',
    codes: [521, 556],
    type: 'Permanent',
    subType: 'NoEmail',
    why: 'RFC 7504: the host takes no mail',
  },
  {
    reason: 'no such mailbox',
    codes: [551, 553],
    type: 'Permanent',
    subType: 'NoEmail',
    why: 'RFC 5321 §4.2.3: the address is wrong, or its user is not local',
  },
  {
    reason: 'mailbox full',
    codes: [552],
    type: 'Transient',
    subType: 'MailboxFull',
    why: 'RFC 5321 §4.2.3: exceeded storage allocation',
  },
  {
    reason: 'message too large',
    codes: [523],
    type: 'Transient',
    subType: 'MessageTooLarge',
    why: 'used by some servers for a size limit',
  },
  {
    reason: 'refused without a reason',
    codes: [550],
    type: 'Permanent',
    subType: 'General',
    why: 'RFC 5321 §4.2.3: mailbox unavailable, without a reason',
  },
];
