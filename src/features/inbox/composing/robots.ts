import { isoTime } from '../../../platform/clock/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { firstIdAt } from '../../../platform/ids/index.ts';
import { refuse } from '../../../platform/refusal/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { normalizeAddress, parseMailbox, splitAddress } from '../../../protocol/address/index.ts';
import { headersOfAutomaticAnswer, machineSigns, type MachineSign } from '../../../protocol/automatic-mail/index.ts';
import { withoutReplyToken } from '../../../protocol/reply-message/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import {
  automaticAnswersTo,
  isAnsweredByMachine,
  isInboxHere,
  type InboxRow,
  type ThreadRow,
} from '../inbox-rows/index.ts';
import { answerLoopIn } from '../inbox-threads/index.ts';
import { inboxKeysOf } from '../inboxes/index.ts';
import { senderProofOf, whyNoAutomaticAnswer, type AnswerLoop, type NoAutomaticAnswer } from '../threads/index.ts';
import type { ComposedMail } from './composed-mail.ts';
import type { Original } from './original.ts';
import type { InboxSender } from './sender.ts';

/** To one address, by all inboxes of a team, within 24 hours. */
const PER_SENDER_AND_DAY = 4;
const DAY_MS = 86_400_000;

/** RFC 3834 §5: a program that answers says so in this header. */
export const isAutomatic = (headers: Record<string, string> | null): boolean =>
  Object.entries(headers ?? {}).some(
    ([name, value]) => name.toLowerCase() === 'auto-submitted' && !/^no(?:$|[\s;(])/i.test(value.trim()),
  );

interface Answered {
  inbox: InboxRow;
  thread: ThreadRow;
  original: Original;
  sender: InboxSender;
}

/** An answer that a machine wrote is sent only where it makes no loop; that is decided where two of them cannot both be the last. */
export function answeredByMachine(ctx: Ctx<World>, mail: ComposedMail, answered: Answered): ComposedMail {
  const named = new Set(mail.draft.headers.map(([name]) => name.toLowerCase()));
  const marks = headersOfAutomaticAnswer(mail.draft.from.address).filter(([name]) => !named.has(name.toLowerCase()));
  return {
    ...mail,
    draft: { ...mail.draft, headers: [...mail.draft.headers, ...marks] },
    async beside(tx, email) {
      const to = mail.draft.recipients.map(({ address }) => normalizeAddress(address));
      for (const address of to) await mustMakeNoLoop(ctx, tx, { ...answered, to: address });
      return mail.beside(tx, email);
    },
  };
}

/**
 * What is not marked as a program's may still be one's. A signed-in person is never stopped: people read what they answer.
 * Counted where the counters of the team are locked, so that two at once cannot both be the last.
 */
export function unlessInLoop(ctx: Ctx<World>, mail: ComposedMail, { id }: Pick<ThreadRow, 'id'>): ComposedMail {
  if (ctx.actor.kind === 'session') return mail;
  return {
    ...mail,
    async beside(tx, email) {
      const loop = await answerLoopIn(tx, id, ctx.store.clock.now());
      if (loop) throw inLoop(loop);
      return mail.beside(tx, email);
    },
  };
}

const inLoop = ({ address, until, rounds, within }: AnswerLoop) =>
  refuse('validation_error', {
    status: 422,
    say: `${address} was answered ${rounds} times within ${within} in this thread, each time after new mail: two programs may be answering each other. A program can send here again after ${isoTime(until)}; a person who is signed in can at any time.`,
  });

async function mustMakeNoLoop(
  ctx: Ctx<World>,
  tx: Executor,
  { thread, original, sender, to }: Answered & { to: string },
): Promise<void> {
  const { teamId, store } = ctx;
  const sinceId = firstIdAt(store.clock.now() - DAY_MS);
  const answers = await automaticAnswersTo(tx, teamId, { address: to, sinceId });
  const isOurs = original.direction === 'outbound';
  const isHere = await isInboxHere(tx, splitAddress(to)?.domain ?? '', inboxKeysOf(to));
  const why = whyNoAutomaticAnswer({
    mail: { proof: senderProofOf(original.authentication), ownAddresses: sender.own },
    to,
    named: isOurs ? [...sender.own] : [...original.to, ...original.cc].map(bare),
    signs: isOurs ? [] : signsOf(original, sender),
    isSpam: thread.folder === 'spam',
    isInboxHere: () => isHere,
    counts: {
      toSenderOfDay: answers.length,
      toMessage: answers.filter((headers) => original.messageId !== '' && headers.includes(original.messageId)).length,
      inThread: (await isAnsweredByMachine(tx, thread.id)) ? 1 : 0,
    },
    limits: { perSenderAndDay: PER_SENDER_AND_DAY },
  });
  if (why === undefined) return;
  throw refuse('validation_error', { status: 422, say: `No automatic answer goes to ${to}: ${REASONS[why]}` });
}

function signsOf(original: Original, { own }: InboxSender): MachineSign[] {
  const { from, to, cc, replyTo, subject, messageId, headers, mailFrom = '' } = original;
  const read = { isRead: true as const, headers: { ...headers }, html: null, text: null, parts: [] };
  const reading = { from, to, cc, bcc: [], replyTo, subject, messageId, ...read };
  return machineSigns(reading, { mailFrom, ownAddresses: own });
}

function bare(written: string): string {
  const parsed = parseMailbox(written, { allowSingleLabel: true });
  return parsed.ok ? normalizeAddress(withoutReplyToken(parsed.mailbox.address)) : '';
}

const REASONS: Record<NoAutomaticAnswer, string> = {
  'auto-submitted': 'the email says that a program wrote it.',
  'answer-header': 'the email is an automatic answer itself.',
  'null-sender': 'the email has no envelope sender, as notices have none.',
  subject: 'the subject of the email is that of an automatic answer.',
  bulk: 'the email was sent to many.',
  list: 'the email came by a mailing list.',
  suppressed: 'the email asks for no automatic answers.',
  'no-reply': 'nobody reads what is sent to its sender.',
  loop: 'the email has been answered from this inbox before.',
  'no-sender': 'the email has no sender.',
  'own-inbox': 'it is an inbox itself.',
  spam: 'the thread is spam.',
  'forged-sender': 'the sender of the email is forged.',
  'not-addressed': 'the email does not name the inbox as a recipient.',
  answered: 'this email was answered automatically before.',
  'answered-thread': 'the thread was answered automatically, and nobody has written in it since.',
  limit: `it had ${PER_SENDER_AND_DAY} of them within 24 hours.`,
};
