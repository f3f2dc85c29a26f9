import { isDeepStrictEqual } from 'node:util';
import type { Executor } from '../../../platform/db/index.ts';
import type { World } from '../../../platform/world.ts';
import { parseIsoTime } from '../../../protocol/iso-time.ts';
import { findAutomation } from '../automations.store.ts';
import { stepsOfRun, type RunRow } from '../automation-runs.store.ts';
import { durationMs, isVariable } from '../check-steps.ts';
import { meetsFilter, parseFilter } from '../../../protocol/contact-filter/index.ts';
import { listRuleFields, listRuleFilters, meetsRule, type MeetsFilter, type RuleContact } from '../rules.ts';
import type { Step, ConnectionType, SendConfig, STREAMS } from '../graph.ts';
import {
  declaredProperties,
  type PropertyRow,
  beginEngagement,
  chooseByApi,
  countTowardsCap,
  findContactsAtCap,
  contactNamed,
  declaredFor,
  filteredContacts,
  joinSegments,
  recordContactEvent,
  readPropertyValues,
  writeChange,
  hasLeftItself,
  mayMail,
  withoutTopicsLeft,
  buildUnsubscribeLinks,
  sampleLinks,
  type ContactRow,
  type WayOut,
  findSegment,
  liveTopics,
} from '../../audience/index.ts';
import { invalidField, Refusal, invalidFields, refuse } from '../../../platform/refusal.ts';
import { parseMailbox } from '../../../protocol/address/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import {
  findDomainByName,
  findLinkOrigin,
  findSendingDomain,
  findUnsubscribeAddress,
  mayBeMade,
  maySend,
  type DomainRow,
} from '../../../mail/domains/index.ts';
import { readEmail } from '../../../mail/emails/index.ts';
import { createSendSwitch } from '../../../tenancy/instance/index.ts';
import {
  findPublishedTemplate,
  readValues,
  type PublishedVersion,
  type PublishedTemplate,
} from '../../templates/index.ts';
import { acceptWithin, logAccepted, mustBeAllowedBySandbox, type Prepared } from '../../../mail/accept/index.ts';
import {
  CHARS_MAX,
  completeUtm,
  composeStepBodies,
  countChars,
  fallbacksIn,
  findQuietTime,
  isTooLarge,
  isViewable,
  mailFor,
  mergedMail,
  NO_POSTAL_ADDRESS,
  propertyNamed,
  type MergedMail,
} from '../../campaigns/index.ts';
import { readBody, renderBody } from '../../../mail/shared-bodies/index.ts';
import { findTeam, readMarketingCap, type MarketingCap } from '../../../tenancy/teams/index.ts';
import { BoundedMap } from '../../../platform/limits/index.ts';

/** Result of a step: what it writes in the transaction that moves the run, or the time until which the run waits. */
export interface StepResult {
  waitsUntil?: number;
  /** Branch that a condition takes. */
  branch?: ConnectionType;
  output?: object;
  /** Writes the effects and returns the output, if it is only known then. */
  work?(tx: Executor): Promise<object | undefined>;
  /** Runs after the commit. */
  afterwards?(): void;
  hasMail?: true;
}

/** A step cannot run now because of a temporary condition: it is tried again. */
export class Postponed extends Error {
  readonly until: number;
  /** Shown at the step of the run, for the team. */
  readonly reason: string;

  constructor(until: number, reason: string) {
    super('the step is tried again later');
    this.until = until;
    this.reason = reason;
  }
}

function createFieldReader(contact: ContactRow, declared: readonly PropertyRow[]): RuleContact {
  const values = readPropertyValues(contact);
  const own: Record<string, string | boolean | null> = {
    email: contact.email,
    first_name: contact.first_name,
    last_name: contact.last_name,
    unsubscribed: contact.unsubscribed === 1,
  };
  return (field) => {
    if (Object.hasOwn(own, field)) return own[field] ?? null;
    const property = declared.find(({ key }) => `properties.${key}` === field || key === field);
    return property && (values[property.slot] ?? null);
  };
}

const notFoundInTeam = (what: string): Refusal =>
  refuse('validation_error', { status: 422, say: `The ${what} was not found in this team.` });

