import { UTM_NAMES } from '../../protocol/utm.ts';
import { ENROLLING_TYPES, type EnrollingType } from '../../mail/events/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import { isUuid } from '../../platform/ids.ts';
import { parseMailbox } from '../../protocol/address/index.ts';
import { propertyNamed } from '../campaigns/index.ts';
import { declaredFor, declaredProperties, findSegment, findTopic } from '../audience/index.ts';
import type { DateTrigger } from './date-trigger.ts';
import { findCustomEventNamed } from './custom-events.store.ts';
import { RESERVED_PREFIX } from './custom-events.ts';
import { findDomainByName } from '../../mail/domains/index.ts';
import { findPublishedVersion, findTemplate, valueFaults, messageFaults } from '../templates/index.ts';
import {
  isOneOf,
  isRecord,
  listed,
  STREAMS,
  type Faults,
  type Graph,
  type Step,
  type Report,
  type StepType,
  type Known,
} from './graph.ts';
import { parseFilter, readValue } from '../../protocol/contact-filter/index.ts';
import { parseIsoTime, parseTimePhrase } from '../../protocol/iso-time.ts';
import { checkRule, listRuleFilters } from './rules.ts';

type Config = Readonly<Record<string, unknown>>;

const ADDED_TO_SEGMENT = 'rasket:contact.added_to_segment';
const DAY_MS = 86_400_000;
const DELAY_DAYS_MAX = 30;
const NAME_CHARS_MAX = 200;
const TEXT_CHARS_MAX = 2000;
const PATH_CHARS_MAX = 200;

const FIELDS: Record<StepType, readonly string[]> = {
  trigger: ['event_name', 'segment_id', 'date_property', 'repeat', 'days', 'hour'],
  send_email: ['template', 'subject', 'from', 'reply_to', 'topic_id', 'stream', 'utm'],
  delay: ['duration', 'until'],
  condition: ['type', 'field', 'operator', 'value', 'rules', 'filter'],
  contact_update: ['first_name', 'last_name', 'unsubscribed', 'properties'],
  add_to_segment: ['segment_id'],
  topic_update: ['topic_id', 'subscription'],
};

/** Checks everything about the configs that needs no database. */
export function checkConfigs(graph: Graph, known: Known, faults: Faults): void {
  for (const { key, type, config } of graph.steps) {
    if (!faults.mayReadConfig(key)) continue;
    const report: Report = (says) => void faults.step(key, says);
    const unknown = Object.keys(config).filter((field) => !FIELDS[type].includes(field));
    if (unknown.length > 0)
      report(`has unknown fields in config: ${listed(unknown)}; known are ${FIELDS[type].join(', ')}`);
    CHECKS[type](config, known, report);
  }
}

const CHECKS: Record<StepType, (config: Config, known: Known, report: Report) => void> = {
  trigger: checkTrigger,
  send_email: checkEmail,
  delay: checkDelay,
  condition: checkRule,
  contact_update: checkUpdate,
  add_to_segment({ segment_id: id }, _known, report) {
    if (typeof id !== 'string') report('must have segment_id, the id of a segment');
  },
  topic_update({ topic_id: id, subscription }, _known, report) {
    if (typeof id !== 'string') report('must have topic_id, the id of a topic');
    if (subscription !== 'opt_in' && subscription !== 'opt_out') report('must have a subscription: opt_in or opt_out');
  },
};

function checkTrigger(config: Config, known: Known, report: Report): void {
  const { event_name: name, segment_id: id, date_property: property } = config;
  if (property !== undefined) return checkDateTrigger(config, known, report);
  if (typeof name !== 'string' || name === '') report('must have event_name, the name of an event, or date_property');
  const ofDates = ['repeat', 'days', 'hour'].filter((field) => config[field] !== undefined);
  if (ofDates.length > 0) report(`may have ${listed(ofDates)} only with date_property`);
  if (id === undefined) return;
  if (name !== ADDED_TO_SEGMENT) report(`may have segment_id only with the event_name ${ADDED_TO_SEGMENT}`);
  else if (typeof id !== 'string') report('must have segment_id as the id of a segment');
}

const REPEATS = ['yearly', 'once'] as const;
const DAYS_MAX = 365;

