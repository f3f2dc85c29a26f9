import { refuse, type FieldFault, type Refusal } from '../../platform/refusal.ts';
import type { UtmParameters } from '../../protocol/utm.ts';
import type { PropertyType } from '../../protocol/contact-filter/index.ts';

/** Types of the steps in a version of an automation. */
const STEP_TYPES = [
  'trigger',
  'send_email',
  'delay',
  'condition',
  'contact_update',
  'add_to_segment',
  'topic_update',
] as const;
export type StepType = (typeof STEP_TYPES)[number];

const CONNECTION_TYPES = ['default', 'condition_met', 'condition_not_met'] as const;
export type ConnectionType = (typeof CONNECTION_TYPES)[number];

/** The streams that a step may send in. */
export const STREAMS = ['marketing', 'transactional'] as const;

export interface Step {
  key: string;
  type: StepType;
  config: Readonly<Record<string, unknown>>;
}

/** The config of a step that sends an email. */
export interface SendConfig {
  template: { id: string; variables?: Readonly<Record<string, unknown>> };
  subject?: string;
  from?: string;
  reply_to?: string | string[];
  topic_id?: string | null;
  /** Absent if the mail itself decides: one with a topic or an unsubscribe link is marketing. */
  stream?: (typeof STREAMS)[number];
  /** The `utm_` parameters for its links; true for those that are made from names. */
  utm?: true | UtmParameters;
}

export interface Connection {
  from: string;
  to: string;
  type: ConnectionType;
}

export interface Graph {
  steps: readonly Step[];
  connections: readonly Connection[];
}

export const findTrigger = ({ steps }: Graph): Step | undefined => steps.find(({ type }) => type === 'trigger');
export const stepAt = ({ steps }: Graph, wanted: string): Step | undefined => steps.find(({ key }) => key === wanted);

/** Returns the step that a connection of this type leads to; undefined if the graph ends there. */
export function findNextStep(graph: Graph, { key }: Step, branch: ConnectionType): Step | undefined {
  const found = graph.connections.find(({ from, type }) => from === key && type === branch);
  return found && stepAt(graph, found.to);
}

/**
 * Returns the steps from the trigger on, depth first, those after `condition_met` before those after
 * `condition_not_met`.
 */
export function inGraphOrder({ steps, connections }: Graph): Step[] {
  const byKey = new Map(steps.map((step) => [step.key, step]));
  const after = Map.groupBy(connections, ({ from }) => from);
  const ordered = new Set<Step>();
  const open = steps.filter(({ type }) => type === 'trigger').slice(0, 1);
  for (let step = open.pop(); step; step = open.pop()) {
    if (ordered.has(step)) continue;
    ordered.add(step);
    const next = (after.get(step.key) ?? []).toSorted(
      (a, b) => CONNECTION_TYPES.indexOf(b.type) - CONNECTION_TYPES.indexOf(a.type),
    );
    for (const { to } of next) {
      const found = byKey.get(to);
      if (found) open.push(found);
    }
  }
  return [...ordered];
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isOneOf = <T extends string>(all: readonly T[], value: unknown): value is T =>
  (all as readonly unknown[]).includes(value);

const SHOWN = 5;
const CHARS_SHOWN = 60;

/** Joins the first few names, each cut off: they are the caller's own words. */
export const listed = (names: readonly string[]): string =>
  names
    .slice(0, SHOWN)
    .map((name) => (name.length > CHARS_SHOWN ? `${name.slice(0, CHARS_SHOWN)}…` : name))
    .join(', ') + (names.length > SHOWN ? ` and ${names.length - SHOWN} more` : '');

/** Faults of a graph: one entry per step, under its key, with all of its faults. */
export class Faults {
  readonly #said = new Map<string, string[]>();
  readonly #unread = new Set<string>();

  /** Adds a fault of a place that has no key. */
  of(path: string, says: string): [] {
    this.#said.set(path, [...(this.#said.get(path) ?? []), says]);
    return [];
  }

  step(key: string, says: string): [] {
    return this.of(`steps.${key}`, says);
  }

  /** Stops further faults about the config of this step. */
  leaveConfig(key: string): void {
    this.#unread.add(key);
  }

  mayReadConfig(key: string): boolean {
    return !this.#unread.has(key);
  }

  refusal(): Refusal | undefined {
    const errors: FieldFault[] = [...this.#said].map(([path, says]) => ({
      path,
      message: `${path} ${says.join('; ')}.`,
    }));
    const [first] = errors;
    if (!first) return undefined;
    const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
    return refuse('validation_error', { status: 422, say: `${first.message}${more}`, errors });
  }
}

