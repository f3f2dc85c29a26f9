// Random graphs, carried out by the program and by a small interpreter that knows nothing of its code.
import { expect, it } from 'vitest';
import { supply } from '../api/automations/graph.ts';
import { histories } from '../rig/scale.ts';
import { startScene } from '../rig/scene.ts';
import { dice, testSeed } from '../rig/seed.ts';
import { HOUR } from './mail.ts';

const DAY = 24 * HOUR;
const GRAPHS = histories(60);
const STEPS_MAX = 12;
const PLANS = ['Pro', 'pro', 'free', ''];

interface Values {
  first_name: string | null;
  plan: string | null;
  seats: number | null;
}
type Rule =
  | { type: 'rule'; field: string; operator: string; value?: string | number }
  | { type: 'and' | 'or'; rules: Rule[] };
interface Step {
  key: string;
  type: string;
  config: Record<string, unknown>;
}
interface Way {
  from: string;
  to: string;
  type: string;
}
interface Graph {
  steps: Step[];
  connections: Way[];
}

function makeRandom(random: () => number) {
  const below = (n: number): number => Math.floor(random() * n);
  const pick = <T>(from: readonly T[]): T => from[below(from.length)] as T;
  const text = (): string => pick(PLANS.filter((one) => one !== ''));
  function rule(depth = 1): Rule {
    if (depth < 4 && random() < 0.3) {
      return { type: pick(['and', 'or']), rules: Array.from({ length: 1 + below(3) }, () => rule(depth + 1)) };
    }
    if (random() < 0.5) {
      const operator = pick(['eq', 'neq', 'gt', 'gte', 'lt', 'lte']);
      return { type: 'rule', field: 'properties.seats', operator, value: below(4) };
    }
    const operator = pick(['eq', 'neq', 'contains', 'starts_with', 'ends_with', 'exists', 'is_empty']);
    const field = pick(['first_name', 'properties.plan']);
    const bare = operator === 'exists' || operator === 'is_empty';
    return { type: 'rule', field, operator, ...(bare ? {} : { value: text() }) };
  }
  const update = () =>
    pick([{ first_name: text() }, { properties: { plan: text() } }, { properties: { seats: below(4) } }]);
  function step(key: string): Step {
    const type = pick(['delay', 'condition', 'condition', 'contact_update']);
    if (type === 'delay') return { key, type, config: { duration: `${1 + below(3)} days` } };
    return { key, type, config: type === 'condition' ? { ...rule() } : update() };
  }
  const listWays = ({ type }: Step): string[] =>
    type === 'condition' ? ['condition_met', 'condition_not_met'] : ['default'];

  /** Every step hangs on a free way of one before it; some of the ways left over lead to a later step. */
  function graph(event: string): Graph {
    const steps: Step[] = [{ key: 's0', type: 'trigger', config: { event_name: event } }];
    const connections: Way[] = [];
    const free = [{ from: 's0', at: 0, type: 'default' }];
    for (let n = 1 + below(STEPS_MAX); n > 0 && free.length > 0; n--) {
      const at = steps.length;
      const [{ from, type }] = free.splice(below(free.length), 1) as [(typeof free)[number]];
      const next = step(`s${at}`);
      steps.push(next);
      connections.push({ from, to: next.key, type });
      for (const way of listWays(next)) free.push({ from: next.key, at, type: way });
    }
    for (const { from, at, type } of free) {
      const later = steps.slice(at + 1);
      if (later.length > 0 && random() < 0.5) connections.push({ from, to: pick(later).key, type });
    }
    return { steps, connections };
  }
  const contact = (): Values => ({
    first_name: pick([null, 'Ada', 'pro']),
    plan: pick([null, 'Pro', 'free']),
    seats: pick([null, 0, 1, 2, 3]),
  });
  return { below, pick, graph, contact };
}