function checkDateTrigger(config: Config, { properties }: Known, report: Report): void {
  const { event_name: name, segment_id: segment, date_property: property, repeat, days, hour } = config;
  if (name !== undefined || segment !== undefined) report('may have either event_name or date_property');
  if (typeof property !== 'string' || property === '') report('must have date_property, the key of a property');
  else if (!properties.has(property)) report(`refers to the property ${listed([property])}, which is not declared`);
  else if (properties.get(property) !== 'string')
    report(
      `refers to the property ${listed([property])}, which is no string; dates are texts such as 1990-05-17 or 05-17`,
    );
  if (repeat !== undefined && !isOneOf(REPEATS, repeat)) report(`must have repeat: ${REPEATS.join(' or ')}`);
  if (days !== undefined && !isWholeNumber(days, -DAYS_MAX, DAYS_MAX))
    report(`must have days as a whole number from -${DAYS_MAX} to ${DAYS_MAX}`);
  if (hour !== undefined && !isWholeNumber(hour, 0, 23)) report('must have hour as a whole number from 0 to 23');
}

const isWholeNumber = (value: unknown, least: number, most: number): boolean =>
  Number.isInteger(value) && (value as number) >= least && (value as number) <= most;

const HOUR = 9;

/** Reads the config of a trigger that was checked; undefined if events start the automation. */
export function readDateTrigger({ date_property: property, repeat, days, hour }: Config): DateTrigger | undefined {
  if (property === undefined) return undefined;
  return {
    repeat: isOneOf(REPEATS, repeat) ? repeat : 'yearly',
    days: typeof days === 'number' ? days : 0,
    hour: typeof hour === 'number' ? hour : HOUR,
  };
}

function checkDelay({ duration, until }: Config, { now }: Known, report: Report): void {
  if ((duration === undefined) === (until === undefined)) return report('must have either duration or until');
  if (duration !== undefined) {
    const ms = typeof duration === 'string' ? durationMs(duration) : undefined;
    if (ms === undefined || ms <= 0)
      return report("must have a duration such as '3 days', in minutes, hours, days or weeks");
    if (ms > DELAY_DAYS_MAX * DAY_MS) report(`may wait for at most ${DELAY_DAYS_MAX} days`);
    return;
  }
  const at = typeof until === 'string' ? parseIsoTime(until)?.ms : undefined;
  if (at === undefined) return report('must have until as an ISO 8601 time');
  if (at <= now) report('has an until that is in the past');
  else if (at > now + DELAY_DAYS_MAX * DAY_MS) report(`may wait for at most ${DELAY_DAYS_MAX} days`);
}

/** Parses a phrase such as `3 days`. */
export const durationMs = (phrase: string): number | undefined => parseTimePhrase(`in ${phrase}`, 0);

function checkEmail(config: Config, { properties }: Known, report: Report): void {
  const { template, subject, from, reply_to: replyTo, topic_id: topicId, stream, utm } = config;
  if (!isRecord(template) || typeof template['id'] !== 'string')
    report('must have a template with the id of a template');
  else checkTemplate(template, properties, report);
  for (const [name, value] of Object.entries({ subject, from })) {
    if (value !== undefined && (typeof value !== 'string' || value.trim() === '')) {
      return report(`must have ${name} as a string that is not blank`);
    }
  }
  const isList = Array.isArray(replyTo) && replyTo.every((one) => typeof one === 'string');
  if (replyTo !== undefined && typeof replyTo !== 'string' && !isList) {
    return report('must have reply_to as an address or a list of addresses');
  }
  if (topicId !== undefined && topicId !== null && typeof topicId !== 'string')
    report('must have topic_id as the id of a topic');
  if (stream !== undefined && !isOneOf(STREAMS, stream)) report(`must have a stream: ${STREAMS.join(' or ')}`);
  if (stream === 'transactional' && typeof topicId === 'string')
    report('may not have topic_id in the stream transactional, because contacts opt out of topics');
  if (utm !== undefined && !isUtm(utm))
    report(`must have utm as true or as an object of ${UTM_NAMES.join(', ')}, each a string of 1 to 200 characters`);
  for (const { message } of messageFaults(config)) report(message.replace(/\.$/, ''));
}

const isUtm = (utm: unknown): boolean =>
  utm === true ||
  (isRecord(utm) &&
    Object.entries(utm).every(
      ([name, value]) =>
        isOneOf(UTM_NAMES, name) && typeof value === 'string' && value.trim() !== '' && value.length <= 200,
    ));

function checkTemplate({ variables = {}, ...rest }: Config, properties: Known['properties'], report: Report): void {
  const unknown = Object.keys(rest).filter((field) => field !== 'id');
  if (unknown.length > 0) report(`has unknown fields in template: ${listed(unknown)}; known are id and variables`);
  if (!isRecord(variables)) return report('must have template.variables as an object');
  for (const [key, value] of Object.entries(variables)) {
    const says = variableFault(value, properties);
    if (says !== undefined) report(`template.variables.${listed([key])} ${says}`);
  }
}

