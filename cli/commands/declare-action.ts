import type { Command } from 'commander';
import type { Action, Family } from '../families/family.ts';
import { act, decideNeeds, declareCommand } from './declare.ts';
import { collect } from './collect.ts';
import { isReading } from '../families/named.ts';
import { addFlags, addWords } from './declare-flags.ts';
import type { Call, Show } from './run-action.ts';
import type { Session } from './session.ts';

/** What the command of an action has beside what its page says. */
export interface ActionByHand {
  /** What it does beside the one call. */
  description?: string;
  /** Options that stand for no field. */
  add?: (command: Command) => void;
  /** In place of the one call. */
  run?: (session: Session, call: Call) => Promise<void>;
}

interface Declared extends ActionByHand {
  action: Action;
  shown?: { add: (command: Command) => void; show: Show } | undefined;
}

export function declareAction(parent: Command, family: Family, declared: Declared): void {
  const { action, shown, add, run } = declared;
  const command = declareCommand(parent, action.verb, {
    ...action,
    ...(declared.description === undefined ? {} : { description: declared.description }),
  });
  addWords(command, action.path, isReading(action.operation));
  addFlags(command, action.flags);
  if (action.clears) {
    const fields = `${action.clears.slice(0, -1).join(', ')} or ${action.clears.at(-1)}`;
    command.option('--clear <field>', `take away ${fields}; repeatable`, collect);
  }
  add?.(command);
  if (action.isShown) shown?.add(command);
  if (action.destroys ?? action.destroysNamed) command.option('--yes', 'do it without asking');
  command.action(
    act(async (session, words, options) => {
      const call: Call = { action, family, command, words, options, show: shown?.show };
      await (run ?? (await import('./run-action.ts')).runAction)(session, call);
    }, decideNeeds(family)),
  );
}
