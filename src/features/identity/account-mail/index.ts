/**
 * People: the mails that ask a person into a team and those about their account, and what is found out of an address behind the
 * back of the person who named it. It promises one mail for an occasion, and never follows what a request says of our own address.
 */
import type { World } from '../../../platform/world.ts';
import type { Accept } from '../../../mail/accept/index.ts';
import { createAccountMails, createFailedSignIns, createInvitationMails } from './account-mails.ts';

export { sendAccountMail, type OutgoingAccountMail } from './account-mails.ts';

export interface People {
  start(): void;
  stop(graceMs: number): Promise<void>;
  /** Looks at once for what waits, and resolves when nothing is left. */
  idle(): Promise<void>;
}

/** All of it that works in the background. */
export function createPeople(world: World, accept: Pick<Accept, 'acceptEmail'>): People {
  const loops = [createInvitationMails(world, accept), createAccountMails(world, accept), createFailedSignIns(world)];
  return {
    start: () => loops.forEach((loop) => loop.start()),
    stop: async (graceMs) => void (await Promise.all(loops.map((loop) => loop.stop(graceMs)))),
    async idle() {
      for (const loop of loops) loop.wake();
      await Promise.all(loops.map((loop) => loop.idle()));
    },
  };
}
