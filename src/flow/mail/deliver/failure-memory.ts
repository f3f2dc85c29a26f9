import { BackOff, type BackOffOptions } from './back-off.ts';
import type { Ending } from './ending.ts';
import type { Deferral } from './delivery-job.ts';

/** What is remembered of a destination's failures: for everybody's mail, and for teams whose sessions the peer ended. */
export class FailureMemory {
  readonly all: BackOff<Deferral>;
  #options: BackOffOptions;
  #ofTeams = new Map<string, BackOff<Deferral>>();

  constructor(options: BackOffOptions) {
    this.#options = options;
    this.all = new BackOff(options);
  }

  /** Why a team's mail waits while others' goes. */
  whyTeam(team: string): Deferral | undefined {
    return this.#ofTeams.get(team)?.why;
  }

  note(team: string, ending: Ending): void {
    if (ending.kind === 'worked') {
      this.all.worked();
      this.#ofTeams.delete(team);
    } else if (ending.kind === 'broken') {
      this.all.failedTogether(ending.why);
    } else {
      const backOff = this.#ofTeams.get(team) ?? new BackOff(this.#options);
      this.#ofTeams.set(team, backOff);
      backOff.failedTogether(ending.why);
    }
  }

  get isForgettable(): boolean {
    return [this.all, ...this.#ofTeams.values()].every((backOff) => backOff.isForgettable);
  }
}
