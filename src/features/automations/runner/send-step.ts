import { invalidField, Refusal } from '../../../platform/refusal/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { parseMailbox } from '../../../protocol/address/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import type { RunRow } from '../automation-runs/index.ts';
import { isVariable } from '../automations/index.ts';
import { declaredProperties, type PropertyRow } from '../../audience/contact-properties/index.ts';
import { contactNamed, mayMail, preferenceOrigin, wayOutOf, type ContactRow } from '../../audience/contacts/index.ts';
import { findDomainByName, findSendingDomain, maySend, type DomainRow } from '../../../mail/domains/index.ts';
import { readEmail } from '../../../mail/emails/index.ts';
import { createSendSwitch } from '../../../tenancy/instance/index.ts';
import { findPublishedTemplate, type PublishedVersion } from '../../templates/templates/index.ts';
import { acceptWithin, logAccepted, mustBeAllowedBySandbox, type Prepared } from '../../../mail/accept/index.ts';
import { composeStep, readStepValues, renderStep } from './compose-step.ts';
import { fieldsOf, gone, Postponed, type Taken } from './taken.ts';

const MINUTE_MS = 60_000;
/** How long it is put back when something keeps mail from being accepted that passes by itself. */
const PUT_BACK_MS = {
  quota: 15 * MINUTE_MS,
  domain: 5 * MINUTE_MS,
  marketing: 5 * MINUTE_MS,
  service: MINUTE_MS,
};

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
  const { send, isMarketing } = await prepare(ctx, world, { run, use, contact, topicId });
  const kind = isMarketing ? 'marketing' : 'transactional';
  let accepted: Awaited<ReturnType<typeof acceptWithin>> = [];
  return {
    hasMail: true,
    async work(tx) {
      const excluded = (await mayMail(tx, teamId, { contactIds: [contactId], topicId })).get(contactId);
      if (excluded !== undefined) return { skipped: excluded };
      try {
        accepted = await acceptWithin(world, tx, ctx, [send], { kind, run });
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

interface PreparedStep {
  send: Prepared & { id: string };
  isMarketing: boolean;
}

async function prepare(ctx: Ctx, world: World, { run, use, contact, topicId }: Mail): Promise<PreparedStep> {
  const { db, clock, ids } = world;
  const { teamId } = ctx;
  const template = await findPublishedTemplate(db, teamId, use.template.id);
  if (!template) throw gone(`template ${use.template.id}`);
  const { version } = template;
  const properties = await declaredProperties(db, teamId);
  const step = { teamId, template, subject: use.subject, topicId, properties };
  const given = readStepValues(step, valuesFor(version, properties, { run, use, contact }));
  const from = use.from ?? version.from ?? '';
  const sender = parseMailbox(from);
  if (!sender.ok) throw invalidField('from', `from: ${sender.fault}`);
  const find = (name: string): Promise<DomainRow | undefined> => findDomainByName(db, teamId, name);
  const domain = await findSendingDomain(world, teamId, sender.mailbox.domain);
  if (!domain) throw gone(`domain ${sender.mailbox.domain}`);
  if (!maySend(domain)) {
    throw new Postponed(clock.now() + PUT_BACK_MS.domain, `The domain ${domain.name} is not verified for sending.`);
  }
  const composed = await composeStep(world, step);
  if (composed.isMarketing) await mustBeSwitchedOn(world);
  const id = ids.uuid();
  const origin = await preferenceOrigin(world, domain.id);
  const { headers, variables: links } = wayOutOf(world, origin, { contact, topicId, emailId: id });
  const { subject, html, text } = renderStep(composed, contact, { given, links });
  const draft = readEmail(
    {
      from,
      to: contact.email,
      subject,
      html: html === null && text === null ? '' : html,
      text,
      reply_to: use.reply_to ?? (version.replyTo.length === 0 ? null : version.replyTo),
      topic_id: topicId,
    },
    clock.now(),
  );
  await mustBeAllowedBySandbox(ctx, { draft, domain, find });
  const send = { id, domain, templateId: template.id, draft: { ...draft, headers: [...draft.headers, ...headers] } };
  return { send, isMarketing: composed.isMarketing };
}

/** Postpones marketing mail of automations while it is switched off, as broadcasts are. */
async function mustBeSwitchedOn(world: World): Promise<void> {
  const { isOn, reason } = await createSendSwitch(world, 'sending.marketing')();
  if (isOn) return;
  const because = reason === null ? '' : ` (${reason})`;
  const until = world.clock.now() + PUT_BACK_MS.marketing;
  throw new Postponed(until, `Marketing mail is switched off on this installation${because}.`);
}

/** What the event or the contact does not have is left out, so that the template's fallback stands. */
function valuesFor(
  version: PublishedVersion,
  properties: readonly PropertyRow[],
  { run, use, contact }: Omit<Mail, 'topicId'>,
): Record<string, string | number> {
  const payload = JSON.parse(run.payload ?? '{}') as Record<string, unknown>;
  const fieldOf = fieldsOf(contact, properties);
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
