import { nextTurn } from '../../platform/clock/index.ts';
import { invalidFields, refuse } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import type { Ctx } from '../../resources/access/index.ts';
import { findDomain, findDomainByName, maySend, type DomainRow } from '../../resources/domains/index.ts';
import {
  readEmail,
  type CompleteEmailInput,
  type EmailDraft,
  type SendEmailInput,
} from '../../resources/emails/index.ts';
import { resolveTemplate, type ResolvedTemplate, type TemplateUse } from '../../resources/templates/index.ts';
import { mayLeaveSandbox } from './sandbox.ts';

/** A send that its team may make, with nothing of it written yet. */
export interface Prepared {
  draft: EmailDraft;
  domain: DomainRow;
  templateId: string | null;
}

export type Prepare = (input: SendEmailInput) => Promise<Prepared>;

/**
 * For one request: reads a send and checks who it is from and where it goes; refuses by the first rule it breaks. What
 * the emails of a batch have in common is looked up once.
 */
export function createPrepare(world: World): (ctx: Ctx) => Prepare {
  const findSendingDomain = world.db.memo(['domains'], (key) => {
    const [teamId = '', name = ''] = key.split(' ');
    return findDomainByName(world.db, teamId, name);
  });

  return (ctx) => {
    const known = new Map<string, Promise<DomainRow | undefined>>();
    const find = (name: string): Promise<DomainRow | undefined> => {
      let found = known.get(name);
      if (!found) known.set(name, (found = findSendingDomain(`${ctx.teamId} ${name}`)));
      return found;
    };
    const rendered = new Map<string, Promise<ResolvedTemplate>>();
    /** The same words are made once, however many emails of the request say them. */
    const render = (use: TemplateUse): Promise<ResolvedTemplate> => {
      const key = JSON.stringify(use);
      let found = rendered.get(key);
      if (!found) rendered.set(key, (found = resolveTemplate(world, ctx.teamId, use)));
      return found;
    };
    return async (input) => {
      const { templateId, ...complete } = await withTemplate(input, render);
      // A batch of large emails must not keep everybody else waiting until its last one is read.
      if ((complete.html?.length ?? 0) + (complete.text?.length ?? 0) > LARGE_CHARS) await nextTurn();
      const draft = readEmail(complete, world.clock.now());
      const domain = await mayBeSentFrom(ctx, draft, await find(draft.from.domain));
      await mayLeaveSandbox(ctx, { draft, domain, find });
      return { draft, domain, templateId };
    };
  };

  /** A template brings the bodies, and what else the send leaves out. */
  async function withTemplate(
    input: SendEmailInput,
    render: (use: TemplateUse) => Promise<ResolvedTemplate>,
  ): Promise<CompleteEmailInput & { templateId: string | null }> {
    const { template, ...rest } = input;
    if (!template) return { ...rest, from: input.from ?? '', subject: input.subject ?? '', templateId: null };
    if ((input.html ?? input.text ?? null) !== null) {
      const message = 'template cannot be combined with html or text; leave them out, or the template.';
      throw invalidFields([{ path: 'template', message }]);
    }
    const { templateId, html, text, ...found } = await render({ ...template, subject: input.subject });
    const from = input.from ?? found.from;
    const { subject } = found;
    if (from === undefined) throw missing('from');
    if (subject === undefined) throw missing('subject');
    return { ...rest, from, subject, html, text, reply_to: input.reply_to ?? found.replyTo ?? null, templateId };
  }
}

const LARGE_CHARS = 64 * 1024;

const missing = (field: string) =>
  refuse('missing_required_field', {
    say: `Missing required field: ${field}. The template does not supply it, so the send has to.`,
  });

/** A verified domain does not verify its subdomains: the name must be the very one. */
async function mayBeSentFrom(ctx: Ctx, draft: EmailDraft, domain: DomainRow | undefined): Promise<DomainRow> {
  const { db } = ctx.world;
  const name = draft.from.domain;
  const pinned = ctx.actor.kind === 'api_key' ? ctx.actor.domainId : null;
  if (pinned !== null && pinned !== domain?.id) {
    const allowed = await findDomain(db, ctx.teamId, pinned);
    throw refuse('validation_error', {
      status: 403,
      say: allowed
        ? `This API key may only send from ${allowed.name}; from is on ${name}.`
        : 'This API key is pinned to a domain that has been deleted; use another key.',
    });
  }
  if (domain && maySend(domain)) return domain;
  if (domain?.sending === 'disabled') {
    throw refuse('validation_error', {
      status: 403,
      say: `Sending from the domain ${name} is disabled; enable its capability sending first.`,
    });
  }
  throw refuse('validation_error', {
    status: 403,
    say: `The domain ${name} is not verified for this team; verify it before sending from it.`,
  });
}