const CONTACT_FIELDS = ['email', 'first_name', 'last_name'];

/** `{var}` is resolved when the email is sent. */
export const isVariable = (value: unknown): value is { var: string } =>
  isRecord(value) && typeof value['var'] === 'string' && Object.keys(value).length === 1;

function variableFault(value: unknown, properties: Known['properties']): string | undefined {
  if (typeof value === 'number' || (typeof value === 'string' && value.length <= TEXT_CHARS_MAX)) return undefined;
  const path = isVariable(value) ? value.var : undefined;
  if (path === undefined) return `must be a string of at most ${TEXT_CHARS_MAX} characters, a number, or {"var": …}`;
  const [, root, field = ''] = /^(event|contact)\.(.+)$/s.exec(path) ?? [];
  if (path.length > PATH_CHARS_MAX) return `may have a var of at most ${PATH_CHARS_MAX} characters`;
  if (root === 'event') return undefined;
  if (root !== 'contact') return 'must have a var of the form event.<key> or contact.<field>';
  const key = field.replace(/^properties\./, '');
  if (CONTACT_FIELDS.includes(field) || properties.has(key)) return undefined;
  return `refers to contact.${listed([field])}, which is neither ${CONTACT_FIELDS.join(', ')} nor a declared property`;
}

function checkUpdate(config: Config, { properties }: Known, report: Report): void {
  const { first_name, last_name, unsubscribed, properties: values } = config;
  if (Object.values(config).every((value) => value === undefined)) report('must change at least one field');
  if (Object.values(config).some(isVariable))
    return report('must set literal values; {"var": …} is only for templates');
  for (const [name, value] of Object.entries({ first_name, last_name })) {
    const isName = typeof value === 'string' && value.length <= NAME_CHARS_MAX;
    if (value !== undefined && value !== null && !isName) {
      report(`must have ${name} as a string of at most ${NAME_CHARS_MAX} characters, or null`);
    }
  }
  if (unsubscribed !== undefined && typeof unsubscribed !== 'boolean')
    report('must have unsubscribed as true or false');
  if (values === undefined) return;
  if (!isRecord(values)) return report('must have properties as an object');
  for (const [key, value] of Object.entries(values)) {
    const type = properties.get(key);
    const read = type === undefined || value === null ? undefined : readValue(type, value);
    if (type === undefined) report(`refers to the property ${listed([key])}, which is not declared`);
    else if (isVariable(value)) report('must set literal values; {"var": …} is only for templates');
    else if (read && !read.ok) report(`properties.${key} ${read.fault}`);
  }
}

/** Trigger of an automation: an event of the team as it is now, or a type of the platform's. */
export interface Trigger {
  trigger_event_id: string | null;
  trigger_type: EnrollingType | null;
  /** Segment that a contact must be added to; null for any segment. */
  trigger_segment_id: string | null;
  /** Property whose dates start it, as it is now. */
  trigger_property_id: string | null;
  /** When they start it, as JSON of a `DateTrigger`. */
  trigger_date: string | null;
}

/** An event that ends the runs of an automation: one of the team's own, or a type of the platform. */
export interface ExitEvent {
  name: string;
  event_id: string | null;
  event_type: string | null;
}

/** Returns the events that end runs, by their names; adds a fault for each that does not exist. */
export async function findExits(
  db: Executor,
  teamId: string,
  names: readonly string[],
  faults: Faults,
): Promise<ExitEvent[]> {
  const exits: ExitEvent[] = [];
  for (const name of new Set(names)) {
    const found = await findEvent(db, teamId, name, (says) => void faults.of('exit_on', says));
    exits.push({ name, event_id: found.eventId, event_type: found.type });
  }
  return exits;
}

const NOTHING: Trigger = {
  trigger_event_id: null,
  trigger_type: null,
  trigger_segment_id: null,
  trigger_property_id: null,
  trigger_date: null,
};

/**
 * Checks that every template, segment, topic, event and sender domain that is named exists, and everything that the
 * filters of conditions name. Returns the resolved trigger.
 */
