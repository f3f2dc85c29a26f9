import { spoolMessage, type Accept } from '../flow/mail/accept/index.ts';
import { Refusal } from '../platform/refusal/index.ts';
import type { World } from '../platform/world/index.ts';
import { normalizeAddress, parseAddress, type Mailbox } from '../protocol/address/index.ts';
import type { Ctx } from '../resources/access/index.ts';
import { createKeyUse } from '../resources/api-keys/index.ts';
import { ofKindMax } from './connection-limits.ts';
import { protocolOf, type PathCommand, type Session, type SubmissionDoor } from './door.ts';
import { createLoginLimits } from './login-limits.ts';
import { createLogins } from './logins.ts';
import { replyTo } from './refusal-reply.ts';
import { SmtpReply } from './smtp-reply.ts';
import { timedContent, type ContentLimits } from './timed-content.ts';

/** POST /emails names as many. */
const RECIPIENTS_MAX = 50;
/** Up to here a message is read before it is known whether there is room for it. */
const LARGE_BYTES = 1024 * 1024;

/** Applications that speak SMTP: a login with an API key, and the accept stage of POST /emails behind it. */
export function createSubmission(world: World, accept: Accept): SubmissionDoor {
  const { clock, mailLog } = world;
  const { smtp, submission } = world.config;
  const logins = createLogins(world);
  const noteKeyUse = createKeyUse(world);
  const limits = createLoginLimits(clock, {
    connections: ofKindMax(smtp.max_connections),
    connectionsPerKey: submission.max_connections_per_key,
    messagesPerMinutePerKey: submission.messages_per_minute_per_key,
    messagesPerMinutePerTeam: submission.messages_per_minute_per_team,
  });

  function ctxOf(session: Session): Ctx {
    const { user } = session;
    if (!user) throw new SmtpReply(530, '5.7.0', 'Log in first');
    return { store: world, teamId: user.teamId, actor: user.actor, requestId: session.id };
  }

  return {
    async login(session, credentials) {
      const login = await logins.logIn(session, credentials);
      limits.enter(session.id, login);
      noteKeyUse(login.actor.keyId, null);
      return login;
    },

    async mail(session, from) {
      const ctx = ctxOf(session);
      mustKnow(from, ['SIZE', 'BODY', 'SMTPUTF8', 'AUTH']);
      mustFitCharset(session, from.address);
      const { user } = session;
      if (user) {
        await logins.mustStillLive(user);
        limits.take(user);
      }
      if (from.args && Number(from.args.SIZE) > LARGE_BYTES) await inReplies(() => accept.mayBegin(ctx));
    },

    async rcpt(session, to) {
      mustKnow(to, []);
      mustFitCharset(session, to.address);
      const mailbox = readRecipient(to.address);
      const known = session.envelope.rcptTo.map(({ address }) => normalizeAddress(address));
      if (known.length < RECIPIENTS_MAX || known.includes(normalizeAddress(mailbox.address))) return;
      const say = `${RECIPIENTS_MAX} recipients are taken at once; send the message to the others in another transaction`;
      throw new SmtpReply(452, '4.5.3', say);
    },

    async data(session, content) {
      const ctx = ctxOf(session);
      const recipients = session.envelope.rcptTo.map(({ address }) => readRecipient(address));
      const spooled = await spoolMessage(world, timedContent(content, contentLimits(world)));
      try {
        const { id } = await inReplies(() =>
          accept.acceptMessage(ctx, spooled, { recipients, protocol: protocolOf(session) }),
        );
        return `2.6.0 Accepted as ${id}`;
      } catch (error) {
        if (error instanceof SmtpReply) {
          mailLog.submissionRefused({ address: session.remoteAddress, teamId: ctx.teamId, reason: error.message });
        }
        throw error;
      } finally {
        await spooled.discard();
      }
    },

    closed: (session) => limits.leave(session.id),
  };
}

const contentLimits = ({ clock, config: { smtp } }: World): ContentLimits => ({
  clock,
  bytesMax: smtp.message_bytes,
  patienceMs: smtp.content_timeout_seconds * 1000,
  bytesPerSecond: smtp.content_bytes_per_second,
});

async function inReplies<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof Refusal ? replyTo(error) : error;
  }
}

/** RFC 5321 §4.1.1.11. What became of a message is told by webhooks and GET /emails, so that nobody asks for a DSN. */
function mustKnow({ args }: PathCommand, known: readonly string[]): void {
  const unknown = Object.keys(args || {}).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const way = HINTS[unknown] ?? 'leave it out';
  throw new SmtpReply(555, '5.5.4', `The parameter ${unknown.slice(0, 40)} is not known here; ${way}`);
}

const NO_DSN = 'leave it out; webhooks and GET /emails tell what becomes of mail';
const HINTS: Record<string, string> = {
  RET: NO_DSN,
  ENVID: NO_DSN,
  NOTIFY: NO_DSN,
  ORCPT: NO_DSN,
  REQUIRETLS: 'set tls to enforced on the sending domain instead',
};

function mustFitCharset({ envelope }: Session, address: string): void {
  if (address.includes('\ufffd')) throw new SmtpReply(501, '5.1.3', 'The address is not UTF-8');
  const local = address.slice(0, address.lastIndexOf('@'));
  if (envelope.smtpUtf8 || !/[^\0-\x7f]/.test(local)) return;
  throw new SmtpReply(553, '5.6.7', 'An address beyond ASCII needs the parameter SMTPUTF8 at MAIL');
}

function readRecipient(address: string): Mailbox {
  const parsed = parseAddress(address);
  if (parsed.ok) return parsed.mailbox;
  throw new SmtpReply(553, '5.1.3', parsed.fault);
}
