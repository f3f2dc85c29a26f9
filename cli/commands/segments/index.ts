import type { Command } from 'commander';
import { segmentContacts, segments } from '../../families/index.ts';
import { declareFamily, type ActionByHand } from '../declare-family.ts';

const byWhere = (says: string, example: string): ActionByHand => ({
  description: `${says}\n\nThe filter is a condition in words, such as --where '${example}', with and, or, not and parentheses, or on engagement, such as --where 'sent(november) and not opened(november)'; or JSON such as {"all": [{"field": "properties.plan", "op": "eq", "value": "pro"}]}.`,
  add: (command) =>
    command.option(
      '--where <condition>',
      "the filter in words, such as 'properties.plan = pro and not unsubscribed = true'",
    ),
  run: async (...call) => (await import('./run-by-condition.ts')).runByWhere(...call),
});

export function addSegmentCommands(program: Command): void {
  declareFamily(program, segments, {
    actions: {
      create: byWhere(
        'Creates a segment. Without a filter, it contains only the contacts that are added to it.',
        'properties.plan = pro',
      ),
      preview: byWhere('Counts the contacts that match a filter. Stores nothing.', 'email contains "@example.org"'),
    },
  });
  declareFamily(program, segmentContacts);
}
