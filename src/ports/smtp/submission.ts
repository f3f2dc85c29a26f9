import { spoolMessage, type Accept, type Spooled } from '../../mail/accept/index.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { World } from '../../platform/world.ts';
import { normalizeAddress, parseAddress, type Mailbox } from '../../protocol/address/index.ts';
import type { Asked, AskedOfRecipient, Notify } from '../../protocol/dsn.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { createKeyUse } from '../../tenancy/api-keys/index.ts';
import {
  mustFitCharset,
  readProtocol,
  SmtpReply,
  type PathCommand,
  type Session,
  type SubmissionHandler,
  type Content,
} from './handler.ts';
import { ofKindMax } from './connection-limits.ts';
import { buildContentLimits, watchRate, type ContentLimits } from './intake.ts';
import { createLoginLimits, createLogins, replyTo } from './logins.ts';
import { tooLarge } from './connection.ts';

/**
 * RFC 5321 §4.5.3.1.8 asks for 100 at least. Most client libraries do not send a message again to the recipients that were
 * refused as too many, so the limit is one that they do not reach.
 */
const RECIPIENTS_MAX = 1000;
/** The number of ids that fit into the line of a reply. */
const SHOWN_IDS_MAX = 10;
/** RFC 3461 §4.2 and §4.4. */
const ORCPT_MAX = 500;
const ENVID_MAX = 100;
/** A message announced as larger is refused at MAIL if its team may not send; smaller ones are read first. */
const LARGE_BYTES = 1024 * 1024;

/** The listener for applications: a login with an API key, followed by the accept stage of POST /emails. */
export function createSubmission(world: World, accept: Accept): SubmissionHandler {
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

  return {
    async login(session, credentials) {
      const login = await logins.logIn(session, credentials);
      limits.enter(session.id, login);
      noteKeyUse(login.actor.keyId, null);
      return login;
    },

    async mail(session, from) {
      const ctx = createCtx(world, session);
      mustKnow(from, ['SIZE', 'BODY', 'SMTPUTF8', 'AUTH', 'RET', 'ENVID', 'REQUIRETLS']);
      mustFit(from, 'ENVID', ENVID_MAX);
      mustFitCharset(session, from.address);
      const { user } = session;
      if (user) {
        await logins.mustStillLive(user);
        limits.take(user);
      }
      if (from.args && Number(from.args.SIZE) > LARGE_BYTES) await inReplies(() => accept.mayBegin(ctx));
    },

    async rcpt(session, to) {
      mustKnow(to, ['NOTIFY', 'ORCPT']);
      mustFit(to, 'ORCPT', ORCPT_MAX);
      mustFitCharset(session, to.address);
      const mailbox = readRecipient(to.address);
      const known = session.envelope.rcptTo;
      if (known.length < RECIPIENTS_MAX) return;
      const normalized = normalizeAddress(mailbox.address);
      if (known.some(({ address }) => normalizeAddress(address) === normalized)) return;
      const say = `${RECIPIENTS_MAX} recipients are accepted per message; send it to the others in another transaction`;
      throw new SmtpReply(452, '4.5.3', say);
    },

    async data(session, content) {
      const ctx = createCtx(world, session);
      const recipients = session.envelope.rcptTo.map(({ address }) => readRecipient(address));
      let spooled: Spooled | undefined;
      try {
        const message = (spooled = await spoolMessage(world, timedContent(content, buildContentLimits(world))));
        if (session.user) await logins.mustStillLive(session.user);
        const { id, others = [] } = await inReplies(() =>
          accept.acceptMessage(ctx, message, {
            recipients,
            protocol: readProtocol(session),
            asked: readSessionAsked(session),
          }),
        );
        return `2.6.0 Accepted as ${listIds([id, ...others])}`;
      } catch (error) {
        if (error instanceof SmtpReply) {
          mailLog.submissionRefused({ address: session.remoteAddress, teamId: ctx.teamId, reason: error.message });
        }
        throw error;
      } finally {
        await spooled?.discard();
      }
    },

    closed: (session) => limits.leave(session.id),
  };
}

function listIds(ids: readonly string[]): string {
  const shown = ids.slice(0, SHOWN_IDS_MAX).join(', ');
  return ids.length > SHOWN_IDS_MAX ? `${shown} and ${ids.length - SHOWN_IDS_MAX} more` : shown;
}

