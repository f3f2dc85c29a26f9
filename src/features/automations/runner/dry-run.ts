import type { BodyOf } from '../../../contract/index.ts';
import { isoTime } from '../../../platform/clock.ts';
import { invalidFields, Refusal } from '../../../platform/refusal.ts';
import type { World } from '../../../platform/world.ts';
import { parseIsoTime } from '../../../protocol/iso-time.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { contactNamed, declaredProperties, findSegment, liveTopics, withoutTopicsLeft } from '../../audience/index.ts';
import type { RunRow } from '../automation-runs.store.ts';
import { loadAutomation, loadGraph } from '../automations.ts';
import { describeDate, listObstacles, mustMatchTrigger, presentObstacles } from '../enrolment.ts';
import { readNamedContact } from '../custom-events.ts';
import { findNextStep, findTrigger, type ConnectionType, type Graph, type Step } from '../graph.ts';
import { explainRule } from '../rules.ts';
import { countUnreadableDates } from '../unreadable-dates.ts';
import { buildPayload } from './start-dates.ts';
import { evaluateCondition, findDelayEnd, previewSend, wouldResubscribe } from './take-step.ts';

type Config = Step['config'];

/** A step as it would happen. */
interface DryStep {
  key: string;
  type: Step['type'];
  at: string;
  outcome: 'done' | 'waits' | 'sends' | 'skips' | 'fails';
  until: string | null;
  branch: Exclude<ConnectionType, 'default'> | null;
  subject: string | null;
  stream: 'marketing' | 'transactional' | null;
  reason: string | null;
}

type Outcome = Partial<Omit<DryStep, 'key' | 'type' | 'at'>> & { goesOnAt?: number };

/**
 * Takes a contact through the active version of an automation without waiting: the clock moves to the end of each delay.
 * Nothing is sent or written. Conditions and mail use the present values of the contact, so that changes by earlier steps
 * are not seen.
 */
export async function dryRunAutomation(ctx: Ctx<World>, id: string, input: BodyOf<'dryRunAutomation'>) {
  const { store, teamId } = ctx;
  const { starts_at: startsAt } = input;
  const named = readNamedContact(input);
  const automation = await loadAutomation(ctx, id);
  await mustMatchTrigger(store.db, automation, input.payload ?? {});
  const contact = await contactNamed(store.db, teamId, named);
  const contactId = contact.id;
  const date = await describeDate(store, automation, contact);
  const payload = input.payload ?? buildDatePayload(date);
  const begin = readStart(startsAt ?? date?.starts_at ?? undefined, store.clock.now());
  const graph = await loadGraph(ctx, id, automation.version);
  const run = buildRun(ctx, { automationId: id, version: automation.version, contactId, payload, at: begin });
  const { steps, endsAt } = await walk(store, graph, run);
  for (const step of steps) if (step.type === 'trigger') step.reason = date?.message ?? null;
  const reached = new Set(steps.map(({ key }) => key));
  const obstacles = await listObstacles(store.db, automation, contactId);
  return {
    object: 'automation_dry_run' as const,
    automation_id: id,
    contact_id: contactId,
    may_start: obstacles.length === 0,
    obstacles: presentObstacles(obstacles),
    status: steps.at(-1)?.outcome === 'fails' ? ('failed' as const) : ('completed' as const),
    starts_at: isoTime(begin),
    ends_at: isoTime(endsAt),
    steps,
    unreadable_dates: await countUnreadableDates(store.db, automation),
    not_reached: graph.steps.flatMap(({ key }) => (reached.has(key) ? [] : [key])),
  };
}

const buildDatePayload = (date: Awaited<ReturnType<typeof describeDate>>): object =>
  date === null || date.value === null || date.occurs_on === null
    ? {}
    : buildPayload(date.value, Date.parse(date.occurs_on));

/** A date occurs within a year, and a trigger may be a year after it. */
const AHEAD_MAX_MS = 2 * 366 * 86_400_000;

function readStart(text: string | undefined, now: number): number {
  if (text === undefined) return now;
  const at = parseIsoTime(text)?.ms;
  if (at !== undefined && at >= now && at <= now + AHEAD_MAX_MS) return at;
  const message = 'starts_at must be an ISO 8601 time from now to 732 days ahead.';
  throw invalidFields([{ path: 'starts_at', message }]);
}

interface DryRun {
  automationId: string;
  version: number;
  contactId: string;
  payload: object;
  at: number;
}