interface StepTexts {
  teamId: string;
  template: PublishedTemplate;
  /** Subject of the step, which replaces that of the template. */
  subject: string | undefined;
  stream: SendConfig['stream'];
  utm: SendConfig['utm'];
  /** Name of the automation. */
  campaign: string;
  topicId: string | null;
  properties: readonly PropertyRow[];
}

/** A template as one step sends it, before the values of a contact are filled in. */
interface StepMail {
  mail: MergedMail;
  /** The footer, quota and switch of marketing mail apply. */
  isMarketing: boolean;
}

interface Composed extends StepMail {
  /** All inputs except the version, which never changes. */
  madeFrom: string;
}

/**
 * Limits of the cache of composed templates: finding the places of variables in HTML costs more than rendering it, and
 * many runs send the same few templates.
 */
const CACHED_MAX = 50;
const CACHED_CHARS_MAX = 256 * 1024;
const caches = new WeakMap<World, Map<string, Composed>>();

/** Composes the bodies of a step like those of a broadcast. */
async function composeStep(world: World, step: StepTexts): Promise<StepMail> {
  const { template, stream, topicId, properties, campaign } = step;
  const team = await findTeam(world.db, step.teamId);
  if (!team) throw refuse('validation_error', { status: 422, say: 'The team was not found.' });
  const subject = step.subject ?? template.content.subject ?? '';
  const { name, sender_name, postal_address, default_language, language_property } = team;
  const sender = [name, sender_name, postal_address, default_language, language_property];
  const given = step.utm === true ? {} : step.utm;
  const utm = given === undefined ? null : completeUtm(given, { team, campaign });
  const madeFrom = JSON.stringify([step.teamId, subject, stream, topicId, sender, properties, utm]);
  const cache = caches.get(world) ?? new BoundedMap<string, Composed>(CACHED_MAX);
  caches.set(world, cache);
  const { versionId, html, text } = template.content;
  const known = cache.get(versionId);
  if (known?.madeFrom === madeFrom) return known;
  const fallbacks = fallbacksIn(properties, team);
  const { bodies, isMarketing } = await world.texts.run(
    { teamId: step.teamId, chars: countChars({ html, text }), task: composeStepBodies, isPatient: true },
    [
      { html, text, template: template.content },
      { team, properties, fallbacks, utm },
      { stream, topicId },
    ],
  );
  const body = await readBody(world, { team_id: step.teamId, ...bodies });
  const made = { madeFrom, mail: mergedMail(subject, body, { properties, fallbacks, team }), isMarketing };
  if (html.length + (text?.length ?? 0) <= CACHED_CHARS_MAX) cache.set(versionId, made);
  else cache.delete(versionId);
  return made;
}

/** Checks the values that a step gives; a value that a property of the contact fills may be omitted. */
function readStepValues(
  { template, subject, properties }: StepTexts,
  given: Readonly<Record<string, unknown>>,
): Map<string, string> {
  return readValues(template.version, given, {
    rendersSubject: subject === undefined,
    isFilled: (key) => propertyNamed(properties, key) !== undefined,
  });
}

/**
 * Renders the mail of one contact. Values of the step come first, then the contact's own, then defaults and fallbacks.
 */
function renderStep(
  { mail }: StepMail,
  contact: ContactRow,
  { given, links }: { given: ReadonlyMap<string, string>; links: WayOut['variables'] },
): { subject: string; html: string | null; text: string | null } {
  const { subject, values } = mailFor(mail, contact, { ...Object.fromEntries(given), ...links });
  if (isTooLarge(mail.body, values)) {
    const message = `template.variables: with these values, html and text would exceed the limit of ${CHARS_MAX} characters.`;
    throw invalidFields([{ path: 'template.variables', message }]);
  }
  return { subject, ...renderBody(mail.body, values) };
}

const MINUTE_MS = 60_000;
/** Delay of a step while a temporary condition prevents mail from being accepted. */
const RETRY_DELAY_MS = {
  quota: 15 * MINUTE_MS,
  domain: 5 * MINUTE_MS,
  marketing: 5 * MINUTE_MS,
  service: MINUTE_MS,
};

/**
 * Sends the template to the contact through accept, in the transaction that moves the run on, so it is sent exactly
 * once, even after a crash. A contact that may not be mailed is skipped, and the run continues.
 */
