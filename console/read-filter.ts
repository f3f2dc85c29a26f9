import { toOptionName, type Flag } from '../cli/families/index.ts';

export interface ReadFilter {
  /** The parameters by which the API filters the list. */
  query: Readonly<Record<string, string | number>>;
  /** The text to search for, by the API if it can search, and otherwise in the loaded rows. */
  text: string;
  /** The typed text of `since`, if there is one. */
  since?: string;
}

type Flags = Readonly<Record<string, Flag>>;

const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Reads words like `status=bounced since=2h`, with or without the `--` of the command line; every other word is
 * searched for.
 */
export function readFilter(filters: Flags, typed: string, now: number): ReadFilter {
  const query: Record<string, string | number> = collectPresets(filters);
  const rest: string[] = [];
  let since: string | undefined;
  const words = typed
    .trim()
    .replaceAll(/--([a-z-]+)[ =]/g, '$1=')
    .split(/\s+/)
    .filter((word) => word !== '');
  for (const word of words) {
    const [, name = '', value = ''] = /^([a-z_-]+)=(.+)$/.exec(word) ?? [];
    const field = Object.entries(filters).find(([key, flag]) => [key, toOptionName(key, flag)].includes(name));
    if (name === 'since' && 'start_date' in filters) {
      query.start_date = readSince(value, now);
      since = value;
    } else if (field) query[field[0]] = field[1].isNumber ? Number(value) : value;
    else if (name !== '')
      throw new Error(`There is no filter ${name}; the filters are: ${listNames(filters).join(', ')}`);
    else rest.push(word);
  }
  const text = rest.join(' ');
  const asked = text !== '' && 'search' in filters ? { ...query, search: text } : query;
  return { query: asked, text, ...(since === undefined ? {} : { since }) };
}

/** Returns the parameters that the API needs even if nothing is typed. */
function collectPresets(filters: Flags): Record<string, string | number> {
  return Object.fromEntries(
    Object.entries(filters).flatMap(([field, { preset, isCostly }]) =>
      preset === undefined || isCostly ? [] : [[field, preset]],
    ),
  );
}

const listNames = (filters: Flags): string[] => [
  ...Object.entries(filters).map(([key, flag]) => toOptionName(key, flag)),
  ...('start_date' in filters ? ['since'] : []),
];

function readSince(text: string, now: number): string {
  const [, amount = '', unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const backMs = Number(amount) * (UNIT_MS[unit] ?? 0);
  if (backMs > 0) return new Date(now - backMs).toISOString();
  if (!Number.isNaN(Date.parse(text))) return new Date(text).toISOString();
  throw new Error('since must be a number and s, m, h or d, such as 2h, or an ISO 8601 time.');
}

/** The words that make this filter. */
export function writeFilter(filters: Flags, { query, text, since }: ReadFilter): string {
  const named = Object.entries(query)
    .filter(([field, value]) => !(field === 'search' && value === text))
    .map(([field, value]) =>
      field === 'start_date' && since !== undefined
        ? `since=${since}`
        : `${toOptionName(field, filters[field] ?? {})}=${value}`,
    );
  return [...named, ...(text === '' ? [] : [text])].join(' ');
}
