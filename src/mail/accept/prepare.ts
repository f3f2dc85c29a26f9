import type { SendEmailRequest } from '../../contract/index.ts';
import { nextTurn } from '../../platform/clock/index.ts';
import { invalidFields, refuse } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import type { DomainRow } from '../domains/index.ts';
import { readEmail, type CompleteEmailInput, type EmailDraft, type SharedBody } from '../emails/index.ts';
import {
  resolveTemplate,
  type MergedTemplate,
  type ResolvedTemplate,
  type TemplateUse,
} from '../../features/templates/templates/index.ts';
import type { SendingDomainOf } from './sending-domain.ts';
import type { SubmittedMessage } from './submitted-message.ts';

/** A send that its team may make, before any of it is written. */
export interface Prepared {
  /** Given where the message itself names it, as in links to leave. */
  id?: string;
  draft: EmailDraft;
  domain: DomainRow;
  templateId: string | null;
  /** The message that a client composed, sent instead of one that we compose. */
  message?: SubmittedMessage | undefined;
  /** Names the template that html and text were rendered from, if its body can be shared. */
  merged?: MergedTemplate | undefined;
  /** A body that it shares with other emails, instead of the html and text of its draft. */
  shared?: SharedBody | undefined;
}

export type Prepare = (input: SendEmailRequest) => Promise<Prepared>;

/**
 * For one request: reads a send, checks its sender and its recipients, and refuses by the first rule it breaks. Work
 * that the emails of a batch share is done once.
 */
export function createPrepare(world: World, sendingDomainOf: (ctx: Ctx) => SendingDomainOf): (ctx: Ctx) => Prepare {
  return (ctx) => {
    const domainOf = sendingDomainOf(ctx);
    const rendered = new Map<string, Promise<ResolvedTemplate>>();
    /** Renders equal uses of a template once, however many emails of the request have them. */
    const render = (use: TemplateUse): Promise<ResolvedTemplate> => {
      const key = JSON.stringify(use);
      let found = rendered.get(key);
      if (!found) rendered.set(key, (found = resolveTemplate(world, ctx.teamId, use)));
      return found;
    };
    return async (input) => {
      const { templateId, merged, ...complete } = await withTemplate(input, render);
      // A batch of large emails must not block other requests until its last one is read.
      if ((complete.html?.length ?? 0) + (complete.text?.length ?? 0) > LARGE_CHARS) await nextTurn();
      const draft = readEmail(complete, world.clock.now());
      return { draft, domain: await domainOf(draft), templateId, merged };
    };
  };

  /** The template supplies the bodies, and other fields that the send leaves out. */
  async function withTemplate(
    input: SendEmailRequest,
    render: (use: TemplateUse) => Promise<ResolvedTemplate>,
  ): Promise<CompleteEmailInput & { templateId: string | null; merged?: MergedTemplate | undefined }> {
    const { template, ...rest } = input;
    if (!template) return { ...rest, from: input.from ?? '', subject: input.subject ?? '', templateId: null };
    if ((input.html ?? input.text ?? null) !== null) {
      const message = 'template cannot be combined with html or text; leave them out, or the template.';
      throw invalidFields([{ path: 'template', message }]);
    }
    const { templateId, html, text, merged, ...found } = await render({ ...template, subject: input.subject });
    const from = input.from ?? found.from;
    const { subject } = found;
    if (from === undefined) throw missing('from');
    if (subject === undefined) throw missing('subject');
    const replyTo = input.reply_to ?? found.replyTo ?? null;
    return { ...rest, from, subject, html, text, reply_to: replyTo, templateId, merged };
  }
}

const LARGE_CHARS = 64 * 1024;

const missing = (field: string) =>
  refuse('missing_required_field', {
    say: `Missing required field: ${field}. The template does not supply it, so the send has to.`,
  });