async function sendStep(world: World, run: RunRow, config: object): Promise<StepResult> {
  const { db } = world;
  const { team_id: teamId, contact_id: contactId } = run;
  const use = config as SendConfig;
  const topicId = use.topic_id?.toLowerCase() ?? null;
  const contact = await contactNamed(db, teamId, contactId);
  const requestId = world.ids.prefixed('req_');
  const ctx: Ctx = { store: world, teamId, actor: { kind: 'job', name: 'automations' }, requestId };
  const { send, isMarketing } = await prepare(ctx, world, { run, use, contact, topicId });
  const quiet = isMarketing ? await findQuietTime(db, { contact, topicId }, world.clock.now()) : undefined;
  if (quiet) throw new Postponed(quiet.until, describeQuiet(quiet));
  const kind = isMarketing ? 'marketing' : 'transactional';
  const isForced = use.stream === 'transactional';
  let accepted: Awaited<ReturnType<typeof acceptWithin>> = [];
  return {
    hasMail: true,
    async work(tx) {
      const excluded = (await mayMail(tx, teamId, { contactIds: [contactId], topicId, isForced })).get(contactId);
      if (excluded !== undefined) return { skipped: excluded };
      const cap = isMarketing ? await findCap(tx, teamId) : null;
      const isOver =
        cap !== null &&
        (await countTowardsCap(tx, { teamId, contactIds: [contactId], cap }, world.clock.now())).has(contactId);
      if (isOver) return { skipped: 'marketing_cap' };
      await beginEngagement(tx, teamId, [contactId]);
      try {
        accepted = await acceptWithin(world, tx, ctx, [send], { kind, run, ignoresChoices: isForced });
      } catch (error) {
        throw toPostponement(error, world.clock.now());
      }
      return { email_id: send.id };
    },
    afterwards: () => logAccepted(world, ctx, accepted),
  };
}

/** Returns the limit of marketing emails for each contact of the team; null without one. */
async function findCap(db: Executor, teamId: string): Promise<MarketingCap | null> {
  const team = await findTeam(db, teamId);
  return team ? readMarketingCap(team) : null;
}

/** Says why a step waits for quiet hours, as a sentence. */
const describeQuiet = ({ reason }: { reason: string }): string => `T${reason.slice(1)}.`;

/** Turns a refusal that is temporary into a postponement: a used-up quota, or an unavailable service. */
function toPostponement(error: unknown, now: number): unknown {
  if (!(error instanceof Refusal)) return error;
  if (error.errorName.endsWith('_quota_exceeded')) return new Postponed(now + RETRY_DELAY_MS.quota, error.message);
  return error.errorName === 'service_unavailable' ? new Postponed(now + RETRY_DELAY_MS.service, error.message) : error;
}

interface Mail {
  run: RunRow;
  use: SendConfig;
  contact: ContactRow;
  topicId: string | null;
}

interface PreparedStep {
  send: Prepared & { id: string };
  isMarketing: boolean;
}

async function prepare(ctx: Ctx, world: World, mail: Mail): Promise<PreparedStep> {
  const { db, clock, ids } = world;
  const { teamId } = ctx;
  const { use, contact, topicId } = mail;
  const { template, composed, given, from, senderDomain } = await composeFor(world, mail);
  const find = (name: string): Promise<DomainRow | undefined> => findDomainByName(db, teamId, name);
  const domain = await findSendingDomain(world, teamId, senderDomain);
  if (!domain) throw notFoundInTeam(`domain ${senderDomain}`);
  if (!maySend(domain)) throw waitsForDomain(world, domain);
  if (composed.isMarketing) await mustBeReadyForMarketing(world, teamId);
  const id = ids.uuid();
  const origin = await findLinkOrigin(world, domain.id);
  const { headers, variables: links } = buildUnsubscribeLinks(world, origin, {
    contact,
    topicId,
    emailId: id,
    mailto: await findUnsubscribeAddress(world, domain),
    isViewable: isViewable(composed.mail),
  });
  const { subject, html, text } = renderStep(composed, contact, { given, links });
  const { replyTo } = template.version;
  const draft = readEmail(
    {
      from,
      to: contact.email,
      subject,
      html: html === null && text === null ? '' : html,
      text,
      reply_to: use.reply_to ?? (replyTo.length === 0 ? null : replyTo),
      topic_id: topicId,
    },
    clock.now(),
  );
  await mustBeAllowedBySandbox(ctx, { draft, domain, find });
  const wayOut = use.stream === 'transactional' ? [] : headers;
  const written = { ...draft, headers: [...draft.headers, ...wayOut] };
  const send = { id, domain, templateId: template.id, contactId: contact.id, draft: written };
  return { send, isMarketing: composed.isMarketing };
}

