import type { MessageReading } from '../read-message/index.ts';
import { addressIn } from './fields.ts';
import type { MailReport, ReportedRecipient } from './report.ts';

type Read = Extract<MessageReading, { isRead: true }>;

const TEXT_CHARS_MAX = 20_000;
const FROM_A_SERVER = /^(?:mailer-daemon|mailer_daemon|maildaemon|mail-daemon|postmaster|mdaemon)$/i;
const SUBJECTS =
  /undeliver|delivery (?:status notification|failure|failed|has failed|problem|error|report|notification)|deliver(?:y|ed) (?:failure|failed)|failure notice|returned (?:mail|to sender)|mail (?:delivery )?(?:failed|failure|system error|could not)|message (?:could not be|not|undeliver)|non[- ]?remis|unzustellbar|nicht zugestellt|no se (?:pudo|puede) entregar|rejected:|delayed mail|user unknown|warning: (?:could not send|message)|delivery (?:is )?delayed/i;
const STILL_TRYING =
  /(?:will (?:retry|try|attempt)|will (?:continue|keep|be) (?:to )?(?:be )?(?:try|retr|attempt)|still (?:being )?(?:retri|try|attempt|in (?:the|our) queue)|no action is required on your part|this is a warning message only|do not need to resend|delivery (?:to the following recipients? )?(?:has been|is|was) delayed|has not (?:yet )?been delivered .{0,80}yet)/is;

/** MDaemon calls that a warning too. Who only threatens with it gives no code yet. */
const GIVEN_UP = /(?<!not a |before reporting a )permanent(?:ly)? (?:fatal )?(?:delivery )?(?:error|failure|failed)/i;
const REFUSED = /(?:^|[\s#(])5\.\d{1,3}\.\d{1,3}(?=$|[\s):,;-])|\b5\d\d[ -]/m;

/** The notice of a server that does not write RFC 3464: qmail, Exim and others before it or beside it. */
export function readNotice(reading: Read, mailFrom: string): MailReport {
  const { headers, subject } = reading;
  const failed = (headers['x-failed-recipients'] ?? '')
    .split(/[,\n]/)
    .map(addressIn)
    .filter((one) => one !== undefined);
  const isServer =
    mailFrom === '' || FROM_A_SERVER.test(localPart(mailFrom)) || FROM_A_SERVER.test(localPart(reading.from));
  if (!isServer) return { kind: 'none', because: 'it comes from nobody who delivers mail' };
  if (failed.length === 0 && !SUBJECTS.test(subject)) return { kind: 'none', because: 'it is no notice' };
  const text = withoutOriginal((reading.text ?? textOf(reading.html ?? '')).slice(0, TEXT_CHARS_MAX));
  const isWarning = /delayed|^warning:/i.test(subject) && !(GIVEN_UP.test(text) && REFUSED.test(text));
  const action = STILL_TRYING.test(text) || isWarning ? 'delayed' : 'failed';
  const recipients = recipientsIn(text, failed).map(({ address, about }): ReportedRecipient => {
    return { action, addresses: address === undefined ? [] : [address], ...reasonIn(about) };
  });
  // Where no reason is given, there is nothing to go by.
  const told = recipients.filter(({ status, diagnostic }) => status !== undefined || diagnostic !== '');
  if (told.length === 0 && action === 'failed') return { kind: 'none', because: 'it gives no reason' };
  return { kind: 'delivery', recipients: action === 'delayed' ? recipients : told };
}

/** qmail and Exim write each address at the start of a line, and what is the matter behind it. */
function recipientsIn(text: string, failed: readonly string[]): { address: string | undefined; about: string }[] {
  const named = [...text.matchAll(/^[ \t]*<?([^\s<>@:"']{1,64}@[^\s<>@:"',]{1,253})>?:?[ \t]*$/gm)].slice(0, 100);
  if (named.length === 0) {
    return failed.length > 0
      ? failed.map((address) => ({ address, about: text }))
      : [{ address: inText(text), about: text }];
  }
  return named.map((match, i) => ({
    address: match[1],
    about: text.slice(match.index + match[0].length, named[i + 1]?.index),
  }));
}

const inText = (text: string): string | undefined => /<([^\s<>@]{1,64}@[^\s<>@]{1,253})>/.exec(text)?.[1];

function reasonIn(about: string): { status: string | undefined; diagnostic: string } {
  const status = /(?:^|[\s#(])([45]\.[0-9]{1,2}\.[0-9]{1,3})(?=$|[\s):,;-])/m.exec(about)?.[1];
  const lines = about.split('\n').map((line) => line.trim());
  const said =
    lines.find((line) => /\b[45]\d\d[ -]|#?[45]\.\d{1,2}\.\d{1,3}/.test(line)) ??
    lines.find((line) => REASONS.test(line));
  return { status, diagnostic: (said ?? '').slice(0, 1000) };
}

const REASONS =
  /unknown|no such|not exist|doesn't exist|does not exist|not found|invalid|disabled|inactive|full|quota|too (?:large|big)|rejected|refused|unrouteable|unroutable|couldn't find any host|timed? ?out|retry time(?:out)? exceeded|unable to/i;

/** What the server sends back of the message is the sender's own words, and may hold anything. */
function withoutOriginal(text: string): string {
  const end = text.search(
    /^[ \t]{0,40}(?:-{2,}|={2,}|_{2,})?[ \t]{0,40}(?:(?:begin|below this line is) (?:a |the )?(?:copy|original)|(?:this is a copy|original|returned|undelivered) (?:of )?(?:the |your )?(?:message|mail|headers)|unsent message|message headers? follow)/im,
  );
  return end < 0 ? text : text.slice(0, end);
}

const localPart = (sender: string): string => (addressIn(sender) ?? '').split('@', 1)[0] ?? '';

const textOf = (html: string): string =>
  html
    .slice(0, TEXT_CHARS_MAX)
    .replaceAll(/<(?:br|\/p|\/div|\/tr)[^<>]{0,100}>/gi, '\n')
    .replaceAll(/<[^<>]{0,1000}>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>');