const STEPS_MAX = 150;
const KEY_CHARS_MAX = 100;
/** Known, but not part of this release. */
const LATER_STEPS = ['wait_for_event', 'contact_delete'];
const LATER_CONNECTIONS = ['timeout', 'event_received'];

/** Returns the steps and connections of a body as far as they can be read; adds all other faults of the graph. */
export function readGraph(steps: readonly unknown[], connections: readonly unknown[], faults: Faults): Graph {
  if (steps.length > STEPS_MAX) {
    faults.of('steps', `may have at most ${STEPS_MAX} steps; got ${steps.length}`);
    return { steps: [], connections: [] };
  }
  const graph: Graph = { steps: readSteps(steps, faults), connections: [] };
  const keys = new Set(graph.steps.map(({ key }) => key));
  const read = { ...graph, connections: readConnections(connections, keys, faults) };
  checkTriggers(read, faults);
  checkBranches(read, faults);
  checkReach(read, faults);
  return read;
}

function readSteps(given: readonly unknown[], faults: Faults): Step[] {
  const steps: Step[] = [];
  const seen = new Set<string>();
  for (const [i, step] of given.entries()) {
    const at = `steps.${i}`;
    if (!isRecord(step)) {
      faults.of(at, 'must be an object with key, type and config');
      continue;
    }
    const { key, type, config, ...rest } = step;
    if (typeof key !== 'string' || key.trim() === '' || key.length > KEY_CHARS_MAX) {
      faults.of(at, `must have a key of 1 to ${KEY_CHARS_MAX} characters that is not blank`);
      continue;
    }
    if (seen.has(key)) faults.step(key, 'has the same key as another step');
    seen.add(key);
    const unknown = Object.keys(rest);
    if (unknown.length > 0) faults.step(key, `has unknown fields: ${listed(unknown)}; known are key, type and config`);
    if (isOneOf(LATER_STEPS, type)) faults.step(key, `is of type ${type}, which this release does not support`);
    else if (!isOneOf(STEP_TYPES, type)) faults.step(key, `must have a type: ${STEP_TYPES.join(', ')}`);
    else if (!isRecord(config)) faults.step(key, 'must have a config object');
    // A step with an unreadable config keeps its place in the graph.
    steps.push({ key, type: isOneOf(STEP_TYPES, type) ? type : 'delay', config: isRecord(config) ? config : {} });
    if (!isOneOf(STEP_TYPES, type) || !isRecord(config)) faults.leaveConfig(key);
  }
  return steps;
}

function readConnections(given: readonly unknown[], keys: ReadonlySet<string>, faults: Faults): Connection[] {
  return given.flatMap((connection, i) => {
    const at = `connections.${i}`;
    if (!isRecord(connection)) return faults.of(at, 'must be an object with from, to and type');
    const { from, to, type = 'default', ...rest } = connection;
    if (typeof from !== 'string' || typeof to !== 'string') {
      return faults.of(at, 'must have from and to, each the key of a step');
    }
    /** Reports a fault of the connection at the step at either end, if one exists. */
    const report = (says: string): [] => {
      const owner = [from, to].find((key) => keys.has(key));
      return owner === undefined ? faults.of(at, says) : faults.step(owner, `${at} ${says}`);
    };
    if (!keys.has(from)) return report(`comes from ${JSON.stringify(from)}, which is not a step`);
    if (!keys.has(to)) return report(`leads to ${JSON.stringify(to)}, which is not a step`);
    const unknown = Object.keys(rest);
    if (unknown.length > 0) report(`has unknown fields: ${listed(unknown)}; known are from, to and type`);
    if (isOneOf(LATER_CONNECTIONS, type)) return report(`is of type ${type}, which this release does not support`);
    if (!isOneOf(CONNECTION_TYPES, type)) return report(`must have a type: ${CONNECTION_TYPES.join(', ')}`);
    return [{ from, to, type }];
  });
}

