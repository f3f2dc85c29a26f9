import type { Action } from '../cli/families/index.ts';
import { TextDialog, type Dialog } from './dialogs/dialog.ts';

/** What is told of what was done: a line, or a text that stays until it was read. */
export function outcomeOf(action: Action, answers: readonly unknown[]): { text: string; dialog?: Dialog } {
  const [answer] = answers;
  const text = typeof answer === 'string' ? answers.join('\n') : action.tell?.(answer as never);
  const hint = action.hint?.(answer as never);
  if (text !== undefined && (action.isSecret || text.includes('\n') || hint !== undefined)) {
    const copied = action.copy?.(answer as never) ?? text;
    return { text: '', dialog: new TextDialog(action.verb, hint ? `${text}\n\n${hint}` : text, copied) };
  }
  if (typeof answer === 'string') return { text: text ?? '' };
  const { id } = answer as { id?: string };
  const what = answers.length > 1 ? `${answers.length} of them` : (text ?? id ?? '');
  return { text: `${action.done ?? 'Done'}  ${what}` };
}
