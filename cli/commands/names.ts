import type { CallOf } from '../client/index.ts';
import { listProfiles } from '../client/index.ts';
import { NAMED, type Named } from '../families/named.ts';
import { describeItem } from '../input/index.ts';
import { clean, shortId } from '../output/index.ts';
import type { Session } from './session.ts';

/** A shell waits for it while somebody types. */
const LIMIT_MS = 2000;
const PAGE = 100;

/** Prints the names of a kind for the completion of shells, each with a description after a tab. */
export async function printNames({ client, terminal, process }: Session, kind: string): Promise<void> {
  const named = NAMED[kind];
  if (!named) return;
  const call = { query: { limit: PAGE } } as CallOf<typeof named.list>;
  const { data } = await client.call(named.list, call, AbortSignal.timeout(LIMIT_MS));
  const words = data.map((item) => wordFor(named, item));
  const lines = data.flatMap((item, at) => {
    const word = words[at];
    const isUnique = word !== undefined && words.indexOf(word) === words.lastIndexOf(word);
    const [shown, says] = isUnique ? [word, ''] : [shortId(item.id), describeItem(named, item)];
    return `${shown}\t${clean(says)}`;
  });
  if (process.stdout.writable && lines.length > 0) terminal.print(lines.join('\n'));
}

/** Shells break words at a colon, so a URL cannot be offered; neither can text with control characters. */
function wordFor(named: Named, item: object): string | undefined {
  const { email } = item as { email?: string };
  const name = named.listNames(item as never)[0] ?? (named.taken ? email : undefined);
  return name && !/[:\p{Cc}\p{Cf}]/u.test(name) && clean(name) === name ? name : undefined;
}

/** Prints the profiles that login stored, which no server knows. */
export const printProfiles = (session: Pick<Session, 'terminal' | 'process'>): void => {
  const lines = listProfiles(session.process.env).profiles.flatMap(({ name, url }) => (name ? `${name}\t${url}` : []));
  if (lines.length > 0) session.terminal.print(lines.join('\n'));
};
