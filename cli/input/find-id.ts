import { ApiFault, seeWhatThereIs, type CallOf, type Client } from '../client/index.ts';
import type { Key, Named } from '../families/index.ts';
import { NAMED } from '../families/named.ts';
import { CliFault, shortId } from '../output/index.ts';
import type { Where } from './read-where.ts';

const WHOLE = /^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[a-z]+_[0-9a-f]{32})$/i;
/** Fewer digits would match too many ids. */
const END = /^(?=(?:-*[0-9a-f]){4})[0-9a-f-]+$/i;
const PAGE = 100;
/**
 * How many items are read to find one by the end of its id, when it has no name and the server cannot search the list.
 */
const LOOKED_THROUGH = 2000;
const CANDIDATES = 5;
/** Keys, which are never repeated in a message. */
const SECRET = /^rk_/;

type Path = Readonly<Record<string, string>>;

interface Item {
  id: string;
}

interface Page {
  data: readonly Item[];
  has_more?: boolean;
}

/** Narrows the search for an item: the preceding parameters of the path, and whether it is only read. */
interface Finding {
  path?: Path;
  isRead?: boolean;
}

/** Places of items that do not belong to a team. */
const WHERE: Readonly<Record<string, string>> = {
  listBreakers: 'on this server',
  listOauthClients: 'on this server',
  listQueueHolds: 'on this server',
  listQueuedDeliveries: 'in the queue; for an email that has left the queue, give the full id',
  listSessions: 'among yours',
  listTeams: 'among yours',
};

/**
 * Returns the id that a word names: its whole id, its name, or the end of its id; or `latest`, if the item is only
 * read. A whole id takes no request, and the API refuses a word that can be neither name nor end.
 */
export async function findId(
  client: Client,
  parameter: string,
  given: string,
  { path = {}, isRead = false }: Finding = {},
): Promise<string> {
  const named = NAMED[parameter];
  if (!named || WHOLE.test(given) || given === '') return given;
  const isLatest = isRead && given === 'latest' && !named.isUnordered;
  if (!isLatest && named.taken?.test(given)) return given;
  if (named.by === undefined && !isLatest && !END.test(given)) return given;
  const seeAll = seeWhatThereIs(named.list, ...Object.values(path));
  if (SECRET.test(given))
    throw new CliFault(`name the ${named.noun} by its id or name, not by its secret.`, 'usage', seeAll);
  const { called, ending, newest, hasMore } = await searchList(client, named, given, { path, isLatest });
  const [found, another] = called.length > 0 ? called : ending;
  if (found && another) throw ambiguous(named, given, called.length > 0 ? called : ending);
  if (found && named.isTakenByName && named.listNames(found as never)[0] === given) return given;
  if (found) return found.id;
  if (isLatest && newest) return newest.id;
  if (isLatest) throw none(named);
  if (named.isTakenByName) return given;
  const where = WHERE[named.list] ?? 'in this team';
  const among = hasMore ? `among the newest ${LOOKED_THROUGH}; for an older one, give the full id` : where;
  throw new CliFault(`there is no ${named.noun} ${given} ${among}.`, 'notFound', seeAll);
}

interface Seen {
  called: Item[];
  ending: Item[];
  newest: Item | undefined;
  hasMore: boolean;
}

/** Two items with the same name are enough to know that the name is ambiguous. */
async function searchList(
  client: Client,
  named: Named,
  given: string,
  { path, isLatest }: { path: Path; isLatest: boolean },
): Promise<Seen> {
  const name = given.toLowerCase().replace(/\.$/, '');
  const end = END.test(given) ? given.toLowerCase().replaceAll('-', '') : undefined;
  const seen: Seen = { called: [], ending: [], newest: undefined, hasMore: false };
  const isEndless = named.by === undefined;
  const idEnd = named.hasIdEnd && !isLatest ? end : undefined;
  let count = 0;
  for (let after: string | undefined; ;) {
    const limit = isLatest && isEndless ? 1 : PAGE;
    const query = named.isOnePage ? {} : { query: { limit, after, ...(idEnd !== undefined && { id_end: idEnd }) } };
    const page = await fetchPage(client, named, { path, ...query });
    seen.newest ??= page.data[0];
    for (const item of page.data) {
      if (named.listNames(item as never).some((one) => one?.toLowerCase() === name)) seen.called.push(item);
      else if (end !== undefined) addEnding(seen.ending, named, item, end);
    }
    count += page.data.length;
    after = page.data.at(-1)?.id;
    seen.hasMore = (page.has_more ?? page.data.length >= PAGE) && after !== undefined && !named.isOnePage;
    // One page of ids with this ending is enough to choose from.
    if (idEnd !== undefined) return { ...seen, hasMore: false };
    const isEnough = seen.called.length > 1 || (isLatest && isEndless) || (isEndless && count >= LOOKED_THROUGH);
    if (!seen.hasMore || isEnough) return seen;
  }
}