function checkTriggers({ steps, connections }: Graph, faults: Faults): void {
  const triggers = steps.filter(({ type }) => type === 'trigger');
  if (triggers.length === 0) faults.of('steps', 'must have exactly one trigger; there is none');
  for (const { key } of triggers.slice(1)) faults.step(key, 'is a second trigger; exactly one is allowed');
  for (const { key } of triggers) {
    if (connections.some(({ to }) => to === key)) faults.step(key, 'is a trigger; no connection may lead to it');
  }
}

/**
 * Checks that a condition leads on only by its two branches, and any other step only by `default`, each at most once.
 */
function checkBranches({ steps, connections }: Graph, faults: Faults): void {
  const after = Map.groupBy(connections, ({ from }) => from);
  for (const { key, type } of steps) {
    const types = (after.get(key) ?? []).map((connection) => connection.type);
    const isCondition = type === 'condition';
    const wrong = types.filter((one) => (one === 'default') === isCondition);
    if (wrong.length > 0) {
      const may = isCondition ? 'condition_met and condition_not_met' : 'default';
      faults.step(key, `may only have connections of type ${may}; got ${listed([...new Set(wrong)])}`);
    }
    const twice = [...new Set(types)].filter((one) => types.filter((other) => other === one).length > 1);
    if (twice.length > 0) faults.step(key, `may have one connection of each type; it has more of ${listed(twice)}`);
  }
}

/** Checks that every step is reachable from the trigger, and that there is no cycle. */
function checkReach(graph: Graph, faults: Faults): void {
  if (graph.steps.every(({ type }) => type !== 'trigger')) return;
  const reached = new Set(inGraphOrder(graph));
  for (const step of graph.steps) {
    if (!reached.has(step) && step.type !== 'trigger') faults.step(step.key, 'cannot be reached from the trigger');
  }
  for (const key of onCycles(graph)) faults.step(key, 'is part of a cycle');
}

/**
 * Returns the steps on cycles. Removing steps without predecessors or successors leaves some that are only between two
 * cycles, so each is checked.
 */
function onCycles(graph: Graph): string[] {
  const among = betweenCycles(graph);
  const next = Map.groupBy(graph.connections, ({ from }) => from);
  const leadsBack = (key: string): boolean => {
    const seen = new Set<string>();
    const open = [key];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      for (const { to } of next.get(at) ?? []) {
        if (to === key) return true;
        if (!seen.has(to)) open.push(to);
        seen.add(to);
      }
    }
    return false;
  };
  return among.filter(leadsBack);
}

function betweenCycles({ steps, connections }: Graph): string[] {
  let left = new Set(steps.map(({ key }) => key));
  for (;;) {
    const inside = connections.filter(({ from, to }) => left.has(from) && left.has(to));
    const from = new Set(inside.map((one) => one.from));
    const to = new Set(inside.map((one) => one.to));
    const kept = new Set([...left].filter((key) => from.has(key) && to.has(key)));
    if (kept.size === left.size) return [...kept];
    left = kept;
  }
}

/** Facts that a config may refer to, other than those that need a query. */
export interface Known {
  now: number;
  properties: ReadonlyMap<string, PropertyType>;
}

/** Reports a fault, as a phrase that follows the name of the step. */
export type Report = (says: string) => void;
