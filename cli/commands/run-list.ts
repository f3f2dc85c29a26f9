import type { Family, ItemOf, List, ListOperation } from '../families/family.ts';
import type { Advice, AnswerOf, CallOf, Client } from '../client/index.ts';
import { CliFault, namedFields, openTable, pickFields, shownFields, listColumns } from '../output/index.ts';
import { readPath, findId } from '../input/find-id.ts';
import { hintWide, type Session } from './session.ts';
import { readFlags } from './read-typed.ts';
import { NAMED, namedBy } from '../families/named.ts';

/** Replaces the names of items in filters by their ids. */
async function findFilters(client: Client, filters: Record<string, unknown>): Promise<void> {
  for (const [field, given] of Object.entries(filters)) {
    const named = namedBy(field);
    if (named !== undefined && typeof given === 'string') filters[field] = await findId(client, named, given);
  }
}

/** Accepts the ends of ids, which lists show, as positions to list after or before. */
async function findPlaces<Places extends { after?: string; before?: string }>(
  client: Client,
  { operation }: List,
  path: Readonly<Record<string, string>>,
  places: Places,
): Promise<Places> {
  const [named] = Object.entries(NAMED).find(([, { list }]) => list === operation) ?? [];
  if (named === undefined) return places;
  const found = { ...places };
  for (const place of ['after', 'before'] as const) {
    const given = places[place];
    if (given !== undefined && END.test(given)) found[place] = await findId(client, named, given, { path });
  }
  return found;
}

const END = /^[0-9a-f]{4,12}$/i;

/** The largest page of the API. */
const PAGE = 100;
/** The page size of the API by default. */
const USUAL = 20;

export interface ListOptions extends Readonly<Record<string, unknown>> {
  limit?: number;
  all?: boolean;
  after?: string;
  before?: string;
  since?: string;
  startDate?: string;
  fields?: readonly string[];
  wide?: boolean;
}

interface Page {
  /** `GET /contacts` omits it: a page that is not full is its last one. */
  has_more?: boolean;
  data: ItemOf<ListOperation>[];
}

export async function runList(
  session: Session,
  family: Family & { list: List },
  words: readonly (string | undefined)[],
  options: ListOptions,
): Promise<void> {
  mustAgree(options);
  const { client, terminal, isJson } = session;
  const { list } = family;
  const { fields: names } = options;
  const isNarrow = terminal.isTty && !options.wide;
  const fields = names
    ? namedFields(list.columns, names, family.noun)
    : shownFields(list.columns, options.wide).filter(({ isAside }) => !(isAside && isNarrow));
  const filters = readFlags(list.filters, options);
  if (options.since !== undefined) {
    const { readSince } = await import('./read-since.ts');
    filters.start_date = readSince(options.since, Date.now());
  }
  const path = await readPath(client, list.path, words, true);
  await findFilters(client, filters);
  const from = await findPlaces(client, list, path, options);
  const table = openTable(terminal, listColumns(terminal, fields, options.wide), {
    isWide: options.wide,
    isOneLine: true,
  });
  let count = 0;
  let last: { page: Page; hasMore: boolean } | undefined;
  for await (const { page, hasMore } of fetchPages(session, list, { path, filters, options: from })) {
    last = { page, hasMore };
    count += page.data.length;
    if (isJson) {
      terminal.printJson(names ? { ...page, data: page.data.map((item) => pickFields(item, fields)) } : page);
    } else if (page.data.length > 0 || (count === 0 && !terminal.isTty)) terminal.print(table.write(page.data));
  }
  if (isJson) return;
  const isNarrowed =
    Object.entries(filters).some(([field, value]) => value !== list.filters[field]?.preset) ||
    [options.after, options.before].some((one) => one !== undefined);
  if (count === 0) return session.advise(printEmpty(family, words, isNarrowed));
  hintWide(session, table);
  const behind = last?.page.data.at(-1);
  if (last?.hasMore && behind)
    await printMore(session, options, { count, behind: behind.id, isSure: last.page.has_more !== undefined });
}

/** Says what there is without the filters, or how to create the first item. */
function printEmpty(
  { list, actions = [] }: Family & { list: List },
  words: readonly (string | undefined)[],
  isNarrowed: boolean,
): Advice {
  if (isNarrowed) {
    const all = words.filter((word) => word !== undefined);
    return { words: 'Nothing matches. List all with', command: [list.operation, ...all] };
  }
  const maker = actions.find(({ verb, path }) => MAKERS[verb] !== undefined && Object.keys(path).length === 0);
  if (!maker) return { words: list.empty };
  const typed = wordsIn(maker.example).slice(maker.isBeside ? 1 : 2);
  return { words: `${list.empty} ${MAKERS[maker.verb]} with`, command: [maker.operation, ...typed] };
}

/** The words of a line for a shell. */
const wordsIn = (line: string): string[] =>
  (line.match(/'[^']*'|"[^"]*"|[^\s'"]+/g) ?? []).map((word) => word.replaceAll(/^(['"])(.*)\1$/g, '$2'));

const MAKERS: Readonly<Record<string, string>> = {
  add: 'Add one',
  create: 'Create one',
  import: 'Import a file',
  send: 'Send one',
};

/** A program that set no limit may not know that it has only a part, so a notice goes to standard error. */
async function printMore(
  { terminal, process, again }: Session,
  { limit, before }: ListOptions,
  { count, behind, isSure }: { count: number; behind: string; isSure: boolean },
): Promise<void> {
  const there = isSure ? 'There are more' : 'There may be more';
  if (terminal.isTty) return terminal.hint(`${there}; continue with: ${again(['--after', behind])}`);
  if (limit !== undefined || before !== undefined) return;
  // A reader that has seen enough, or a full disk, ends the command instead.
  await new Promise<void>((resolve) => void process.stdout.write('', (error) => error ?? resolve()));
  process.stderr.write(`${there} than these ${count}; all of them: ${again(['--all'])}\n`);
}

/** Makes as many requests as the wanted number takes; yields each page as it arrives. */
async function* fetchPages(
  { client }: Session,
  list: List,
  { path, filters, options }: { path: object; filters: object; options: ListOptions },
): AsyncGenerator<{ page: Page; hasMore: boolean }> {
  let left = options.all ? Infinity : options.limit;
  let { after } = options;
  for (;;) {
    const limit = left === undefined ? undefined : Math.min(left, PAGE);
    const query = { limit, after, before: options.before, ...filters };
    const page: Page = await ask(client, list.operation, { path, query });
    const hasMore = page.has_more ?? page.data.length >= (limit ?? USUAL);
    yield { page, hasMore };
    after = page.data.at(-1)?.id;
    if (left === undefined || !hasMore || after === undefined) return;
    left -= page.data.length;
    if (left <= 0) return;
  }
}

/** The declaration of the family has checked the list and its parameters. */
const ask = (client: Session['client'], operation: ListOperation, call: object): Promise<AnswerOf<ListOperation>> =>
  client.call(operation, call as CallOf<ListOperation>);

function mustAgree({ all, limit, before, since, startDate }: ListOptions): void {
  const refuse = (says: string): never => {
    throw new CliFault(says, 'usage');
  };
  if (all && limit !== undefined) refuse('--all and --limit cannot be used together');
  if (before !== undefined && (all || (limit ?? 0) > PAGE)) {
    refuse(`--before lists one page of at most ${PAGE}; use --after for more`);
  }
  if (since !== undefined && startDate !== undefined) refuse('--since and --start-date mean the same; choose one');
}