const waitsForDomain = ({ clock }: World, { name }: DomainRow): Postponed =>
  new Postponed(clock.now() + RETRY_DELAY_MS.domain, `The domain ${name} is not verified for sending.`);

/** Reads the template of a step and the values for a contact; throws if the step can never be sent to it. */
async function composeFor(world: World, { run, use, contact, topicId }: Mail) {
  const { db } = world;
  const { team_id: teamId } = run;
  const template = await findPublishedTemplate(db, teamId, use.template.id);
  if (!template) throw notFoundInTeam(`template ${use.template.id}`);
  const { version } = template;
  const properties = await declaredProperties(db, teamId);
  const step = {
    teamId,
    template,
    subject: use.subject,
    stream: use.stream,
    utm: use.utm,
    campaign: use.utm === undefined ? '' : ((await findAutomation(db, teamId, run.automation_id))?.name ?? ''),
    topicId,
    properties,
  };
  const given = readStepValues(step, valuesFor(version, properties, { run, use, contact }));
  const from = use.from ?? version.from ?? '';
  const sender = parseMailbox(from);
  if (!sender.ok) throw invalidField('from', `from: ${sender.fault}`);
  return { template, composed: await composeStep(world, step), given, from, senderDomain: sender.mailbox.domain };
}

/** A mail as a step would send it now. */
export interface StepPreview {
  subject: string;
  stream: (typeof STREAMS)[number];
  /** The reason why the contact is skipped. */
  skipped: string | undefined;
  /** The reason why the step would wait. */
  waits: string | undefined;
}

/** Renders the mail of a step for a contact. Writes nothing, and throws if the step would fail. */
export async function previewSend(world: World, run: RunRow, config: object): Promise<StepPreview> {
  const { db } = world;
  const { team_id: teamId, contact_id: contactId } = run;
  const use = config as SendConfig;
  const topicId = use.topic_id?.toLowerCase() ?? null;
  const contact = await contactNamed(db, teamId, contactId);
  const { composed, given, senderDomain } = await composeFor(world, { run, use, contact, topicId });
  const domain = await findDomainByName(db, teamId, senderDomain);
  // A development server verifies the domain when the mail is sent.
  const isMade = mayBeMade(world, domain);
  if (!domain && !isMade) throw notFoundInTeam(`domain ${senderDomain}`);
  const origin = domain ? await findLinkOrigin(world, domain.id) : world.origin();
  const { subject } = renderStep(composed, contact, { given, links: sampleLinks(origin) });
  const isForced = use.stream === 'transactional';
  const cap = composed.isMarketing ? await findCap(db, teamId) : null;
  const isOver =
    cap !== null &&
    (await findContactsAtCap(db, { teamId, contactIds: [contactId], cap }, world.clock.now())).has(contactId);
  const excluded = (await mayMail(db, teamId, { contactIds: [contactId], topicId, isForced })).get(contactId);
  const skipped = excluded ?? (isOver ? 'marketing_cap' : undefined);
  const stream = composed.isMarketing ? 'marketing' : 'transactional';
  const quiet = composed.isMarketing ? await findQuietTime(db, { contact, topicId }, world.clock.now()) : undefined;
  const waits =
    (await findDelay(world, { teamId, domain: isMade ? undefined : domain, isMarketing: composed.isMarketing })) ??
    (quiet && describeQuiet(quiet));
  return { subject, stream, skipped, waits };
}

async function findDelay(
  world: World,
  { teamId, domain, isMarketing }: { teamId: string; domain: DomainRow | undefined; isMarketing: boolean },
): Promise<string | undefined> {
  if (domain && !maySend(domain)) return waitsForDomain(world, domain).reason;
  try {
    if (isMarketing) await mustBeReadyForMarketing(world, teamId);
  } catch (error) {
    if (error instanceof Postponed) return error.reason;
    throw error;
  }
  return undefined;
}

/**
 * Postpones the step while the team has no postal address, which marketing mail must contain, and while marketing mail is
 * switched off. A broadcast has the same requirements.
 */