export async function checkNames(
  db: Executor,
  { teamId, now }: { teamId: string; now: number },
  graph: Graph,
  faults: Faults,
): Promise<Trigger> {
  let trigger = NOTHING;
  for (const step of graph.steps) {
    if (!faults.mayReadConfig(step.key)) continue;
    const report: Report = (says) => void faults.step(step.key, says);
    if (step.type === 'trigger') trigger = await findTrigger(db, teamId, step, report);
    if (step.type === 'send_email') await checkTemplateIsPublished(db, teamId, step, report);
    if (step.type === 'condition') await checkFilters(db, { teamId, now }, step, report);
    const { segment_id: segment, topic_id: topic } = step.config;
    if (typeof segment === 'string' && !(isUuid(segment) && (await findSegment(db, teamId, segment.toLowerCase())))) {
      report(`refers to the segment ${listed([segment])}, which does not exist`);
    }
    if (typeof topic === 'string' && !(isUuid(topic) && (await findTopic(db, teamId, topic.toLowerCase())))) {
      report(`refers to the topic ${listed([topic])}, which does not exist`);
    }
  }
  return trigger;
}

async function checkFilters(
  db: Executor,
  { teamId, now }: { teamId: string; now: number },
  { config }: Step,
  report: Report,
): Promise<void> {
  const filters = listRuleFilters(config).filter(isRecord);
  if (filters.length === 0) return;
  const declared = await declaredFor(db, teamId, { filters, now });
  for (const filter of filters)
    for (const { message } of parseFilter(filter, declared).faults) report(message.replace(/\.$/, ''));
}

async function findTrigger(db: Executor, teamId: string, { config }: Step, report: Report): Promise<Trigger> {
  const { event_name: name, segment_id: segment, date_property: key } = config;
  const dates = readDateTrigger(config);
  if (dates) {
    const property = (await declaredProperties(db, teamId)).find((one) => one.key === key && one.type === 'string');
    if (!property) report(`refers to the property ${listed([String(key)])}, which is not a declared text property`);
    return { ...NOTHING, trigger_property_id: property?.id ?? null, trigger_date: JSON.stringify(dates) };
  }
  if (typeof name !== 'string' || name === '') return NOTHING;
  const { eventId, type } = await findEvent(db, teamId, name, report);
  const segmentId = type !== null && typeof segment === 'string' ? segment.toLowerCase() : null;
  return { ...NOTHING, trigger_event_id: eventId, trigger_type: type, trigger_segment_id: segmentId };
}

/** Finds an event of the team or of the platform by its name; reports one that does not exist. */
async function findEvent(
  db: Executor,
  teamId: string,
  name: string,
  report: Report,
): Promise<{ eventId: string | null; type: EnrollingType | null }> {
  if (name.startsWith(RESERVED_PREFIX)) {
    const type = ENROLLING_TYPES.find((one) => name === `${RESERVED_PREFIX}${one}`);
    const may = ENROLLING_TYPES.map((one) => `${RESERVED_PREFIX}${one}`).join(', ');
    if (!type) report(`refers to ${listed([name])}, which is not a platform event; platform events are ${may}`);
    return { eventId: null, type: type ?? null };
  }
  const event = await findCustomEventNamed(db, teamId, name);
  if (!event) report(`refers to the event ${listed([name])}, which does not exist`);
  return { eventId: event?.id ?? null, type: null };
}

async function checkTemplateIsPublished(db: Executor, teamId: string, { config }: Step, report: Report): Promise<void> {
  const { template, from, subject } = config;
  if (!isRecord(template) || typeof template['id'] !== 'string') return;
  const { id, variables } = template;
  const version = await findPublishedVersion(db, teamId, id as string);
  if (!version) {
    const isDraft = (await findTemplate(db, teamId, id as string)) !== undefined;
    return report(
      `refers to the template ${listed([id as string])}, which ${isDraft ? 'is not published' : 'does not exist'}`,
    );
  }
  const sender = from ?? version.from;
  if (sender === undefined) report('must have from, because its template has none');
  else await checkSender(db, teamId, sender, report);
  if (subject === undefined && version.subject === undefined)
    report('must have subject, because its template has none');
  const given = isRecord(variables) ? variables : {};
  const properties = await declaredProperties(db, teamId);
  const rules = {
    rendersSubject: subject === undefined,
    isLater: isVariable,
    isFilled: (key: string) => propertyNamed(properties, key) !== undefined,
  };
  for (const says of valueFaults(version, given, rules)) report(says.replace(/\.$/, ''));
}

/**
 * Checks that the domain belongs to the team. Each email waits until it is verified, and malformed addresses are
 * reported elsewhere.
 */
async function checkSender(db: Executor, teamId: string, sender: unknown, report: Report): Promise<void> {
  const parsed = parseMailbox(String(sender));
  if (!parsed.ok || (await findDomainByName(db, teamId, parsed.mailbox.domain))) return;
  report(`sends from the domain ${listed([parsed.mailbox.domain])}, which is not a domain of this team`);
}
