import { describe, expect, it } from 'vitest';
import type { AnswerOf } from '../client/index.ts';
import { drawGraph, runsInWords } from './automation-words.ts';

type Automation = AnswerOf<'getAutomation'>;
type Graph = Pick<Automation, 'steps' | 'connections'>;

const automation = (graph: Graph, runs: Partial<Automation['runs']> = {}): Automation => ({
  object: 'automation',
  id: 'x',
  name: 'x',
  status: 'enabled',
  reentry: 'always',
  exit_on: [],
  changed_by_app: null,
  created_at: '',
  updated_at: '',
  ...graph,
  runs: { running: 0, completed: 0, failed: 0, cancelled: 0, counted_to: 10_000, at_steps: [], ...runs },
});
const wait = (key: string) => ({ key, type: 'delay' as const, config: { duration: '3 days' } });
const start = { key: 'start', type: 'trigger' as const, config: { event_name: 'order.placed' } };
const check = (key: string) => ({
  key,
  type: 'condition' as const,
  config: { type: 'rule', field: 'properties.plan', operator: 'eq', value: 'pro' },
});
const leads = (from: string, to: string, type: Graph['connections'][number]['type'] = 'default') => ({
  from,
  to,
  type,
});

/** Builds a graph of so many conditions, each in the chosen branch of the one before: its met or its unmet one. */
function deep(count: number, way: 'condition_met' | 'condition_not_met'): Graph {
  const checks = Array.from({ length: count }, (_, i) => check(`check-${i}`));
  const ways = checks.slice(1).map(({ key }, i) => leads(`check-${i}`, key, way));
  return { steps: [start, ...checks], connections: [leads('start', 'check-0'), ...ways] };
}

describe('the drawing of an automation', () => {
  it('shows each step once, the branches of a condition, and the number of runs at each step', () => {
    const graph = {
      steps: [wait('z'), wait('no'), check('if'), wait('yes'), start],
      connections: [
        leads('start', 'if'),
        leads('if', 'no', 'condition_not_met'),
        leads('if', 'yes', 'condition_met'),
        leads('yes', 'z'),
        leads('no', 'z'),
      ],
    };
    const at = [
      { key: 'z', runs: 12 },
      { key: 'gone', runs: 10_000 },
    ];
    const drawn = drawGraph(automation(graph, { at_steps: at }));
    expect(`\n${drawn}\n`).toBe(`
start  trigger  order.placed
if  condition  properties.plan eq "pro"
|- met
|  yes  delay  3 days
|  z  delay  3 days                                                  12 here
\`- not met
   no  delay  3 days
   -> z (above)

at steps of earlier versions:
gone                                                             10000+ here
`);
  });

  it('says where a condition ends, and shows the rules that it joins with “and” and “or”', () => {
    const rule = { type: 'rule', field: 'email', operator: 'exists' };
    const either = { type: 'or', rules: [rule, { ...rule, operator: 'contains', value: '@' }] };
    const condition = { key: 'if', type: 'condition' as const, config: { type: 'and', rules: [either, rule] } };
    const drawn = drawGraph(automation({ steps: [start, condition], connections: [leads('start', 'if')] }));
    expect(drawn.split('\n').slice(1)).toEqual([
      'if  condition  (email exists or email contains "@") and email exists',
      '|- met: the end',
      '`- not met: the end',
    ]);
  });

  it.each(['condition_met', 'condition_not_met'] as const)(
    'stays within 80 columns when 149 conditions are nested under %s',
    (way) => {
      const lines = drawGraph(automation(deep(149, way), { at_steps: [{ key: 'check-148', runs: 3 }] })).split('\n');
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(76);
      for (let i = 0; i < 149; i++) {
        expect(lines.filter((line) => line.includes(`check-${i}  condition`))).toHaveLength(1);
      }
      expect(lines.find((line) => line.includes('check-148  '))).toMatch(/3 here$/);
    },
  );

  it('keeps a key on one line, and truncates a wide one', () => {
    const graph = (key: string) => ({ steps: [start, wait(key)], connections: [leads('start', key)] });
    const drawn = drawGraph(automation(graph('a\nb\r\tc'), { at_steps: [{ key: 'a\nb\r\tc', runs: 1 }] }));
    expect(drawn.split('\n')).toHaveLength(2);
    expect(drawn).toContain('a\uFFFDb\uFFFD\uFFFDc  delay');
    const [, wide = ''] = drawGraph(automation(graph('\u4e16'.repeat(60)))).split('\n');
    expect(wide).toBe(`${'\u4e16'.repeat(19)}…  delay  3 days`);
  });

  it('shows “10000+” for a count that stopped at its limit', () => {
    const counts = { running: 10_000, completed: 2, failed: 1 };
    expect(runsInWords(automation({ steps: [], connections: [] }, counts))).toBe(
      '10000+ running, 2 completed, 1 failed, 0 cancelled',
    );
  });
});