/** A list of parts counts as one item, whichever of its parts has this ending. */
function addEnding(ending: Item[], { partOf }: Named, item: Item, end: string): void {
  const whole = partOf === undefined ? item.id : String((item as unknown as Record<string, unknown>)[partOf]);
  const ends = (id: string): boolean => id.toLowerCase().replaceAll('-', '').endsWith(end);
  if ([item.id, whole].some(ends) && !ending.some(({ id }) => id === whole)) ending.push({ ...item, id: whole });
}

/** A search without a match is a fault of the name, not of the command. */
async function fetchPage(
  client: Client,
  named: Named,
  call: { path: Path; query?: { id_end?: string } },
): Promise<Page> {
  try {
    return await client.call(named.list, call as CallOf<typeof named.list>);
  } catch (error) {
    if (call.query?.id_end === undefined || !(error instanceof ApiFault) || error.status !== 422) throw error;
    throw new CliFault(error.body.message, 'notFound');
  }
}

function ambiguous(named: Named, given: string, candidates: readonly Item[]): CliFault {
  const lines = candidates.slice(0, CANDIDATES).map((item) => {
    const says = describeItem(named, item);
    return `  ${shortId(item.id)}  ${item.id}${says === '' ? '' : `  ${says}`}`;
  });
  const rest = candidates.length > CANDIDATES ? [`  and ${candidates.length - CANDIDATES} more`] : [];
  const says = `more than one ${named.noun} matches ${given}; give the id of the one you mean:`;
  return new CliFault([says, ...lines, ...rest].join('\n'), 'usage');
}

/** Describes an item so that it can be distinguished from others of its kind. */
export function describeItem(named: Named, item: object): string {
  const { subject, type, from, to, email, endpoint, created_at: at } = item as Record<string, unknown>;
  const names = named.listNames(item as never).filter((name) => name);
  if (names.length > 0) return [...new Set(names)].join(', ');
  return [at, [to ?? from ?? email].flat().join(', '), subject ?? type ?? endpoint]
    .filter((part) => typeof part === 'string' && part !== '')
    .join('  ');
}

const none = ({ list, noun }: Named): CliFault =>
  list === 'listEmails'
    ? new CliFault('no email was sent yet.', 'notFound', {
        words: 'See how to send with',
        command: ['sendEmail', '--help'],
      })
    : new CliFault(list === 'listQueuedDeliveries' ? 'the queue is empty.' : `there is no ${noun} yet.`, 'notFound');

/** The parameters of a path from the words that fill them, in their order. */
export async function readPath(
  client: Client,
  keys: Readonly<Record<string, Key>>,
  words: readonly (string | undefined)[],
  isRead = false,
): Promise<Record<string, string>> {
  const path: Record<string, string> = {};
  for (const [at, parameter] of Object.keys(keys).entries()) {
    path[parameter] = await findId(client, parameter, words[at] ?? '', { path, isRead });
  }
  return path;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The ids of the labels of an inbox that are named so, in any letter case. */
export async function findLabels(client: Client, inbox: string, named: readonly string[]): Promise<string[]> {
  if (named.every((one) => UUID.test(one))) return [...named];
  const { data } = await client.call('listInboxLabels', { path: { inbox } });
  return named.map((one) => {
    const found = data.find(({ id, name }) => id === one || name.toLowerCase() === one.toLowerCase());
    if (found) return found.id;
    throw new CliFault(`there is no label ${one} in this inbox.`, 'notFound', [
      { words: 'List them with', command: ['listInboxLabels', inbox] },
      { words: 'Create it with', command: ['createInboxLabel', inbox, one] },
    ]);
  });
}

/** People know topics, broadcasts and segments by their names, the API by their ids. */
export async function findNamedInWhere(client: Client, where: Where): Promise<Where> {
  const each = async (parts: readonly Where[]): Promise<Where[]> => {
    const found: Where[] = [];
    for (const part of parts) found.push(await findNamedInWhere(client, part));
    return found;
  };
  if ('all' in where) return { all: await each(where.all) };
  if ('any' in where) return { any: await each(where.any) };
  if ('not' in where) return { not: await each(where.not) };
  if ('topic' in where) return { ...where, topic: await findId(client, 'topic_id', where.topic) };
  if ('segment' in where) return { segment: await findId(client, 'segment', where.segment) };
  if ('engagement' in where && where.broadcast !== undefined)
    return { ...where, broadcast: await findId(client, 'broadcast_id', where.broadcast) };
  return where;
}
