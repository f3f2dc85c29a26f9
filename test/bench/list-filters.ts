export const RARE_STATUS = 'complained';
export const COMMON_STATUS = 'delivered';

/** The values that the list rows ask for, chosen so that a page of each filter is full at every size. */
export interface Filled {
  rareKeyId: string;
  otherKeyId: string;
  /** Ids of the team, spread over all of its list, newest first. */
  spread: string[];
  from: number;
  until: number;
}

export interface Side {
  filled: Filled;
  teamId: string;
  apiKeyId: string;
}

/** The query of one call. */
export interface Asked {
  limit?: number;
  after?: string;
  before?: string;
  status?: string;
  api_key_id?: string;
  start_date?: string;
  end_date?: string;
  search?: string;
}

export interface Filter {
  name: string;
  /** `turn` counts the calls, so that they do not all read the same page. */
  ask: (side: Side, turn: number) => Asked;
  callsPerRound: number;
  hasTarget: boolean;
  /** The ratio that it may cost at a hundred times the emails, when that is not 1.5. */
  ratioMax?: number;
}

const CALLS_PER_ROUND = 40;
const DAY_MS = 86_400_000;

export const FILTERS: Filter[] = [
  of('no filter', () => ({})),
  of('100 rows', () => ({ limit: 100 })),
  of('status, common', () => ({ status: COMMON_STATUS })),
  of('status, rare', () => ({ status: RARE_STATUS })),
  of('api_key_id, common', ({ apiKeyId }) => ({ api_key_id: apiKeyId })),
  of('api_key_id, rare', ({ filled }) => ({ api_key_id: filled.rareKeyId })),
  of('dates, a day', (side, turn) => ({ start_date: dayIn(side, turn), end_date: dayIn(side, turn) })),
  of('dates, until long ago', (side, turn) => ({ end_date: dayIn(side, turn) })),
  of('dates and common status', (side, turn) => ({ end_date: dayIn(side, turn), status: COMMON_STATUS })),
  of('status and api_key_id', ({ apiKeyId }) => ({ status: COMMON_STATUS, api_key_id: apiKeyId })),
  of('rare status and api_key_id', ({ apiKeyId }) => ({ status: RARE_STATUS, api_key_id: apiKeyId })),
  of('after, deep in the list', (side, turn) => ({ after: idIn(side, turn) })),
  of('before, deep in the list', (side, turn) => ({ before: idIn(side, turn) })),
  of('after and common status', (side, turn) => ({ after: idIn(side, turn), status: COMMON_STATUS })),
  { ...of('search that finds many', () => ({ search: 'order' })), ratioMax: 3 },
  { ...of('search that finds nothing', () => ({ search: 'no such words' })), ratioMax: 3 },
  { ...of('search for two letters that stand nowhere', () => ({ search: '€€' })), ratioMax: 3 },
];

function of(name: string, ask: Filter['ask']): Filter {
  return { name, ask, callsPerRound: CALLS_PER_ROUND, hasTarget: true };
}

/** Days of the middle of the month, never its ends. */
const dayIn = ({ filled }: Side, turn: number): string =>
  new Date(filled.from + (5 + (turn % 18)) * DAY_MS).toISOString().slice(0, 10);

/** Returns an id from the second half of the list, but never so near its end that the page is not full. */
const idIn = ({ filled }: Side, turn: number): string => {
  const { spread } = filled;
  return spread[Math.floor(spread.length * (0.5 + 0.4 * ((turn * 0.618) % 1)))] ?? '';
};
