import type { BodyOf } from '../../../contract/index.ts';
import { resolveTemplate } from '../../../mail/accept/index.ts';
import { invalidField, invalidFields, Refusal } from '../../../platform/refusal.ts';
import { makeText } from '../../../platform/text-thread/index.ts';
import type { World } from '../../../platform/world.ts';
import { parseMailbox } from '../../../protocol/address/index.ts';
import { oneLine } from '../../../protocol/mime-read/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { findTeam } from '../../../tenancy/teams/index.ts';
import { findUser } from '../../../tenancy/users/index.ts';
import { inboxNamed } from '../inboxes.ts';
import { findThread } from '../store/threads.store.ts';
import type { InboxRow } from '../store/rows.ts';
import { findCustomer } from './compose.ts';
import { mustFindOriginal } from './original.ts';

type Template = NonNullable<BodyOf<'replyToInboxEmail'>['template']>;

/** Fields of a body that a template supplies. */
interface Templated {
  template?: Template;
  html?: string | null;
  text?: string | null;
}

/** What a template is filled in for. Without a reply, the customer is the first recipient. */
export interface FilledFor {
  inbox: InboxRow;
  threadId?: string | null | undefined;
  emailId?: string | null | undefined;
  /** The first recipient that is named in place of the sender of the email. */
  to?: string | undefined;
  subject?: string | null | undefined;
}

/** Returns the body with the rendered template as its html and text. */
export async function fillTemplate<Body extends Templated>(
  ctx: Ctx<World>,
  { template, ...body }: Body,
  about: FilledFor,
): Promise<Omit<Body, 'template'> & { templateSubject?: string | undefined }> {
  if (!template) return body;
  if (body.html !== undefined || body.text !== undefined) {
    const message = 'template cannot be used with html or text; omit them, or omit template.';
    throw invalidFields([{ path: 'template', message }]);
  }
  const { html, text, subject } = await render(ctx, template, about);
  return { ...body, html, text: text ?? undefined, templateSubject: subject };
}

/** Renders a template for the reply to an email; its text is made from the HTML if it has none. */
export async function renderInboxTemplate(
  ctx: Ctx<World>,
  { named, threadId, emailId, template }: { named: string; threadId: string; emailId: string; template: Template },
) {
  const inbox = await inboxNamed(ctx, named);
  const { templateId, html, text } = await render(ctx, template, { inbox, threadId, emailId });
  return {
    object: 'rendered_inbox_template' as const,
    template_id: templateId,
    html,
    text: text ?? (await ctx.store.texts.run({ teamId: ctx.teamId, chars: html.length, task: makeText }, html)),
  };
}

async function render(ctx: Ctx<World>, { id, variables }: Template, about: FilledFor) {
  const isReply = Boolean(about.threadId && about.emailId);
  const offered = await loadValues(ctx, about);
  // The subject of a reply is that of the email, whatever the template says.
  const subject = isReply ? '' : (about.subject ?? undefined);
  try {
    return await resolveTemplate.call(ctx.store, ctx.teamId, { id, variables, subject, offered });
  } catch (error) {
    if (!(error instanceof Refusal) || error.errorName !== 'not_found') throw error;
    const shown = id.length > NAME_CHARS_SHOWN ? `${id.slice(0, NAME_CHARS_SHOWN)}…` : id;
    throw invalidField('template.id', `template.id: there is no template ${JSON.stringify(shown)}.`);
  }
}

const NAME_CHARS_SHOWN = 100;

/** Values are shown in a sentence; names of untrusted senders may be of any length. */
const VALUE_CHARS_MAX = 200;

async function loadValues(ctx: Ctx<World>, about: FilledFor): Promise<Record<string, string>> {
  const { store, teamId, actor } = ctx;
  const { inbox, threadId, emailId } = about;
  const team = await findTeam(store.db, teamId);
  if (!team) throw new Error(`team row of the inbox ${inbox.id} missing`);
  const person = actor.kind === 'session' ? await findUser(store.db, actor.userId) : undefined;
  const values: Record<string, string | null | undefined> = {
    ...(await loadCustomer(ctx, about)),
    SUBJECT: threadId && emailId ? (await findThread(store.db, inbox.id, threadId))?.subject : about.subject,
    AGENT_NAME: person?.name ?? inbox.from_name ?? inbox.name ?? team.name,
    TEAM_NAME: team.name,
  };
  const filled = Object.entries(values).flatMap(([key, value]) => {
    const shown = oneLine((value ?? '').replaceAll(/\p{Bidi_Control}+/gu, '')).slice(0, VALUE_CHARS_MAX);
    return shown === '' ? [] : [[key, shown.toWellFormed()] as const];
  });
  return Object.fromEntries(filled);
}

async function loadCustomer(ctx: Ctx<World>, { inbox, threadId, emailId, to }: FilledFor) {
  const found = threadId && emailId ? await mustFindOriginal(ctx, inbox, { threadId, emailId }) : undefined;
  const written = to ?? (found && findCustomer(ctx.store, inbox, found));
  const parsed = written === undefined ? undefined : parseMailbox(written, { allowSingleLabel: true });
  if (!parsed?.ok) return {};
  const { name, address } = parsed.mailbox;
  return { CUSTOMER_NAME: name === '' ? address : name, CUSTOMER_EMAIL: address };
}