function isMet(rule: Rule, values: Values): boolean {
  if (rule.type !== 'rule') {
    const each = rule.rules.map((one) => isMet(one, values));
    return rule.type === 'and' ? !each.includes(false) : each.includes(true);
  }
  const raw = values[rule.field.replace('properties.', '') as keyof Values];
  const [has, value] = [raw, rule.value].map((one) => (typeof one === 'string' ? one.toLowerCase() : one));
  if (rule.operator === 'exists') return has !== null;
  if (rule.operator === 'is_empty') return has === null || has === '';
  if (rule.operator === 'eq') return has === value;
  if (rule.operator === 'neq') return has !== value;
  if (has === null) return false;
  const n = has as number;
  const m = value as number;
  if (rule.operator === 'gt') return n > m;
  if (rule.operator === 'gte') return n >= m;
  if (rule.operator === 'lt') return n < m;
  if (rule.operator === 'lte') return n <= m;
  const a = has as string;
  const b = value as string;
  if (rule.operator === 'contains') return a.includes(b);
  return rule.operator === 'starts_with' ? a.startsWith(b) : a.endsWith(b);
}

/** Returns the result of each step, in the order of the path taken, the values of the contact then, and how many days it took. */
function interpret({ steps, connections }: Graph, begins: Values) {
  const values = { ...begins };
  const taken: { key: string; day: number; met?: boolean }[] = [];
  let day = 0;
  for (let step = steps[0]; step;) {
    const { key, type, config } = step;
    const met = type === 'condition' ? isMet(config as unknown as Rule, values) : undefined;
    if (type === 'delay') day += Number.parseInt(config['duration'] as string, 10);
    if (type === 'contact_update') Object.assign(values, config['properties'] ?? config);
    taken.push({ key, day, ...(met === undefined ? {} : { met }) });
    const way = met === undefined ? 'default' : met ? 'condition_met' : 'condition_not_met';
    const to = connections.find((one) => one.from === key && one.type === way)?.to;
    step = steps.find((one) => one.key === to);
  }
  return { taken, values, day };
}

it(
  `${GRAPHS} random automation graphs run as the interpreter predicts`,
  async () => {
    const random = makeRandom(dice(testSeed()));
    await using scene = await startScene();
    const { team } = await supply(scene);
    const must = async (method: string, path: string, body?: unknown) => {
      const answer = await scene.api(method, path, { key: team.key, ...(body === undefined ? {} : { body }) });
      expect(answer.status, answer.text).toBeLessThan(300);
      return answer.body;
    };
    const began = scene.clock.now();
    const cases = [];
    for (let i = 0; i < GRAPHS; i++) {
      const event = `event${i}`;
      const values = random.contact();
      const graph = random.graph(event);
      const { first_name, plan, seats } = values;
      const properties = { ...(plan === null ? {} : { plan }), ...(seats === null ? {} : { seats }) };
      const named = first_name === null ? {} : { first_name };
      const contact = (await must('POST', '/contacts', { email: `c${i}@one.example`, ...named, properties })).id;
      await must('POST', '/events', { name: event });
      const { id } = await must('POST', '/automations', { name: event, status: 'enabled', ...graph });
      await must('POST', '/events/send', { event, contact_id: contact });
      cases.push({ id: id as string, contact: contact as string, graph, model: interpret(graph, values) });
    }
    for (let day = 0; day <= Math.max(...cases.map(({ model }) => model.day)); day++) {
      await scene.settled();
      scene.clock.advance(DAY);
    }
    for (const { id, contact, graph, model } of cases) {
      const [{ id: runId }] = (await must('GET', `/automations/${id}/runs`)).data;
      const run = await must('GET', `/automations/${id}/runs/${runId}`);
      const said = JSON.stringify(graph);
      expect(run.status, said).toBe('completed');
      const steps = run.steps as {
        key: string;
        status: string;
        output: { met?: boolean } | null;
        completed_at: string;
      }[];
      const done = steps.filter(({ status }) => status === 'completed');
      const came = done.map(({ key, output, completed_at: at }) => ({
        key,
        day: Math.floor((Date.parse(at) - began) / DAY),
        ...(output?.met === undefined ? {} : { met: output.met }),
      }));
      const order = model.taken.map(({ key }) => key);
      came.sort((a, b) => order.indexOf(a.key) - order.indexOf(b.key));
      expect(came, said).toEqual(model.taken);
      const others = steps.filter(({ status }) => status !== 'completed');
      expect(
        others.filter(({ status }) => status !== 'skipped'),
        said,
      ).toEqual([]);
      const after = await must('GET', `/contacts/${contact}`);
      const { plan = null, seats = null } = after.properties as Partial<Values>;
      expect({ first_name: after.first_name, plan, seats }, said).toEqual(model.values);
    }
  },
  60_000 + GRAPHS * 200,
);

