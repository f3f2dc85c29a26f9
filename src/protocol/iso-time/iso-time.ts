const ISO_8601 = /^(\d{4})-(\d{2})-(\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?$/;

export interface IsoTime {
  ms: number;
  isDateAlone: boolean;
  hasOffset: boolean;
  /** What its clock shows, as if it were UTC. */
  local: number;
}

/** An ISO 8601 date or time; what has no offset is UTC, as every time of the API. Undefined when it is none. */
export function parseIsoTime(text: string): IsoTime | undefined {
  const match = ISO_8601.exec(text);
  if (!match) return undefined;
  const [, year, month, day, offset] = match;
  // Date.parse moves 30 February into March without a word.
  const date = new Date(`${year}-${month}-01T00:00:00Z`);
  date.setUTCDate(Number(day));
  if (date.getUTCMonth() !== Number(month) - 1) return undefined;
  const isDateAlone = !text.includes('T');
  const ms = Date.parse(isDateAlone || offset !== undefined ? text : `${text}Z`);
  if (Number.isNaN(ms)) return undefined;
  return { ms, isDateAlone, hasOffset: offset !== undefined, local: ms + offsetMs(offset) };
}

function offsetMs(offset: string | undefined): number {
  const [, sign, hours, minutes] = /^([+-])(\d{2}):?(\d{2})$/.exec(offset ?? '') ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000;
}
