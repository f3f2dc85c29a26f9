import { listOfAdvice, type Advices } from '../cli/client/index.ts';
import type { Say } from '../cli/output/index.ts';
import type { Action } from '../cli/families/index.ts';
import { TextDialog, type Dialog } from './dialogs/dialog.ts';
import type { Offer } from './screens/screen.ts';
import { inALine } from './screens/title-of.ts';

/** What is told of what was done: a line, or a text that stays until it was read. */
export function outcomeOf(
  action: Action,
  answers: readonly unknown[],
  { paths, names, say }: Pick<Offer, 'paths'> & { names: readonly string[]; say: Say },
): { text: string; dialog?: Dialog } {
  const [answer] = answers;
  const text = typeof answer === 'string' ? answers.join('\n') : action.tell?.(answer as never);
  const inWords = (advices: Advices): string =>
    listOfAdvice(advices)
      .map(say)
      .filter((said) => said !== undefined)
      .join('\n');
  const hint = inWords(action.hint?.(answer as never, {}));
  const warning = [...new Set(answers.map((one) => inWords(action.warn?.(one as never))))].filter(Boolean).join('\n');
  if (text !== undefined && (action.secret !== undefined || text.includes('\n') || hint !== '')) {
    const copied = action.copy?.(answer as never) ?? text;
    return { text: '', dialog: new TextDialog(action.verb, hint === '' ? text : `${text}\n\n${hint}`, copied) };
  }
  if (typeof answer === 'string') return { text: text ?? '' };
  const { id, name, email, data } = answer as { id?: string; name?: string; email?: string; data?: readonly unknown[] };
  const named = inALine(names);
  // What is made of an item has an id of its own.
  const isIts = id === undefined || paths.some((path) => Object.values(path).includes(id));
  const what =
    answers.length > 1
      ? named
      : (text ?? (isIts && named !== '' ? named : (name ?? email ?? id ?? (data ? `${data.length} of them` : ''))));
  // What is told stands for itself.
  const isWhole = action.done === undefined && text !== undefined && answers.length === 1;
  const done = isWhole ? text : `${action.done ?? 'Done'}  ${what}`;
  if (warning === '') return { text: done };
  return { text: '', dialog: new TextDialog(action.verb, `${done}\n\n${warning}`, warning) };
}
