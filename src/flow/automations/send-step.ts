import { Refusal } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import type { Ctx } from '../../resources/access/index.ts';
import type { RunRow } from '../../resources/automation-runs/index.ts';
import { isVariable } from '../../resources/automations/index.ts';
import { declaredProperties } from '../../resources/contact-properties/index.ts';
import { contactNamed, mayMail, preferenceOrigin, wayOutOf, type ContactRow } from '../../resources/contacts/index.ts';
import { findDomainByName, maySend, type DomainRow } from '../../resources/domains/index.ts';
import { readEmail } from '../../resources/emails/index.ts';
import { findPublishedVersion, resolveTemplate } from '../../resources/templates/index.ts';
import { acceptWithin, logAccepted, mustBeAllowedBySandbox, type Prepared } from '../mail/accept/index.ts';
import { fieldsOf, gone, Postponed, type Taken } from './taken.ts';

const MINUTE_MS = 60_000;
/** How long it is put back when something keeps mail from being accepted that passes by itself. */
const PUT_BACK_MS = { quota: 15 * MINUTE_MS, domain: 5 * MINUTE_MS, service: MINUTE_MS };

interface Config {
  template: { id: string; variables?: Readonly<Record<string, unknown>> };
  subject?: string;
  from?: string;
  reply_to?: string | string[];
  topic_id?: string | null;
}

/**
 * Sends the template to the contact through accept, in the transaction that moves the run on: it is sent once, whatever dies.
 * A contact that may not be mailed is passed over, and the run goes on.
 */
export async function sendStep(world: World, run: RunRow, config: object): Promise<Taken> {
  const { db } = world;
  const { team_id: teamId, contact_id: contactId } = run;
  const use = config as Config;
  const topicId = use.topic_id?.toLowerCase() ?? null;
  const contact = await contactNamed(db, teamId, contactId);
  const requestId = world.ids.prefixed('req_');
  const ctx: Ctx = { store: world, teamId, actor: { kind: 'job', name: 'automations' }, requestId };
  const send = await prepare(ctx, world, { run, use, contact, topicId });
  let accepted: Awaited<ReturnType<typeof acceptWithin>> = [];
  return {
    hasMail: true,
    async work(tx) {
      const excluded = (await mayMail(tx, teamId, { contactIds: [contactId], topicId })).get(contactId);
      if (excluded !== undefined) return { skipped: excluded };
      try {
        accepted = await acceptWithin(world, tx, ctx, [send], { kind: 'transactional', run });
      } catch (error) {
        throw laterOr(error, world.clock.now());
      }
      return { email_id: send.id };
    },
    afterwards: () => logAccepted(world, ctx, accepted),
  };
}

/** A quota that is used up, and a service that is not there, pass. */
function laterOr(error: unknown, now: number): unknown {
  if (!(error instanceof Refusal)) return error;
  if (error.errorName.endsWith('_quota_exceeded')) return new Postponed(now + PUT_BACK_MS.quota, error.message);
  return error.errorName === 'service_unavailable' ? new Postponed(now + PUT_BACK_MS.service, error.message) : error;
}

interface Mail {
  run: RunRow;
  use: Config;
  contact: ContactRow;
  topicId: string | null;
}

async function prepare(
  ctx: Ctx,
  world: World,
  { run, use, contact, topicId }: Mail,
): Promise<Prepared & { id: string }> {
  const { db, clock, ids } = world;
  const { teamId } = ctx;
  const variables = await valuesFor(world, { run, use, contact });
  const { templateId, ...found } = await resolveTemplate(world, teamId, {
    ...{ id: use.template.id, variables, subject: use.subject, areForeign: true },
  });
  const draft = readEmail(
    {
      ...{ from: use.from ?? found.from ?? '', to: contact.email, subject: found.subject ?? '' },
      ...{ html: found.html, text: found.text, reply_to: use.reply_to ?? found.replyTo ?? null, topic_id: topicId },
    },
    clock.now(),
  );
  const find = (name: string): Promise<DomainRow | undefined> => findDomainByName(db, teamId, name);
  const domain = await find(draft.from.domain);
  if (!domain) throw gone(`domain ${draft.from.domain}`);
  if (!maySend(domain)) {
    throw new Postponed(clock.now() + PUT_BACK_MS.domain, `The domain ${domain.name} is not verified for sending.`);
  }
  await mustBeAllowedBySandbox(ctx, { draft, domain, find });
  const id = ids.uuid();
  const { headers } = wayOutOf(world, await preferenceOrigin(world, domain.id), { contact, topicId, emailId: id });
  return { id, domain, templateId, draft: { ...draft, headers: [...draft.headers, ...headers] } };
}

/** What the event or the contact does not have is left out, so that the template's fallback stands. */
async function valuesFor(
  { db }: World,
  { run, use, contact }: Omit<Mail, 'topicId'>,
): Promise<Record<string, string | number>> {
  const version = await findPublishedVersion(db, run.team_id, use.template.id);
  if (!version) throw gone(`template ${use.template.id}`);
  const payload = JSON.parse(run.payload ?? '{}') as Record<string, unknown>;
  const fieldOf = fieldsOf(contact, await declaredProperties(db, run.team_id));
  const read = (value: unknown): unknown => {
    if (!isVariable(value)) return value;
    const [, root, field = ''] = /^(event|contact)\.(.+)$/s.exec(value.var) ?? [];
    if (root === 'contact') return fieldOf(field);
    return Object.hasOwn(payload, field) ? payload[field] : undefined;
  };
  const values: Record<string, string | number> = {};
  for (const [key, given] of Object.entries(use.template.variables ?? {})) {
    const value = read(given);
    if (value === undefined || value === null) continue;
    const isNumber = version.variables.get(key)?.type === 'number' && isNumeric(value);
    values[key] = isNumber
      ? Number(value)
      : typeof value === 'object'
        ? JSON.stringify(value)
        : String(value as string);
  }
  return values;
}

/** An empty text and a truth value are no numbers, whatever `Number` makes of them. */
const isNumeric = (value: unknown): boolean =>
  typeof value === 'number' || (typeof value === 'string' && value.trim() !== '' && Number.isFinite(Number(value)));
