/** An endpoint's way into the places that all endpoints share. */
export interface Room {
  /** Takes a place; false when none is to be had now, and then `tell` is called when one is. */
  take(tell: () => void): boolean;
  leave(): void;
}

interface Guest {
  held: number;
  /** How it was last to be told. */
  tell: (() => void) | undefined;
}

interface Team {
  held: number;
  waiting: Waiters<Guest>;
}

/**
 * Places that endpoints share, whoever's they are. A team may hold as many as are still free, and no more: one team alone
 * gets half, each of two a third, and whoever comes next always finds some, however long the others keep theirs. A place
 * that becomes free goes to the team that holds the fewest, and there to the endpoint that holds the fewest.
 */
export function createRoom(places: number): { forEndpoint(teamId: string): Room } {
  let free = places;
  const teams = new Map<string, Team>();
  const waiting = createWaiters<Team>();
  /** Who has just been told, and may take one place. */
  let turn: Guest | undefined;
  let isServing = false;

  function teamOf(id: string): Team {
    const known = teams.get(id) ?? { held: 0, waiting: createWaiters<Guest>() };
    teams.set(id, known);
    return known;
  }

  function hold(team: Team, guest: Guest, change: 1 | -1): void {
    free -= change;
    waiting.move(team, team.held, team.held + change);
    team.waiting.move(guest, guest.held, guest.held + change);
    team.held += change;
    guest.held += change;
  }

  /** One place to each in its turn; who does not need it any more leaves it to the next. */
  function serve(): void {
    if (isServing) return;
    isServing = true;
    try {
      // If the team with the fewest may not have more, none may.
      for (let team = waiting.first(); team && team.held < free; team = waiting.first()) {
        const guest = team.waiting.first();
        if (guest) team.waiting.remove(guest, guest.held);
        if (!team.waiting.first()) waiting.remove(team, team.held);
        turn = guest;
        guest?.tell?.();
        turn = undefined;
      }
    } finally {
      turn = undefined;
      isServing = false;
    }
  }

  return {
    forEndpoint(teamId) {
      const guest: Guest = { held: 0, tell: undefined };
      return {
        take(tell) {
          const team = teamOf(teamId);
          const isItsTurn = turn === guest;
          if (isItsTurn) turn = undefined;
          if (isItsTurn || (!isServing && team.held < free)) {
            hold(team, guest, 1);
            return true;
          }
          guest.tell = tell;
          team.waiting.add(guest, guest.held);
          waiting.add(team, team.held);
          return false;
        },
        leave() {
          const team = teamOf(teamId);
          hold(team, guest, -1);
          serve();
          if (team.held === 0 && !team.waiting.first()) teams.delete(teamId);
        },
      };
    },
  };
}

interface Waiters<T> {
  add(waiter: T, held: number): void;
  remove(waiter: T, held: number): void;
  /** It holds another number now, if it waits at all. */
  move(waiter: T, from: number, to: number): void;
  /** Of those that hold the fewest, the one that waits longest. */
  first(): T | undefined;
}

/** Who waits, by how much each holds: with thousands of them, the next one is found in as many steps as one may hold. */
function createWaiters<T>(): Waiters<T> {
  const byHeld: Set<T>[] = [];
  const add = (waiter: T, held: number): void => void (byHeld[held] ??= new Set()).add(waiter);
  return {
    add,
    remove: (waiter, held) => void byHeld[held]?.delete(waiter),
    move(waiter, from, to) {
      if (byHeld[from]?.delete(waiter)) add(waiter, to);
    },
    first() {
      for (const waiters of byHeld) for (const waiter of waiters ?? []) return waiter;
      return undefined;
    },
  };
}
