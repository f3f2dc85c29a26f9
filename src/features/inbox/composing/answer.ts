import type { BodyOf, SentEmail } from '../../../contract/index.ts';
import { NoSuchBlob } from '../../../platform/blobs/index.ts';
import type { World } from '../../../platform/world.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { readAttachments } from '../../../mail/emails/index.ts';
import { inboxNamed } from '../inboxes.ts';
import type { InboxRow } from '../store/rows.ts';
import type { Accept, Idempotency } from '../../../mail/accept/index.ts';
import { composeAnswer, composeForward, type ComposedMail, type WrittenMail } from './compose.ts';
import { fillTemplate } from './fill-template.ts';
import { mustFindOriginal, writtenFiles } from './original.ts';

type Reply = BodyOf<'replyToInboxEmail'>;
type Forward = BodyOf<'forwardInboxEmail'>;

interface Call<Body> {
  /** The inbox, by its id or its address. */
  named: string;
  threadId: string;
  emailId: string;
  body: Body;
  idempotency?: Idempotency | undefined;
}

export const replyToEmail = (
  ctx: Ctx<World>,
  accept: Pick<Accept, 'acceptWithRows'>,
  call: Call<Reply>,
): Promise<SentEmail> =>
  unlessGone(ctx, call, () =>
    accept.acceptWithRows(
      ctx,
      async () => {
        const { inbox, ...found } = await find(ctx, call);
        const body = await filledReply(ctx, inbox, call);
        const written = await writtenIn(ctx, body, { to: undefined, before: [] });
        return composeAnswer(ctx, inbox, { ...found, written, isToAll: call.body.reply_all ?? false });
      },
      buildOptions(call),
    ),
  );

export const forwardEmail = (
  ctx: Ctx<World>,
  accept: Pick<Accept, 'acceptWithRows'>,
  call: Call<Forward>,
): Promise<SentEmail> =>
  unlessGone(ctx, call, () =>
    accept.acceptWithRows(
      ctx,
      async () => {
        const { inbox, ...found } = await find(ctx, call);
        const before = found.original.files;
        const written = await writtenIn(ctx, call.body, { to: toList(call.body.to), before });
        return composeForward(ctx, inbox, { ...found, written });
      },
      buildOptions(call),
    ),
  );

/** Composes a reply as it would be sent now, without its attachments. */
export async function previewReply(ctx: Ctx<World>, call: Call<Reply>): Promise<ComposedMail> {
  const { inbox, ...found } = await find(ctx, call);
  const written = { ...wordsIn(await filledReply(ctx, inbox, call), undefined), files: [] };
  return composeAnswer(ctx, inbox, { ...found, written, isToAll: call.body.reply_all ?? false });
}

/** Composes a forward as it would be sent now, only with the files of the forwarded email. */
export async function previewForward(ctx: Ctx<World>, call: Call<Forward>): Promise<ComposedMail> {
  const { inbox, ...found } = await find(ctx, call);
  const written = { ...wordsIn(call.body, toList(call.body.to)), files: [] };
  return composeForward(ctx, inbox, { ...found, written });
}

/** Reports an email that was deleted while it was read as not found, like one that was deleted before. */
async function unlessGone(ctx: Ctx<World>, call: Call<unknown>, work: () => Promise<SentEmail>): Promise<SentEmail> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof NoSuchBlob) await find(ctx, call);
    throw error;
  }
}

async function find(ctx: Ctx<World>, { named, threadId, emailId }: Call<unknown>) {
  const inbox = await inboxNamed(ctx, named);
  return { inbox, ...(await mustFindOriginal(ctx, inbox, { threadId, emailId })) };
}

const filledReply = (ctx: Ctx<World>, inbox: InboxRow, { body, threadId, emailId }: Call<Reply>) =>
  fillTemplate(ctx, body, { inbox, threadId, emailId });

/** The fields of a body, once its template is rendered. */
type Words = Pick<Reply, 'html' | 'text' | 'subject' | 'cc' | 'bcc' | 'headers' | 'attachments'>;

const writtenIn = async (
  ctx: Ctx<World>,
  body: Words,
  { to, before }: { to: string[] | undefined; before: readonly { size: number }[] },
): Promise<WrittenMail> => ({
  ...wordsIn(body, to),
  files: await writtenFiles(ctx, readAttachments(body.attachments ?? []), before),
});

const wordsIn = (body: Words, to: string[] | undefined): Omit<WrittenMail, 'files'> => ({
  to,
  cc: toList(body.cc),
  bcc: toList(body.bcc),
  html: body.html ?? null,
  text: body.text ?? null,
  subject: body.subject ?? null,
  headers: body.headers ?? null,
});

const toList = (value: string | string[] | undefined): string[] =>
  value === undefined ? [] : Array.isArray(value) ? value : [value];

const buildOptions = ({ body, idempotency }: Call<Reply | Forward>) => ({
  idempotency,
  isGrowing: body.attachments?.some(({ path }) => path !== undefined) ?? false,
});
