import { countedAs, listCounters, noCounts, type CountedEvent, type Counter, type Counts } from './counters.ts';
import { isByMachine, type NewEvent } from './event.ts';

export const QUARTER_MINUTES = 15;
export const DAY_MINUTES = 1440;

/** Scopes of the rows in which an event is counted. */
export const TEAM_SCOPE = 'team';
export const domainScope = (domainId: string): string => `d:${domainId}`;
const broadcastScope = (broadcastId: string, domainId: string): string => `b:${broadcastId}:${domainId}`;

export interface CountRow {
  teamId: string;
  scope: string;
  spanMinutes: number;
  slot: number;
  counts: Counts;
}

export interface Addition {
  event: NewEvent;
  counter: Counter;
}

/** The question whether an email has such an event already. */
export interface OpenQuestion extends Addition {
  name: string;
}

/** Returns what these events add for certain, and what they add only if they are the first of their kind. */
export function computeAdditions(events: readonly NewEvent[]): { certain: Addition[]; questions: OpenQuestion[] } {
  const certain: Addition[] = [];
  const questions: OpenQuestion[] = [];
  const seen = new Set<string>();
  for (const event of events) {
    for (const counter of listCounters(countedIn(event))) {
      if (countedAs(counter).isEvery) {
        certain.push({ event, counter });
        continue;
      }
      const name = `${event.subjectId} ${counter}`;
      if (seen.has(name)) continue;
      seen.add(name);
      if (event.isFirst) certain.push({ event, counter });
      else questions.push({ event, counter, name });
    }
  }
  return { certain, questions };
}

function countedIn(event: NewEvent): CountedEvent {
  if (event.type === 'email.bounced') return { type: event.type, bounce: event.data.bounce.type };
  return { type: event.type, isMachine: isByMachine(event) };
}

/**
 * Returns the rows to add to, each once, always in the same order: transactions that write the same rows never deadlock.
 * The first row of a team is that of the team and the day. A transaction may add in several steps, as a shared commit
 * does: since every step begins with that row, whoever has one row of the team is the only one to have any.
 */
export function buildCountRows(additions: readonly Addition[]): CountRow[] {
  const rows = new Map<string, CountRow>();
  for (const { event, counter } of additions) {
    for (const [width, scope] of listScopes(event).entries()) {
      for (const [length, spanMinutes] of [DAY_MINUTES, QUARTER_MINUTES].entries()) {
        const slot = Math.floor(event.at / (spanMinutes * 60_000));
        const key = `${event.teamId} ${width} ${scope} ${length} ${slot}`;
        let row = rows.get(key);
        if (!row) rows.set(key, (row = { teamId: event.teamId, scope, spanMinutes, slot, counts: noCounts() }));
        row.counts[counter]++;
      }
    }
  }
  return [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}

/** Returns the scopes of an event, the widest first. */
function listScopes({ domainId, broadcastId }: NewEvent): string[] {
  if (domainId === undefined) return [TEAM_SCOPE];
  const scopes = [TEAM_SCOPE, domainScope(domainId)];
  if (broadcastId !== undefined) scopes.push(broadcastScope(broadcastId, domainId));
  return scopes;
}
