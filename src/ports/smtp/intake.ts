import { gatherContent, type MessageContent } from '../../mail/receive/index.ts';
import { createFairTurns } from '../../platform/fair-share/index.ts';
import type { World } from '../../platform/world/index.ts';
import { contentLimitsOf } from './content-rate.ts';
import { createContentSpace } from './content-space.ts';
import type { Content } from './door.ts';
import { readContent, tooMuch } from './inbound-content.ts';
import { SmtpReply } from './smtp-reply.ts';

/** Takes messages in, of many clients at a time, within `receiving.memory_bytes` and `receiving.spool_bytes`. */
export interface Intake {
  /** Throws the refusal of a message that is announced as larger than there is room for. */
  mustFit(party: string, bytes: number): void;
  /** Reads the content and has it carried out; a large one when its turn has come, unless the client `isGone` by then. */
  take<T>(from: Bringer, content: Content, carryOut: (message: MessageContent) => Promise<T>): Promise<T>;
}

export interface Bringer {
  party: string;
  isGone(): boolean;
}

/** Of `receiving.memory_bytes`, for ordinary messages; in the rest large ones are read, one after the other if need be. */
const HELD_PART = 1 / 4;
/** What reading and storing a message takes at its highest, in messages of its size. */
const READING_TAKES = 4;

export function createIntake(world: World): Intake {
  const { memory_bytes: memoryBytes, spool_bytes: fileBytes } = world.config.receiving;
  const space = createContentSpace({ memoryBytes: Math.floor(memoryBytes * HELD_PART), fileBytes });
  const turns = createFairTurns(Math.floor(memoryBytes * (1 - HELD_PART)));
  const limits = contentLimitsOf(world);
  return {
    mustFit(party, bytes) {
      if (!space.fits(party, bytes)) throw tooMuch();
    },
    async take({ party, isGone }, content, carryOut) {
      const goal = { space: space.begin(party), gathered: gatherContent(world.blobs) };
      let endTurn: (() => void) | undefined;
      try {
        const message = await readContent(content, limits, goal);
        if (message.isFile) endTurn = await turns.take(party, message.bytes * READING_TAKES);
        if (isGone()) throw new SmtpReply(421, '4.4.2', 'The client hung up before its message was taken');
        return await carryOut(message);
      } finally {
        endTurn?.();
        await goal.gathered.discard();
        goal.space.giveBack();
      }
    },
  };
}