function createCtx(world: World, { id, user }: Session): Ctx {
  if (!user) throw new SmtpReply(530, '5.7.0', 'Log in first');
  return { store: world, teamId: user.teamId, actor: user.actor, requestId: id };
}

async function inReplies<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof Refusal ? replyTo(error) : error;
  }
}

/** RFC 5321 §4.1.1.11. */
function mustKnow({ args }: PathCommand, known: readonly string[]): void {
  const unknown = Object.keys(args || {}).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new SmtpReply(555, '5.5.4', `The parameter ${unknown.slice(0, 40)} is not supported; leave it out`);
}

/** Checks a value that is passed on in commands and notices; the library has decoded it. */
function mustFit({ args }: PathCommand, name: string, charsMax: number): void {
  const value = args ? args[name] : undefined;
  if (typeof value !== 'string') return;
  if (value.length > charsMax) throw new SmtpReply(501, '5.5.4', `${name} has more than ${charsMax} characters`);
  if (/[^ -~]/.test(value)) throw new SmtpReply(501, '5.5.4', `${name} contains characters other than printable ASCII`);
}

/** RFC 3461 §4 and RFC 8689 §2; undefined when the client asked for nothing. */
function readSessionAsked({ envelope }: Session): Asked | undefined {
  const { mailFrom, rcptTo } = envelope;
  const { RET: ret, ENVID: envelopeId, REQUIRETLS: requiresTls } = (mailFrom && mailFrom.args) || {};
  const recipients = rcptTo.flatMap(({ address, args }): [string, AskedOfRecipient][] => {
    const { NOTIFY: notify, ORCPT: original } = args || {};
    if (typeof notify !== 'string' && typeof original !== 'string') return [];
    const asked = {
      ...(typeof notify === 'string' ? { notify: parseNotify(notify) } : {}),
      ...(typeof original === 'string' ? { original } : {}),
    };
    return [[normalizeAddress(readRecipient(address).address), asked]];
  });
  if (recipients.length === 0 && ret === undefined && envelopeId === undefined && !requiresTls) return undefined;
  return {
    sender: mailFrom ? mailFrom.address : '',
    ...(typeof ret === 'string' ? { ret: ret.toUpperCase() as 'FULL' | 'HDRS' } : {}),
    ...(typeof envelopeId === 'string' ? { envelopeId } : {}),
    ...(requiresTls ? { requiresTls: true } : {}),
    recipients: Object.fromEntries(recipients),
  };
}

const NOTIFY = ['SUCCESS', 'FAILURE', 'DELAY'] as const;
const parseNotify = (list: string): Notify[] => NOTIFY.filter((one) => list.toUpperCase().split(',').includes(one));

function readRecipient(address: string): Mailbox {
  const parsed = parseAddress(address);
  if (parsed.ok) return parsed.mailbox;
  throw new SmtpReply(553, '5.1.3', parsed.fault);
}

/**
 * Passes the content on, as long as it arrives fast enough. Content that is too large is read to its end, because
 * clients do not listen before, but only up to twice the limit; then the connection is ended.
 */
export async function* timedContent(content: Content, { bytesMax, ...pace }: ContentLimits): AsyncGenerator<Buffer> {
  const slow = new SmtpReply(
    421,
    '4.4.2',
    `The content arrives too slowly; send at least ${pace.bytesPerSecond} bytes a second`,
  );
  const rate = watchRate(pace, () => content.destroy(slow));
  try {
    for await (const piece of content as AsyncIterable<Buffer>) {
      rate.came(piece.length);
      if (content.byteLength > bytesMax * 2) throw new SmtpReply(421, '4.3.4', 'The message is far too large');
      if (!content.sizeExceeded) yield piece;
    }
  } catch (error) {
    throw hasHungUp(error)
      ? new SmtpReply(421, '4.4.2', 'The client disconnected before the end of its message')
      : error;
  } finally {
    rate.stop();
  }
  if (content.sizeExceeded) throw new SmtpReply(552, '5.3.4', tooLarge({ messageBytesMax: bytesMax }).slice(6));
}

/** The error with which the library ends content when the client hangs up. */
const hasHungUp = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ECONNECTION';