/** Returns a run that is in no table. */
const buildRun = (
  { store, teamId }: Ctx<World>,
  { automationId, version, contactId, payload, at }: DryRun,
): RunRow => ({
  id: store.ids.uuid(),
  team_id: teamId,
  automation_id: automationId,
  version,
  contact_id: contactId,
  payload: JSON.stringify(payload),
  status: 'running',
  step_key: null,
  due_at: at,
  created_at: at,
  started_at: at,
  completed_at: null,
  error: null,
  depth: 0,
  tries: 0,
  batch: 0,
  ended_by: null,
});

async function walk(world: World, graph: Graph, run: RunRow): Promise<{ steps: DryStep[]; endsAt: number }> {
  const steps: DryStep[] = [];
  let at = run.created_at;
  for (let step = findTrigger(graph); step;) {
    const now = at;
    const moved: World = { ...world, clock: { ...world.clock, now: () => now } };
    const { goesOnAt = now, ...outcome } = await tryStep(moved, run, step);
    steps.push({
      key: step.key,
      type: step.type,
      at: isoTime(now),
      outcome: 'done',
      until: null,
      branch: null,
      subject: null,
      stream: null,
      reason: null,
      ...outcome,
    });
    at = goesOnAt;
    if (outcome.outcome === 'fails') break;
    step = findNextStep(graph, step, outcome.branch ?? 'default');
  }
  return { steps, endsAt: at };
}

async function tryStep(world: World, run: RunRow, step: Step): Promise<Outcome> {
  try {
    return await describeStep(world, run, step);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { outcome: 'fails', reason: error.message };
  }
}

async function describeStep(world: World, run: RunRow, { type, config }: Step): Promise<Outcome> {
  switch (type) {
    case 'trigger':
      return {};
    case 'delay': {
      const end = findDelayEnd(config, world.clock.now());
      return { outcome: 'waits', until: isoTime(end), goesOnAt: end };
    }
    case 'condition': {
      const { isMet, readField, meets } = await evaluateCondition(world, run, config);
      const reason = explainRule(config, readField, meets);
      return { branch: isMet ? 'condition_met' : 'condition_not_met', reason };
    }
    case 'send_email': {
      const { subject, stream, skipped, waits } = await previewSend(world, run, config);
      const why = skipped === undefined ? waits : `The contact is skipped: ${skipped}.`;
      return { outcome: skipped === undefined ? 'sends' : 'skips', subject, stream, reason: why ?? null };
    }
    case 'contact_update':
      return { reason: await describeUpdate(world, run, config) };
    case 'add_to_segment':
      return { reason: await describeSegment(world, run, config) };
    case 'topic_update':
      return describeTopic(world, run, config);
  }
}

async function describeUpdate(
  { db }: World,
  { team_id: teamId, contact_id: contactId }: RunRow,
  config: Config,
): Promise<string> {
  const { properties = {}, ...fields } = config;
  const declared = new Set((await declaredProperties(db, teamId)).map(({ key }) => key));
  const gone = Object.keys(properties as object).find((key) => !declared.has(key));
  if (gone !== undefined) throw missing(`property ${gone}`);
  const contact = await contactNamed(db, teamId, contactId);
  const staysOut = await wouldResubscribe(db, contact, config);
  const values = Object.entries({ ...fields, ...(properties as object) })
    .filter(([key]) => !staysOut || key !== 'unsubscribed')
    .map(([key, value]) => `${key} to ${JSON.stringify(value)}`);
  const changes = values.length === 0 ? [] : [`Sets ${values.join(', ')}.`];
  return [...changes, ...(staysOut ? ['The contact stays unsubscribed, as it decided itself.'] : [])].join(' ');
}

async function describeSegment({ db }: World, { team_id: teamId }: RunRow, config: Config): Promise<string> {
  const segment = await findSegment(db, teamId, String(config['segment_id']).toLowerCase());
  if (!segment) throw missing('segment');
  return `Adds the contact to the segment ${segment.name}.`;
}

async function describeTopic(
  { db }: World,
  { team_id: teamId, contact_id: contactId }: RunRow,
  config: Config,
): Promise<Outcome> {
  const id = String(config['topic_id']).toLowerCase();
  const topic = (await liveTopics(db, teamId)).find((one) => one.id === id);
  if (!topic) throw missing('topic');
  const subscription = config['subscription'] as 'opt_in' | 'opt_out';
  const contact = await contactNamed(db, teamId, contactId);
  const isTaken = (await withoutTopicsLeft(db, [{ contact, choice: { id, subscription } }])).length > 0;
  if (!isTaken) return { outcome: 'skips', reason: 'The contact is skipped: topic_opt_out.' };
  return { reason: `${subscription === 'opt_in' ? 'Opts in to' : 'Opts out of'} the topic ${topic.name}.` };
}

const missing = (what: string): Refusal =>
  new Refusal('validation_error', { status: 422, say: `The ${what} was not found in this team.` });
