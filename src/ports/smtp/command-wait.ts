import type { Clock } from '../../platform/clock/index.ts';
import { SmtpReply } from './smtp-reply.ts';

export interface CommandWaitOptions {
  clock: Clock;
  /** Time for a command to come, whole, whatever bytes of it come meanwhile. */
  commandMs: number;
  /** Whether connections are running short for others. */
  isShort(): boolean;
  /** Called once, with the reply to end the connection with. */
  tooLong(reply: SmtpReply): void;
}

export interface CommandWait {
  /** The client is to speak from now on. */
  begins(): void;
  /** A command has come; the time to carry it out is not limited here. */
  came(): void;
  /** A message was accepted. */
  brought(): void;
  stop(): void;
}

/** Time for a command when connections are short; Postfix allows ten seconds then, which a far and busy server may miss. */
const SHORT_COMMAND_MS = 20_000;
/** Time for a message when connections are short: a connection without one, whatever its commands, keeps others out. */
const SHORT_MESSAGE_MS = 120_000;

/**
 * Limits how long a connection may keep us waiting: counted from our last reply, so that a byte now and then does not
 * extend it, and shorter while connections are short, so that one always comes free.
 */
export function createCommandWait({ clock, commandMs, isShort, tooLong }: CommandWaitOptions): CommandWait {
  const shortMs = Math.min(commandMs, SHORT_COMMAND_MS);
  let since: number | undefined = clock.now();
  let broughtAt = since;
  let cancel = (): void => undefined;

  function faultAt(now: number, waited: number): SmtpReply | undefined {
    const again = 'connect again when there is mail';
    if (waited >= commandMs) return new SmtpReply(421, '4.4.2', `No command came for ${commandMs / 1000} s; ${again}`);
    if (!isShort()) return undefined;
    if (waited >= shortMs)
      return new SmtpReply(421, '4.3.2', `Many wait for a connection, and no command came; ${again}`);
    if (now - broughtAt < SHORT_MESSAGE_MS) return undefined;
    return new SmtpReply(421, '4.3.2', `Many wait for a connection, and nothing was brought; ${again}`);
  }

  const look = (): void => {
    const now = clock.now();
    const waited = since === undefined ? 0 : now - since;
    const fault = since === undefined ? undefined : faultAt(now, waited);
    if (fault) return tooLong(fault);
    // Looks again when the answer to `isShort` matters next.
    const next = waited < shortMs ? shortMs - waited : Math.min(shortMs, commandMs - waited);
    cancel = clock.timer(next, look);
  };
  look();
  return {
    begins: () => void (since = clock.now()),
    came: () => void (since = undefined),
    brought: () => void (broughtAt = clock.now()),
    stop: () => cancel(),
  };
}