async function mustBeReadyForMarketing(world: World, teamId: string): Promise<void> {
  const until = world.clock.now() + RETRY_DELAY_MS.marketing;
  const team = await findTeam(world.db, teamId);
  if ((team?.postal_address ?? null) === null) throw new Postponed(until, NO_POSTAL_ADDRESS);
  const { isOn, reason } = await createSendSwitch(world, 'sending.marketing')();
  if (isOn) return;
  const because = reason === null ? '' : ` (${reason})`;
  throw new Postponed(until, `Marketing mail is switched off on this installation${because}.`);
}

/**
 * Returns the values of the variables; omits those that the event or the contact lacks, so that the template's fallback
 * applies.
 */
function valuesFor(
  version: PublishedVersion,
  properties: readonly PropertyRow[],
  { run, use, contact }: Omit<Mail, 'topicId'>,
): Record<string, string | number> {
  const payload = JSON.parse(run.payload ?? '{}') as Record<string, unknown>;
  const readField = createFieldReader(contact, properties);
  const read = (value: unknown): unknown => {
    if (!isVariable(value)) return value;
    const [, root, field = ''] = /^(event|contact)\.(.+)$/s.exec(value.var) ?? [];
    if (root === 'contact') return readField(field);
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

/** Reports whether a value is numeric; an empty text and a boolean are not, although `Number` converts them. */
const isNumeric = (value: unknown): boolean =>
  typeof value === 'number' || (typeof value === 'string' && value.trim() !== '' && Number.isFinite(Number(value)));

type Config = Readonly<Record<string, unknown>>;

/** Returns a function that takes one step; it throws if the step can never succeed; the run then fails. */
export function createTakeStep(world: World): (run: RunRow, step: Step) => Promise<StepResult> {
  return async (run, step) => {
    const { config } = step;
    switch (step.type) {
      case 'trigger':
        return {};
      case 'delay':
        return delay(world, run, step);
      case 'condition':
        return takeBranch(world, run, config);
      case 'contact_update':
        return { work: (tx) => update(tx, run, config) };
      case 'add_to_segment':
        return { work: (tx) => add(tx, run, config) };
      case 'topic_update':
        return { work: (tx) => choose(tx, run, config) };
      case 'send_email':
        return sendStep(world, run, config);
    }
  };

  /**
   * Changes the contact, but never subscribes one that has unsubscribed itself. Runs that this triggers are one level
   * deeper; a change without effect triggers none.
   */
  async function update(tx: Executor, run: RunRow, config: Config): Promise<object | undefined> {
    const { team_id: teamId, contact_id: id, automation_id: automationId, depth } = run;
    const by = { kind: 'automation', id: automationId };
    const before = await contactNamed(tx, teamId, id, true);
    const staysOut = await wouldResubscribe(tx, before, config);
    const change = staysOut ? { ...config, unsubscribed: undefined } : config;
    const declared = await declaredProperties(tx, teamId);
    const after = await writeChange(world, tx, { before, change, declared, source: 'api', by });
    if (differs(before, after)) await recordContactEvent(world, tx, 'contact.updated', after, depth + 1);
    return staysOut ? { skipped: 'unsubscribed' } : undefined;
  }

  async function add(tx: Executor, run: RunRow, config: Config): Promise<undefined> {
    const { team_id: teamId, contact_id: id, depth } = run;
    const contact = await contactNamed(tx, teamId, id, true);
    const segment = await findSegment(tx, teamId, (config['segment_id'] as string).toLowerCase());
    if (!segment) throw notFoundInTeam('segment');
    await joinSegments(world, tx, contact, [segment.id], depth + 1);
  }

  /** Sets a topic, unless the contact has left it itself; one with double opt-in sends a confirmation email. */
  async function choose(
    tx: Executor,
    { team_id: teamId, contact_id: id, automation_id: automationId, depth }: RunRow,
    config: Config,
  ): Promise<object | undefined> {
    const { topic_id: topic, subscription } = config as { topic_id: string; subscription: 'opt_in' | 'opt_out' };
    const contact = await contactNamed(tx, teamId, id, true);
    const live = await liveTopics(tx, teamId);
    const topicId = topic.toLowerCase();
    if (!live.some((one) => one.id === topicId)) throw notFoundInTeam('topic');
    const by = { kind: 'automation', id: automationId };
    const choice = { id: topicId, subscription };
    if ((await withoutTopicsLeft(tx, [{ contact, choice }])).length === 0) return { skipped: 'topic_opt_out' };
    await chooseByApi(world, tx, contact, { choices: [choice], live, by, depth: depth + 1 });
    return undefined;
  }
}

/** Reports whether a change would take back that a contact has unsubscribed itself. */
export const wouldResubscribe = async (db: Executor, contact: ContactRow, config: Config): Promise<boolean> =>
  config['unsubscribed'] === false && contact.unsubscribed === 1 && (await hasLeftItself(db, contact));

async function takeBranch(world: World, run: RunRow, config: Config): Promise<StepResult> {
  const { isMet } = await evaluateCondition(world, run, config);
  return { branch: isMet ? 'condition_met' : 'condition_not_met', output: { met: isMet } };
}

/** Evaluates a condition for the contact of a run; throws if a property or a filter that it names was deleted. */
export async function evaluateCondition(
  world: World,
  { team_id: teamId, contact_id: contactId }: RunRow,
  config: Config,
): Promise<{ isMet: boolean; readField: RuleContact; meets: MeetsFilter }> {
  const { db } = world;
  const contact = await contactNamed(db, teamId, contactId);
  const readField = createFieldReader(contact, await declaredProperties(db, teamId));
  const { meets, fault } = await readFilters(world, contact, listRuleFilters(config));
  const isMet = meetsRule(config, readField, meets);
  if (isMet === undefined) {
    const field = listRuleFields(config).find((one) => readField(one) === undefined) ?? '';
    if (field === '' && fault !== undefined) throw refuse('not_found', { say: fault });
    throw notFoundInTeam(`property ${field.replace(/^properties\./, '')}`);
  }
  return { isMet, readField, meets };
}

/** Evaluates filters for a contact. A filter that names something deleted has a fault, and may be unknown. */
async function readFilters(
  world: World,
  contact: ContactRow,
  filters: readonly unknown[],
): Promise<{ meets: MeetsFilter; fault: string | undefined }> {
  if (filters.length === 0) return { meets: () => undefined, fault: undefined };
  const declared = await declaredFor(world.db, contact.team_id, { filters, now: world.clock.now() });
  const parsed = new Map(filters.map((filter) => [filter, parseFilter(filter, declared)]));
  const seen = (
    await filteredContacts(
      world.db,
      [contact],
      [...parsed.values()].map(({ filter }) => filter),
    )
  ).get(contact.id);
  const broken = [...parsed.values()].find(({ hasUnknown }) => hasUnknown);
  const says = broken?.faults[0]?.message ?? 'A segment that the filter names uses something that was deleted.';
  return {
    fault: broken && `The filter of the condition cannot be evaluated: ${says}`,
    meets(filter) {
      const found = parsed.get(filter);
      if (!found || !seen) return undefined;
      if (meetsFilter(found.filter, seen)) return true;
      return meetsFilter(found.negated, seen) ? false : undefined;
    },
  };
}

/** Waits the first time; the step is done when the run comes back to it. */
async function delay({ db, clock }: World, run: RunRow, { key, config }: Step): Promise<StepResult> {
  const before = (await stepsOfRun(db, run.id)).find((one) => one.step_key === key);
  if (before) {
    const output = JSON.parse(before.output ?? '{}') as { until?: string };
    const end = Date.parse(output.until ?? '');
    // This run was claimed before its wait was stored, so it must still wait.
    return Number(run.due_at) < end ? { waitsUntil: end } : { output };
  }
  return { waitsUntil: findDelayEnd(config, clock.now()) };
}

/** Returns when a delay that begins now ends. One that ends at a time in the past ends at once. */
export function findDelayEnd(config: Config, now: number): number {
  const { duration, until } = config as { duration?: string; until?: string };
  const at = duration === undefined ? parseIsoTime(until ?? '')?.ms : now + (durationMs(duration) ?? 0);
  return Math.max(at ?? 0, now);
}

const differs = (before: ContactRow, after: ContactRow): boolean => !isDeepStrictEqual(own(before), own(after));
const own = (row: ContactRow): object => ({
  first: row.first_name,
  last: row.last_name,
  unsubscribed: row.unsubscribed,
  values: readPropertyValues(row),
});