/** The steps at fault: not reached from the trigger, on a way back to themselves, leading nowhere, a trigger too many, a bad config. */
function listFaulty({ steps, connections }: Graph): string[] {
  const reach = (from: string): Set<string> => {
    const seen = new Set<string>();
    const open = [from];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      for (const { to } of connections.filter((one) => one.from === at)) {
        if (!seen.has(to)) open.push(to);
        seen.add(to);
      }
    }
    return seen;
  };
  const keys = new Set(steps.map(({ key }) => key));
  const reached = reach('s0');
  const isAtFault = ({ key, type, config }: Step): boolean =>
    (key !== 's0' && type !== 'trigger' && !reached.has(key)) ||
    (key !== 's0' && type === 'trigger') ||
    reach(key).has(key) ||
    connections.some(({ from, to }) => from === key && !keys.has(to)) ||
    config['duration'] === '31 days' ||
    config['field'] === 'properties.unknown';
  return steps.filter(isAtFault).map(({ key }) => `steps.${key}`);
}

it(
  `${GRAPHS} automation graphs with faults are refused, with every faulty step by its key`,
  async () => {
    const { below, pick, graph } = makeRandom(dice(testSeed()));
    await using scene = await startScene({ roles: ['http'] });
    const { team } = await supply(scene);
    const faults: ((graph: Graph) => void)[] = [
      ({ steps }) => steps.push({ key: 'lost', type: 'delay', config: { duration: '1 day' } }),
      ({ steps }) => steps.push({ key: 'second', type: 'trigger', config: { event_name: 'order' } }),
      ({ steps }) => steps.push({ key: 'long', type: 'delay', config: { duration: '31 days' } }),
      ({ steps }) =>
        steps.push({
          key: 'undeclared',
          type: 'condition',
          config: { type: 'rule', field: 'properties.unknown', operator: 'exists' },
        }),
      ({ connections }) => (pick(connections).to = 'nowhere'),
      // Back to itself, or to a step before it.
      ({ steps, connections }) => {
        const way = pick(connections);
        way.to = pick(steps.slice(1)).key;
      },
    ];
    let refused = 0;
    for (let i = 0; refused < GRAPHS; i++) {
      const made = structuredClone(graph('order'));
      for (let n = 1 + below(3); n > 0; n--) {
        if (made.steps.length > 1) pick(faults)(made);
      }
      const expected = listFaulty(made);
      if (new Set(made.steps.map(({ key }) => key)).size < made.steps.length || expected.length === 0) continue;
      const { status, body, text } = await scene.api('POST', '/automations', {
        key: team.key,
        body: { name: `${i}`, ...made },
      });
      expect(status, `${JSON.stringify(made)} ${text}`).toBe(422);
      const paths = (body.errors as { path: string }[]).map(({ path }) => path);
      expect(paths.toSorted(), `${JSON.stringify(made)} ${text}`).toEqual(expected.toSorted());
      refused++;
    }
  },
  60_000 + GRAPHS * 100,
);
