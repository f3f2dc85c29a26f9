/** A version of an automation, once it has been checked. */
export const STEP_TYPES = [
  ...(['trigger', 'send_email', 'delay', 'condition'] as const),
  ...(['contact_update', 'add_to_segment', 'topic_update'] as const),
] as const;
export type StepType = (typeof STEP_TYPES)[number];

export const CONNECTION_TYPES = ['default', 'condition_met', 'condition_not_met'] as const;
export type ConnectionType = (typeof CONNECTION_TYPES)[number];

export interface Step {
  key: string;
  type: StepType;
  config: Readonly<Record<string, unknown>>;
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

/** The steps from the trigger on, depth first, what follows `condition_met` before what follows `condition_not_met`. */
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
