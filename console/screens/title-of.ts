import type { Family, Field } from '../../cli/families/index.ts';
import { cellText, clean, shorten, type Terminal } from '../../cli/output/index.ts';

/** What a person calls an item. */
export function titleOf(item: object): string {
  const { name, subject, email, endpoint, type, key, destination, action, summary, id, ...more } = item as Readonly<
    Record<string, unknown>
  >;
  // Of an app: itself, or what it was let in to do.
  const app = more.client_name ?? (more.client as { name?: unknown } | undefined)?.name;
  const title = [name, subject, email, endpoint, type, key, destination, action, summary, app, id].find(
    (text) => typeof text === 'string' && text !== '',
  );
  return String(title ?? '');
}

/** The same, by the end of its id where it has no other name. */
export function shortTitleOf(item: { id?: unknown }): string {
  const title = titleOf(item);
  return title === item.id ? title.slice(-8) : title;
}

const NAMES_NOTHING: readonly Field<never>['kind'][] = ['id', 'state', 'time', 'moment', 'long', 'body'];
const NAME_MAX = 60;

/** What an item is called in a question: the first that names it in its family's list, and of what happens often, when. */
export function nameOf(terminal: Terminal, { list, get }: Family, item: object): string {
  const fields = list?.columns ?? get?.fields ?? [];
  const textOf = (field: Field<never> | undefined): string =>
    field === undefined ? '' : clean(cellText({ ...terminal, isTty: true }, field, item)).trim();
  const name = fields
    .filter(({ kind }) => !NAMES_NOTHING.includes(kind))
    .map(textOf)
    .find((text) => text !== '');
  const moment = textOf(fields.find(({ kind }) => kind === 'moment'));
  return shorten([name ?? clean(titleOf(item)), moment].filter((text) => text !== '').join(' '), NAME_MAX);
}

const NAMED = 3;

/** Several in a line. */
export function inALine(names: readonly string[]): string {
  const more = names.length - NAMED;
  return more > 0 ? `${names.slice(0, NAMED).join(', ')} and ${more} more` : names.join(', ');
}
